"""Foreign exceptions, in our words: what happened, without the libraries' layers and without secrets."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import pytest
import requests
import urllib3

from getmodules.net.failures import failure
from tests.refusals import words_of


def caused(outer: BaseException, cause: BaseException) -> BaseException:
    outer.__cause__ = cause
    return outer


CERTIFICATE = ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")
REFUSED = ConnectionRefusedError(111, "Connection refused")
NO_NAME = socket.gaierror(-2, "Name or service not known")


def pooled(reason: Exception) -> requests.ConnectionError:
    """As requests wraps what urllib3 wraps: the cause is an argument of an argument."""
    pool: Any = None
    return requests.ConnectionError(urllib3.exceptions.MaxRetryError(pool, "/x", reason))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        pytest.param(REFUSED, "network", "Connection refused", id="bare"),
        pytest.param(pooled(REFUSED), "network", "Connection refused", id="below two layers"),
        pytest.param(pooled(NO_NAME), "network", "Name or service not known", id="no such name"),
        pytest.param(requests.exceptions.SSLError(CERTIFICATE), "network/certificate", "self-signed", id="certificate"),
        pytest.param(caused(OSError("x"), CERTIFICATE), "network/certificate", "self-signed", id="as a cause"),
        pytest.param(ssl.SSLError(1, "wrong version number"), "network", "wrong version", id="TLS, but no certificate"),
        pytest.param(requests.ReadTimeout(), "network/timeout", "nothing for too long", id="requests' timeout"),
        pytest.param(urllib3.exceptions.TimeoutError(), "network/timeout", "nothing", id="urllib3's timeout"),
        pytest.param(pooled(TimeoutError("x")), "network/timeout", "nothing", id="the system's timeout"),
        pytest.param(requests.exceptions.ConnectionError("bad"), "network", "bad", id="without a cause"),
        pytest.param(ValueError(), "network", "ValueError", id="without a word"),
        pytest.param(pooled(OSError("Tunnel connection failed: 407 No")), "authentication", "407", id="proxy, 407"),
        pytest.param(
            pooled(OSError("Tunnel connection failed: 403 No")), "authentication/forbidden", "403", id="proxy, 403"
        ),
        pytest.param(pooled(OSError("Tunnel connection failed: 504 No")), "network", "504", id="proxy, 504"),
    ],
)
def test_a_failure(error: BaseException, code: str, said: str) -> None:
    made = failure(error)
    assert made.code == code
    assert said in made.message
    assert made.hint


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(pooled(REFUSED), "host spelled right", id="the host"),
        pytest.param(pooled(urllib3.exceptions.ProxyError("no proxy", REFUSED)), "https_proxy", id="the proxy"),
        pytest.param(pooled(ssl.SSLError(1, "wrong version number")), "speak TLS", id="no TLS"),
    ],
)
def test_the_hint_is_about_what_failed(error: BaseException, said: str) -> None:
    made = failure(error)
    assert said in (made.hint or "")
    assert ("through a proxy" in made.message) == (said == "https_proxy")


def test_causes_in_a_circle_end() -> None:
    one, two = OSError("one"), OSError("two")
    one.__context__, two.__context__ = two, one
    assert "one" in failure(one).message


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("cannot reach http://ada:hunter2@proxy:3128/", id="a proxy's password"),
        pytest.param("Max retries exceeded with url: /b?X-Amz-Signature=hunter2", id="a signed URL"),
    ],
)
def test_secrets_in_the_words_of_libraries_are_masked(said: str) -> None:
    assert "hunter2" not in words_of(failure(requests.ConnectionError(said)))


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(requests.exceptions.InvalidHeader("Invalid header: 'Bearer hunter2\n'"), id="header"),
        pytest.param(requests.exceptions.InvalidURL("Failed to parse: hunter2"), id="address"),
        pytest.param(requests.exceptions.InvalidProxyURL("Failed to parse: hunter2"), id="proxy"),
        pytest.param(urllib3.exceptions.LocationParseError("hunter2"), id="host"),
        pytest.param(pooled(urllib3.exceptions.LocationParseError("hunter2")), id="host, below two layers"),
        pytest.param(UnicodeEncodeError("latin-1", "hunter2\u20ac", 7, 8, "no"), id="text"),
    ],
)
def test_what_cannot_be_sent_is_not_quoted(error: Exception) -> None:
    made = failure(error)
    assert made.code == "network"
    assert "hunter2" not in words_of(made)
    assert "cannot be sent" in made.message


def test_escape_sequences_are_shown_escaped() -> None:
    assert "\x1b" not in failure(requests.ConnectionError("\x1b[2J")).message
