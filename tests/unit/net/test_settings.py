"""Which proxy, which certificates: by host, from an environment that is handed in."""

from __future__ import annotations

from typing import Any

import pytest

from getmodules.client import Client
from getmodules.errors import ConfigError
from getmodules.net.settings import NetSettings, shortest
from tests.support.refusals import refusal


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({}, None, id="none: the authorities that come with requests"),
        pytest.param(
            {"SSL_CERT_FILE": "a", "REQUESTS_CA_BUNDLE": "b", "CURL_CA_BUNDLE": "c"}, "a", id="SSL_CERT_FILE first"
        ),
        pytest.param({"REQUESTS_CA_BUNDLE": "b", "CURL_CA_BUNDLE": "c"}, "b", id="then REQUESTS_CA_BUNDLE"),
        pytest.param({"SSL_CERT_FILE": "", "CURL_CA_BUNDLE": "c"}, "c", id="an empty one is none"),
    ],
)
def test_certificate_authorities_from_the_environment(environ: dict[str, str], expected: str | None) -> None:
    assert NetSettings.from_environment(environ).ca_for("h", 443) == expected


def test_a_hosts_own_authorities_beat_the_general_ones() -> None:
    settings = NetSettings(ca_file="all", ca_files={"h": "host", "h:5000": "port"})
    assert settings.ca_for("h", 443) == "host"
    assert settings.ca_for("h", 5000) == "port"
    assert settings.ca_for("other", 443) == "all"


def test_client_certificates_belong_to_a_host() -> None:
    settings = NetSettings(client_certificates={"h": "pem", "h:8443": "cert,key"})
    assert settings.client_certificate_for("h", 443) == "pem"
    assert settings.client_certificate_for("h", 8443) == ("cert", "key")
    assert settings.client_certificate_for("x", 443) is None


def test_plain_http_is_allowed_host_by_host() -> None:
    settings = NetSettings(plain_http=frozenset({"a", "b:5000"}))
    assert settings.allows_plain_http("a", 80)
    assert settings.allows_plain_http("a", 5000)
    assert settings.allows_plain_http("b", 5000)
    assert not settings.allows_plain_http("b", 80)


@pytest.mark.parametrize("name", ["[fd00::1]", "[fd00::1]:5000"])
def test_an_ipv6_host_is_written_as_in_addresses(name: str) -> None:
    settings = NetSettings(ca_files={name: "ca"}, client_certificates={name: "pem"}, plain_http=frozenset({name}))
    assert settings.ca_for("fd00::1", 5000) == "ca"
    assert settings.client_certificate_for("fd00::1", 5000) == "pem"
    assert settings.allows_plain_http("fd00::1", 5000)
    assert settings.ca_for("fd00::2", 5000) is None
    assert settings.allows_plain_http("fd00::1", 80) is (name == "[fd00::1]")


def test_a_broken_proxy_is_an_error_when_it_is_used() -> None:
    settings = NetSettings.from_environment({"http_proxy": "http://:SEKRET@", "no_proxy": "direct"})
    assert settings.proxy_for("http://direct/") is None
    refusal(ConfigError, "config", settings.proxy_for, "http://h/")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("http://my_proxy:1\n", "http://my_proxy:1", id="a line end"),
        pytest.param("[::1]:3128", "http://[::1]:3128", id="IPv6"),
    ],
)
def test_how_a_proxy_is_read(written: str, expected: str) -> None:
    assert NetSettings.from_environment({"http_proxy": written}).proxy_for("http://h/") == expected


def test_a_proxys_password_is_not_printed() -> None:
    assert "hunter2" not in repr(NetSettings.from_environment({"https_proxy": "http://u:hunter2@p:1"}))


