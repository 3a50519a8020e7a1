"""Whose credentials go to a server, and in which order they are looked for."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from getmodules import Credential, Origin, Secret
from getmodules.addresses.url import check_url
from getmodules.getters.http.source import WebAccess, access_to, secret_arguments
from getmodules.net.settings import NetSettings
from tests.support.contexts import a_context

URL = "https://h.example/a.zip"
HERE = Origin("https", "h.example", 443)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def access(
    url: str = URL, *, headers: dict[str, dict[str, str]] | None = None, netrc: Path | None = None, **more: Any
) -> WebAccess:
    table = {host: {name: Secret(value) for name, value in each.items()} for host, each in (headers or {}).items()}
    environ = {"HOME": str(netrc)} if netrc else {}
    return access_to(check_url(url), (), a_context(environ=environ, **more), NetSettings(headers=table))


def token(origin: Origin, path: str) -> Credential | None:
    return Credential(secret=Secret("t0ken"), found_in="the vault") if origin == HERE and path == "/a.zip" else None


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".netrc").write_text("machine h.example login ada password p4ss")
    (tmp_path / ".netrc").chmod(0o600)
    return tmp_path


def test_nobody_known_sees_nothing() -> None:
    found = access()
    assert (found.authorization.origin, dict(found.authorization.headers), found.authorization.anonymous) == (
        HERE,
        {},
        True,
    )


def test_the_order_in_which_credentials_count(home: Path) -> None:
    mine = {"h.example": {"authorization": "Mine 1"}}
    userinfo = "https://eve:s%40cret@h.example/a.zip"
    rows = [
        (access(userinfo, headers=mine, credentials=token, netrc=home), "authorization", "Mine 1", "--header"),
        (access(userinfo, credentials=token, netrc=home), "Authorization", basic("eve", "s@cret"), "the address"),
        (access(credentials=token, netrc=home), "Authorization", "Bearer t0ken", "the vault"),
        (access(netrc=home), "Authorization", basic("ada", "p4ss"), "~/.netrc"),
    ]
    for found, name, value, found_in in rows:
        assert dict(found.authorization.headers) == {name: value}
        assert found.authorization.credential is not None
        assert found.authorization.credential.found_in == found_in
        assert not found.authorization.anonymous
        assert value not in repr(found)


def test_other_headers_go_beside_the_authorization(home: Path) -> None:
    found = access(headers={"h.example": {"PRIVATE-TOKEN": "x"}}, netrc=home)
    assert dict(found.authorization.headers) == {"PRIVATE-TOKEN": "x", "Authorization": basic("ada", "p4ss")}


@pytest.mark.parametrize(
    ("written", "url", "sent"),
    [
        pytest.param("h.example", URL, True, id="the scheme's port"),
        pytest.param("h.example:443", URL, True, id="the scheme's port, written"),
        pytest.param("h.example", "https://h.example:443/", True, id="written in the address"),
        pytest.param("h.example", "https://h.example:8443/", False, id="another port"),
        pytest.param("h.example:8443", "https://h.example:8443/", True, id="that port"),
        pytest.param("h.example:8443", URL, False, id="not that port"),
        pytest.param("h.example", "http://h.example/", True, id="http's port, as it was typed"),
        pytest.param("h.example", "https://x.h.example/", False, id="below the host"),
        pytest.param("[::1]:5000", "https://[::1]:5000/", True, id="ipv6"),
    ],
)
def test_a_header_is_for_one_host_and_port(written: str, url: str, sent: bool) -> None:
    assert bool(access(url, headers={written: {"X-Token": "x"}}).authorization.headers) is sent


def test_the_header_that_names_the_port_beats_the_one_that_does_not() -> None:
    found = access(headers={"h.example": {"A": "1", "B": "1"}, "h.example:443": {"B": "2"}})
    assert dict(found.authorization.headers) == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("home_url", "sent"),
    [
        pytest.param("", True, id="typed"),
        pytest.param("http://h.example/other", True, id="named by the same origin"),
        pytest.param("http://other.example/x", False, id="named by another one"),
        pytest.param("http://h.example:8080/x", False, id="named by another port"),
        pytest.param("tfr://h.example/a/b/c", False, id="named by a registry"),
    ],
)
def test_in_the_clear_nothing_is_shown_to_whom_a_server_names(home: Path, home_url: str, sent: bool) -> None:
    headers = {"h.example": {"X-Token": "x"}}
    found = access("http://h.example/a.zip", headers=headers, netrc=home, home=home_url)
    assert bool(found.authorization.headers) is sent
    assert access(URL, headers=headers, home=home_url).authorization.headers


def test_secrets_of_the_query_are_masked() -> None:
    secrets = secret_arguments({"token": "abcdef", "X-Amz-Signature": "0123456789", "version": "1.2.3"})
    grant = access_to(check_url(URL), secrets, a_context(), NetSettings()).authorization
    assert grant.mask("no abcdef, no 0123456789, but 1.2.3") == "no ****, no ****, but 1.2.3"
