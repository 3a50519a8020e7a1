"""Who may do what: every scheme, asked over the wire."""

from __future__ import annotations

import base64
import re

import pytest

from getmodules.testing import Access, Registry, User, module_package
from tests.support.registryclient import ask

USERS = {"writer": User("secret"), "reader": User("s:e:c", {"team/*": frozenset({"pull"})})}
MODULE = module_package({"main.tf": "x"})


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def started(scheme: str, **more: object) -> Registry:
    registry = Registry(access=Access(scheme=scheme, users=USERS, public=("public/*",), **more))  # type: ignore[arg-type]
    for name in ("team/vpc", "public/vpc", "other"):
        registry.push(name, MODULE, "1.0")
    return registry


def token(registry: Registry, *scopes: str, headers: dict[str, str] | None = None) -> dict[str, str]:
    query = "&".join(["service=getmodules-testing", *(f"scope={scope}" for scope in scopes)])
    reply = ask(registry, "GET", f"/token?{query}", headers=headers)
    assert reply.status == 200, reply.body
    return {"Authorization": f"Bearer {reply.json()['token']}"}


def test_nobody_asks_where_there_is_no_scheme() -> None:
    with started("none") as registry:
        assert ask(registry, "GET", "/v2/other/manifests/1.0").status == 200
        assert ask(registry, "GET", "/token").status == 404


@pytest.mark.parametrize(
    ("method", "target", "headers", "status"),
    [
        pytest.param("GET", "/v2/", {}, 401, id="ping"),
        pytest.param("GET", "/v2/", basic("reader", "s:e:c"), 200, id="ping-with-password"),
        pytest.param("GET", "/v2/team/vpc/manifests/1.0", {}, 401, id="pull"),
        pytest.param("GET", "/v2/team/vpc/manifests/1.0", basic("reader", "s:e:c"), 200, id="pull-allowed"),
        pytest.param("GET", "/v2/other/manifests/1.0", basic("reader", "s:e:c"), 403, id="pull-denied"),
        pytest.param("GET", "/v2/team/vpc/manifests/1.0", basic("reader", "wrong"), 401, id="wrong-password"),
        pytest.param("GET", "/v2/team/vpc/manifests/1.0", basic("nobody", "x"), 401, id="unknown-user"),
        pytest.param("GET", "/v2/team/vpc/manifests/1.0", {"Authorization": "Basic !"}, 401, id="garbage"),
        pytest.param("GET", "/v2/team/vpc/manifests/1.0", {"Authorization": "Bearer x"}, 401, id="bearer"),
        pytest.param("GET", "/v2/public/vpc/manifests/1.0", {}, 200, id="public"),
        pytest.param("POST", "/v2/public/vpc/blobs/uploads/", {}, 401, id="push-to-public"),
        pytest.param("POST", "/v2/team/vpc/blobs/uploads/", basic("reader", "s:e:c"), 403, id="push-denied"),
        pytest.param("POST", "/v2/team/vpc/blobs/uploads/", basic("writer", "secret"), 202, id="push-allowed"),
        pytest.param("DELETE", "/v2/team/vpc/manifests/1.0", basic("reader", "s:e:c"), 403, id="delete-denied"),
        pytest.param("DELETE", "/v2/team/vpc/manifests/1.0", basic("writer", "secret"), 202, id="delete-allowed"),
    ],
)
def test_basic(method: str, target: str, headers: dict[str, str], status: int) -> None:
    with started("basic") as registry:
        reply = ask(registry, method, target, headers=headers)
        assert reply.status == status
        if status == 401:
            assert reply.code == "UNAUTHORIZED"
            assert reply.header("WWW-Authenticate").startswith('Basic realm="')
        if status == 403:
            assert reply.code == "DENIED"


