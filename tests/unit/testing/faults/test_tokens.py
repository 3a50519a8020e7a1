"""Token endpoints that misbehave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from getmodules.testing import Access, Registry, User
from tests.support.registryclient import Reply, ask

TARGET = "/token?service=getmodules-testing&scope=repository:a:pull"
GOOD, BAD = {"Authorization": "Basic dTpw"}, {"Authorization": "Basic eDp4"}


@pytest.fixture
def bearer() -> Iterator[Registry]:
    with Registry(access=Access(scheme="bearer", users={"u": User("p")})) as registry:
        registry.push_module("a", "1.0", {"main.tf": ""})
        yield registry


def token(registry: Registry, name: str, headers: dict[str, str] | None = None) -> Reply:
    with registry.fault(name, to="http://127.0.0.9:99"):
        return ask(registry, "GET", TARGET, headers=headers or GOOD)


def opens(registry: Registry, value: str) -> bool:
    headers = {"Authorization": f"Bearer {value}"}
    return ask(registry, "GET", "/v2/a/manifests/1.0", headers=headers).status == 200


def test_html(bearer: Registry) -> None:
    reply = token(bearer, "token-html")
    assert (reply.status, reply.header("Content-Type"), reply.body[:9]) == (200, "text/html", b"<!DOCTYPE")


@pytest.mark.parametrize(
    ("name", "status", "code"), [("token-500", 500, "UNKNOWN"), ("token-401", 401, "UNAUTHORIZED")]
)
def test_refusals(bearer: Registry, name: str, status: int, code: str) -> None:
    reply = token(bearer, name)
    assert (reply.status, reply.code) == (status, code)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("token-empty", {"expires_in": 300}),
        ("token-not-a-string", {"token": 5, "access_token": 5}),
        ("token-with-newline", dict.fromkeys(("token", "access_token"), "token\r\nX-Injected: yes")),
        ("token-huge", {"token": "x" * (8 << 20)}),
    ],
)
def test_what_cannot_be_used(bearer: Registry, name: str, fields: dict[str, object]) -> None:
    reply = token(bearer, name)
    assert (reply.status, reply.json()) == (200, fields)


def test_a_useless_token(bearer: Registry) -> None:
    assert not opens(bearer, token(bearer, "token-useless").json()["token"])


def test_a_redirect(bearer: Registry) -> None:
    reply = token(bearer, "token-redirect")
    assert (reply.status, reply.header("Location")) == (307, f"http://127.0.0.9:99{TARGET}")


@pytest.mark.parametrize(
    ("name", "there", "missing"),
    [
        ("token-named-token", "token", {"access_token"}),
        ("token-named-access-token", "access_token", {"token"}),
        ("token-without-expiry", "token", {"expires_in", "issued_at"}),
        ("token-already-expired", "token", set()),
    ],
)
def test_a_token_in_another_shape_is_good(bearer: Registry, name: str, there: str, missing: set[str]) -> None:
    fields = token(bearer, name).json()
    assert opens(bearer, fields[there])
    everything = {"token", "access_token", "expires_in", "issued_at"}
    assert set(fields) == everything - missing
    assert name != "token-already-expired" or fields["expires_in"] < 0
    assert token(bearer, name, BAD).status == 401
