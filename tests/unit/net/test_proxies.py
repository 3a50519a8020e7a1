"""What may be written for a proxy, and what it is shown."""

from __future__ import annotations

import traceback

import pytest

from getmodules.errors import ConfigError
from getmodules.net.proxies import authorization, usable
from tests.support.refusals import refusal, words_of


@pytest.mark.parametrize(
    "proxy",
    [
        pytest.param("http://ada:SEKRET/cret@127.0.0.1:1", id="slash"),
        pytest.param("http://ada:12/SEKRET@127.0.0.1:1", id="slash after what could be a port"),
        pytest.param("http://ada:SEKRET#x@127.0.0.1:1", id="hash"),
        pytest.param("http://:SEKRET@", id="no host"),
        pytest.param("http://ada:SEKRET", id="no host, and what could be one"),
        pytest.param("http://ada@SEKRET@127.0.0.1:99999", id="port"),
        pytest.param("http://ada:SEKRET@a b:1", id="blank"),
        pytest.param("http://ada:SEKRET@[::1:1", id="half a bracket"),
        pytest.param("socks5://ada:SEKRET@127.0.0.1:1", id="another scheme"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_and_not_shown(proxy: str) -> None:
    error = refusal(ConfigError, "config", usable, proxy, "http")
    assert "http_proxy" in words_of(error)
    shown = words_of(error) + "".join(traceback.format_exception(error))
    assert not any(part in shown for part in ("SEKRET", "ada", "cret@"))


@pytest.mark.parametrize(
    ("proxy", "expected"),
    [
        pytest.param("http://ada:p€@p:1", "http://ada:p%E2%82%AC@p:1", id="not ASCII"),
        pytest.param("http://ada:p\udcff@p:1", "http://ada:p%FF@p:1", id="bytes that are no UTF-8"),
        pytest.param("http://ada:a@b@p:1", "http://ada:a%40b@p:1", id="an at sign"),
        pytest.param("http://ada:a%2Fb@p:1/", "http://ada:a%2Fb@p:1", id="encoded already"),
    ],
)
def test_how_a_proxy_is_handed_on(proxy: str, expected: str) -> None:
    assert usable(proxy, "http") == expected


@pytest.mark.parametrize(
    ("proxy", "expected"),
    [
        pytest.param("http://p:1", {}, id="nothing"),
        pytest.param("http://ada:a%2Fb@p:1", {"Proxy-Authorization": "Basic YWRhOmEvYg=="}, id="a password"),
    ],
)
def test_what_it_is_shown(proxy: str, expected: dict[str, str]) -> None:
    assert authorization(proxy) == expected