@pytest.mark.parametrize(
    ("method", "target", "scope"),
    [
        ("GET", "/v2/", None),
        ("GET", "/v2/team/vpc/manifests/1.0", "repository:team/vpc:pull"),
        ("GET", "/v2/public/vpc/manifests/1.0", "repository:public/vpc:pull"),
        ("GET", "/v2/team/vpc/tags/list", "repository:team/vpc:pull"),
        ("POST", "/v2/team/vpc/blobs/uploads/", "repository:team/vpc:pull,push"),
        ("PUT", "/v2/team/vpc/manifests/1.0", "repository:team/vpc:pull,push"),
        ("DELETE", "/v2/team/vpc/manifests/1.0", "repository:team/vpc:delete"),
        (
            "POST",
            "/v2/team/vpc/blobs/uploads/?mount=sha256:0&from=other",
            "repository:team/vpc:pull,push repository:other:pull",
        ),
    ],
)
def test_a_bearer_challenge_says_where_and_what_for(method: str, target: str, scope: str | None) -> None:
    with started("bearer") as registry:
        reply = ask(registry, method, target)
        assert (reply.status, reply.code) == (401, "UNAUTHORIZED")
        found = dict(re.findall(r'(\w+)="([^"]*)"', reply.header("WWW-Authenticate")))
        assert found.pop("scope", None) == scope
        assert found == {"realm": f"{registry.url}/token", "service": "getmodules-testing"}


PULL, PUSH, DELETE = (f"repository:team/vpc:{actions}" for actions in ("pull", "pull,push", "delete"))
READER, WRITER = basic("reader", "s:e:c"), basic("writer", "secret")


@pytest.mark.parametrize(
    ("scope", "who", "method", "target", "status"),
    [
        pytest.param(PULL, READER, "GET", "/v2/team/vpc/manifests/1.0", 200, id="pull"),
        pytest.param(PULL, READER, "GET", "/v2/", 200, id="ping"),
        pytest.param(PULL, READER, "GET", "/v2/other/manifests/1.0", 401, id="another-repository"),
        pytest.param(PULL, WRITER, "POST", "/v2/team/vpc/blobs/uploads/", 401, id="too-little-asked-for"),
        pytest.param(PUSH, WRITER, "POST", "/v2/team/vpc/blobs/uploads/", 202, id="push"),
        pytest.param(PUSH, READER, "POST", "/v2/team/vpc/blobs/uploads/", 401, id="push-not-allowed"),
        pytest.param(PUSH, READER, "GET", "/v2/team/vpc/manifests/1.0", 200, id="less-was-given"),
        pytest.param(DELETE, WRITER, "DELETE", "/v2/team/vpc/manifests/1.0", 202, id="delete"),
        pytest.param(PUSH, WRITER, "DELETE", "/v2/team/vpc/manifests/1.0", 401, id="delete-not-asked-for"),
        pytest.param(PULL, None, "GET", "/v2/team/vpc/manifests/1.0", 401, id="anonymous"),
        pytest.param(
            "repository:public/vpc:pull", None, "GET", "/v2/public/vpc/manifests/1.0", 200, id="anonymous-public"
        ),
        pytest.param(
            "repository:public/vpc:pull,push", None, "POST", "/v2/public/vpc/blobs/uploads/", 401, id="anonymous-push"
        ),
    ],
)
def test_bearer(scope: str, who: dict[str, str] | None, method: str, target: str, status: int) -> None:
    with started("bearer") as registry:
        reply = ask(registry, method, target, headers=token(registry, scope, headers=who))
        assert reply.status == status
        if status == 401:
            assert 'error="insufficient_scope"' in reply.header("WWW-Authenticate")


def test_a_token_that_ended_is_refused() -> None:
    with started("bearer") as registry:
        headers = token(registry, PULL, headers=READER)
        assert ask(registry, "GET", "/v2/team/vpc/manifests/1.0", headers=headers).status == 200
        registry.expire_tokens()
        reply = ask(registry, "GET", "/v2/team/vpc/manifests/1.0", headers=headers)
        assert (reply.status, 'error="invalid_token"' in reply.header("WWW-Authenticate")) == (401, True)


def test_a_token_for_two_repositories_mounts_between_them() -> None:
    with started("bearer") as registry:
        digest = registry.put_blob("other", b"data")
        headers = token(registry, PUSH, "repository:other:pull", headers=WRITER)
        target = f"/v2/team/vpc/blobs/uploads/?mount={digest}&from=other"
        assert ask(registry, "POST", target, headers=headers).status == 201
        assert ask(registry, "POST", target, headers=token(registry, PUSH, headers=WRITER)).status == 202


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Access(users=USERS))