@pytest.mark.parametrize(
    ("environ", "url", "expected"),
    [
        pytest.param({"https_proxy": "http://p:1"}, "https://h/x", "http://p:1", id="by scheme"),
        pytest.param({"https_proxy": "http://p:1"}, "http://h/x", None, id="not for the other scheme"),
        pytest.param({"HTTPS_PROXY": "p:1"}, "https://h/x", "http://p:1", id="upper case, without a scheme"),
        pytest.param({"HTTP_PROXY": "http://p:1"}, "http://h/x", "http://p:1", id="upper case http"),
        pytest.param({"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, "http://h/x", None, id="httpoxy"),
        pytest.param({"all_proxy": "http://p:1"}, "http://h/x", "http://p:1", id="for all"),
        pytest.param({"all_proxy": "http://p:1", "no_proxy": "*"}, "http://h/x", None, id="no_proxy all"),
        pytest.param({"all_proxy": "http://p:1", "no_proxy": "h"}, "http://h/x", None, id="no_proxy host"),
        pytest.param(
            {"all_proxy": "http://p:1", "no_proxy": "x, .h.example"}, "http://a.h.example/", None, id="domain"
        ),
        pytest.param(
            {"all_proxy": "http://p:1", "no_proxy": "h.example"}, "http://a.h.example/", None, id="bare domain"
        ),
        pytest.param(
            {"all_proxy": "http://p:1", "no_proxy": "example"}, "http://anexample/", "http://p:1", id="no suffix"
        ),
        pytest.param({"all_proxy": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://10.1.2.3/", None, id="network"),
        pytest.param(
            {"all_proxy": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://11.1.2.3/", "http://p:1", id="not in it"
        ),
        pytest.param({"all_proxy": "http://p:1", "NO_PROXY": "h:8080"}, "http://h:8080/", None, id="port"),
        pytest.param({"all_proxy": "http://p:1", "NO_PROXY": "h:8080"}, "http://h/", "http://p:1", id="another port"),
        pytest.param(
            {"all_proxy": "http://p:1", "NO_PROXY": "[::1]:8080"}, "http://[::1]:8080/", None, id="IPv6 and port"
        ),
        pytest.param({"all_proxy": "http://p:1", "NO_PROXY": "[::1]"}, "http://[::1]:8080/", None, id="IPv6"),
        pytest.param({"all_proxy": "http://p:1", "NO_PROXY": "[0:0::1]"}, "http://[::1]/", None, id="IPv6, longer"),
        pytest.param({"all_proxy": "http://p:1", "NO_PROXY": "[x"}, "http://[::1]/", "http://p:1", id="not IPv6"),
        pytest.param({"all_proxy": "http://p:1", "NO_PROXY": "::1"}, "http://[::1]:8080/", None, id="IPv6, bare"),
        pytest.param(
            {"all_proxy": "http://p:1", "NO_PROXY": "[::1]:80"}, "http://[::1]:8080/", "http://p:1", id="IPv6, not"
        ),
    ],
)
def test_proxies(environ: dict[str, str], url: str, expected: str | None) -> None:
    assert NetSettings.from_environment(environ).proxy_for(url) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("[FE80:0::1]:5000", "[fe80::1]:5000"),
        ("[::1]:80", "[::1]:80"),
        ("h.example:80", "h.example:80"),
        ("127.0.0.1", "127.0.0.1"),
    ],
)
def test_the_shortest_way_to_write_a_host(written: str, expected: str) -> None:
    assert shortest(written) == expected


# ------------------------------------------------------------------------------------------ timeout and retries

VARIABLES = {"GETMODULES_TIMEOUT": "2.5", "GETMODULES_RETRIES": "0"}


@pytest.mark.parametrize(
    ("settings", "environ", "timeout", "retries"),
    [
        pytest.param(NetSettings(), {}, 30.0, 3, id="the defaults"),
        pytest.param(NetSettings(), VARIABLES, 2.5, 0, id="what is left out is the environment's"),
        pytest.param(NetSettings(timeout=7), VARIABLES, 7, 0, id="a timeout that is given"),
        pytest.param(NetSettings(retries=1), VARIABLES, 2.5, 1, id="retries that are given"),
        pytest.param(NetSettings(timeout=30, retries=3), VARIABLES, 30, 3, id="the defaults, given"),
        pytest.param(
            NetSettings(), {"GETMODULES_TIMEOUT": "", "GETMODULES_RETRIES": ""}, 30.0, 3, id="empty variables"
        ),
    ],
)
def test_timeout_and_retries(settings: NetSettings, environ: dict[str, str], timeout: float, retries: int) -> None:
    found = settings.completed(environ)
    assert (found.timeout, found.retries) == (timeout, retries)
    client = Client(environ={"HOME": "/nowhere", **environ}, network=settings)
    assert client._services.settings.network == found


def test_the_environment_alone() -> None:
    found = NetSettings.from_environment(VARIABLES)
    assert (found.timeout, found.retries) == (2.5, 0)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *(
            ("GETMODULES_TIMEOUT", value)
            for value in ("0", "-1", "x", "nan", "inf", "1e3", " 5", "1_0", "٣", "2000000", ".")
        ),
        *(("GETMODULES_RETRIES", value) for value in ("-1", "x", "1.5", " 1", "1_0", "٣", "5000")),
    ],
)
def test_bad_values_of_variables(variable: str, value: str) -> None:
    error = refusal(ConfigError, "config", NetSettings.from_environment, {variable: value})
    assert error.message.startswith(f"{variable} {value!r} is not")
    assert error.hint


@pytest.mark.parametrize(
    ("more", "name"),
    [
        pytest.param({"timeout": 0}, "timeout", id="no time"),
        pytest.param({"timeout": float("nan")}, "timeout", id="not a number"),
        pytest.param({"timeout": "30"}, "timeout", id="a string"),
        pytest.param({"timeout": True}, "timeout", id="true"),
        pytest.param({"retries": -1}, "retries", id="negative"),
        pytest.param({"retries": 1.0}, "retries", id="not whole"),
        pytest.param({"retries": None}, "retries", id="none"),
    ],
)
def test_bad_values_of_programs(more: dict[str, Any], name: str) -> None:
    error = refusal(ConfigError, "config", Client, environ={}, network=NetSettings(**more))
    assert error.message.startswith(f"{name} ")


@pytest.mark.parametrize(("timeout", "seconds"), [(30, 10), (4, 4)])
def test_connecting_takes_ten_seconds_or_less(timeout: float, seconds: float) -> None:
    assert NetSettings(timeout=timeout).connecting == seconds


@pytest.mark.parametrize(("timeout", "window"), [(5, (30, 30 * 1024)), (30, (30, 30 * 1024)), (60, (60, 60 * 1024))])
def test_the_minimum_rate_stays(timeout: float, window: tuple[float, float]) -> None:
    assert NetSettings(timeout=timeout).rate_window == window
