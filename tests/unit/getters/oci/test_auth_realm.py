"""Where a registry may send us for a token, and where it may not. No test here looks up a name."""

from __future__ import annotations

import pytest

from getmodules.api.ports import Origin
from getmodules.errors import AuthenticationError
from getmodules.getters.oci.auth import check_realm
from tests.support.refusals import refusal, words_of

PUBLIC = Origin("https", "8.8.8.8", 443)
LOOPBACK = Origin("http", "127.0.0.1", 5000)
INNER = Origin("https", "10.1.2.3", 443)


@pytest.mark.parametrize(
    ("realm", "registry"),
    [
        pytest.param("https://8.8.8.8/token", PUBLIC, id="its own origin"),
        pytest.param("https://8.8.8.8:443/token?service=x", PUBLIC, id="with its port and a query"),
        pytest.param("http://127.0.0.1:5000/token", LOOPBACK, id="on loopback"),
        pytest.param("http://[::1]:5000/token", Origin("http", "::1", 5000), id="IPv6"),
    ],
)
def test_a_realm_of_the_registry_itself_needs_no_check(realm: str, registry: Origin) -> None:
    assert check_realm(realm, registry, registry.host) is None


@pytest.mark.parametrize(
    ("realm", "registry", "said"),
    [
        pytest.param("", PUBLIC, "cannot be used", id="none"),
        pytest.param("/token", PUBLIC, "cannot be used", id="a path"),
        pytest.param("token.example", PUBLIC, "cannot be used", id="a bare name"),
        pytest.param("file:///etc/passwd", PUBLIC, "no web address", id="a file"),
        pytest.param("ftp://8.8.8.8/", PUBLIC, "no web address", id="ftp"),
        pytest.param("https:///token", PUBLIC, "", id="no host"),
        pytest.param("https://ada:hunter2@8.8.8.8/token", PUBLIC, "user name", id="a user name"),
        pytest.param("https://8.8.8.8/token#x", PUBLIC, "", id="a fragment"),
        pytest.param("https://8.8.8.8/token?a=b#x", PUBLIC, "no web address", id="a fragment after a query"),
        pytest.param("http://8.8.8.8/token", PUBLIC, "does not", id="http, from https"),
        pytest.param("https://[::1/token", PUBLIC, "cannot be used", id="half a bracket"),
        pytest.param("https://8.8.8.8:99999/token", PUBLIC, "cannot be used", id="a port that there is not"),
        pytest.param("https://good\\@evil/token", PUBLIC, "cannot be used", id="a backslash"),
        pytest.param("https://8.8.8.8/\x1b[2J", PUBLIC, "cannot be used", id="an escape sequence"),
    ],
)
def test_a_realm_that_is_refused(realm: str, registry: Origin, said: str) -> None:
    error = refusal(AuthenticationError, "authentication", check_realm, realm, registry, registry.host)
    assert said in error.message
    assert "hunter2" not in words_of(error)
    assert "\x1b" not in words_of(error)


@pytest.mark.parametrize(
    ("registry", "allowed", "refused"),
    [
        pytest.param(PUBLIC, ["8.8.4.4"], ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"], id="public"),
        pytest.param(LOOPBACK, ["8.8.4.4", "127.0.0.2", "::1"], ["10.0.0.1", "169.254.169.254"], id="loopback"),
        pytest.param(INNER, ["8.8.4.4", "192.168.0.1"], ["127.0.0.1", "169.254.169.254"], id="private"),
    ],
)
def test_another_host_is_judged_by_the_address_that_is_connected_to(
    registry: Origin, allowed: list[str], refused: list[str]
) -> None:
    check = check_realm("https://tokens.example/token?client_secret=hunter2", registry, registry.host)
    assert check is not None
    for address in allowed:
        check(address)
    for address in refused:
        error = refusal(AuthenticationError, "authentication", check, address)
        assert address in error.message
        assert "hunter2" not in words_of(error)


def test_a_registry_without_tls_may_have_a_realm_without_it() -> None:
    assert check_realm("http://127.0.0.2:5000/token", LOOPBACK, LOOPBACK.host) is not None


def test_behind_a_proxy_nobody_knows_how_far_in_the_registry_is() -> None:
    check = check_realm("https://tokens.example/token", LOOPBACK._replace(scheme="https"), None)
    assert check is not None
    check("8.8.4.4")
    refusal(AuthenticationError, "authentication", check, "127.0.0.1")


@pytest.mark.parametrize("realm", ["ftp://8.8.8.8/hunter2", "https://8.8.8.8:hunter2/", "http://8.8.8.8/?x=hunter2"])
def test_a_realm_does_not_show_what_the_registry_was_sent(realm: str) -> None:
    def mask(text: str) -> str:
        return text.replace("hunter2", "****")

    error = refusal(AuthenticationError, "authentication", check_realm, realm, PUBLIC, "8.8.8.8", mask)
    assert "****" in error.message
    assert "hunter2" not in words_of(error)
