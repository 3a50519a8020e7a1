"""The token endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from getmodules.testing import Access, Registry, User
from tests.support.registryclient import Reply, ask

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
WRITER = {"Authorization": "Basic dTpw"}
SCOPE = "repository:a:pull"


@pytest.fixture
def bearer() -> Iterator[Registry]:
    with Registry(access=Access(scheme="bearer", users={"u": User("p")}, token_seconds=77)) as registry:
        registry.push_module("a", "1.0", {"main.tf": ""})
        yield registry


def post(registry: Registry, **form: str) -> Reply:
    return ask(registry, "POST", "/token", urlencode(form).encode(), FORM)


def opens(registry: Registry, token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    return ask(registry, "GET", "/v2/a/manifests/1.0", headers=headers).status == 200


def test_get_with_a_password(bearer: Registry) -> None:
    fields = ask(bearer, "GET", f"/token?service=getmodules-testing&scope={SCOPE}", headers=WRITER).json()
    assert fields["token"] == fields["access_token"]
    assert fields["expires_in"] == 77
    assert fields["issued_at"].endswith("Z")
    assert "refresh_token" not in fields
    assert opens(bearer, fields["token"])


def test_get_without_one_gives_a_token_that_opens_nothing_private(bearer: Registry) -> None:
    assert not opens(bearer, ask(bearer, "GET", f"/token?scope={SCOPE}").json()["token"])


def test_get_with_a_wrong_password(bearer: Registry) -> None:
    reply = ask(bearer, "GET", f"/token?scope={SCOPE}", headers={"Authorization": "Basic dTp4"})
    assert (reply.status, reply.code) == (401, "UNAUTHORIZED")


def test_an_identity_token_is_given_out_and_taken(bearer: Registry) -> None:
    target = f"/token?service=getmodules-testing&offline_token=true&scope={SCOPE}"
    identity = ask(bearer, "GET", target, headers=WRITER).json()["refresh_token"]
    for value in (identity, bearer.identity_token("u")):
        reply = post(bearer, grant_type="refresh_token", refresh_token=value, service="getmodules-testing", scope=SCOPE)
        assert reply.status == 200
        assert reply.json()["refresh_token"] == value
        assert opens(bearer, reply.json()["access_token"])


def test_a_password_by_form(bearer: Registry) -> None:
    login = {"grant_type": "password", "username": "u", "password": "p", "scope": SCOPE}
    fields = post(bearer, **login).json()
    assert opens(bearer, fields["access_token"])
    assert "refresh_token" not in fields
    assert post(bearer, **login, access_type="offline").json()["refresh_token"]


@pytest.mark.parametrize(
    ("form", "status", "code"),
    [
        ({"grant_type": "refresh_token", "refresh_token": "x"}, 401, "UNAUTHORIZED"),
        ({"grant_type": "refresh_token"}, 401, "UNAUTHORIZED"),
        ({"grant_type": "password", "username": "u", "password": "x"}, 401, "UNAUTHORIZED"),
        ({"grant_type": "magic"}, 400, "UNSUPPORTED"),
        ({}, 400, "UNSUPPORTED"),
        ({"grant_type": "password", "service": "another"}, 400, "UNSUPPORTED"),
        ({"grant_type": "x" * (65 << 10)}, 413, "SIZE_INVALID"),
    ],
)
def test_forms_that_are_refused(bearer: Registry, form: dict[str, str], status: int, code: str) -> None:
    reply = post(bearer, **form)
    assert (reply.status, reply.code) == (status, code)


def test_a_token_for_another_service_is_not_given_out(bearer: Registry) -> None:
    assert ask(bearer, "GET", f"/token?service=another&scope={SCOPE}", headers=WRITER).status == 400


def test_other_methods_are_not_supported(bearer: Registry) -> None:
    assert ask(bearer, "PUT", "/token").code == "UNSUPPORTED"
