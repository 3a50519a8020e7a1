"""Foreign exceptions, in our words: what happened, without the libraries' layers and without secrets."""

from __future__ import annotations

import socket
import ssl
from http.client import BadStatusLine, IncompleteRead, RemoteDisconnected, UnknownProtocol
from typing import Any

import pytest
import requests
import urllib3

from getmodules.errors import NetworkError
from getmodules.net.failures import broken_body, failure
from tests.support.refusals import words_of


def caused(outer: BaseException, cause: BaseException) -> BaseException:
    outer.__cause__ = cause
    return outer


CERTIFICATE = ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")


def certificate(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed: words")
    error.verify_code = code
    return error


def alert(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason.lower())
    error.reason = reason
    return error


REFUSED = ConnectionRefusedError(111, "Connection refused")
NO_NAME = socket.gaierror(-2, "Name or service not known")


def pooled(reason: Exception) -> requests.ConnectionError:
    """As requests wraps what urllib3 wraps: the cause is an argument of an argument."""
    pool: Any = None
    return requests.ConnectionError(urllib3.exceptions.MaxRetryError(pool, "/x", reason))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        pytest.param(REFUSED, "network", "connection refused", id="bare"),
        pytest.param(pooled(REFUSED), "network", "connection refused", id="below two layers"),
        pytest.param(pooled(NO_NAME), "network", "name or service not known", id="no such name"),
        pytest.param(requests.exceptions.SSLError(CERTIFICATE), "network/certificate", "self-signed", id="certificate"),
        pytest.param(caused(OSError("x"), CERTIFICATE), "network/certificate", "self-signed", id="as a cause"),
        pytest.param(ssl.SSLError(1, "wrong version number"), "network", "wrong version", id="TLS, but no certificate"),
        pytest.param(pooled(certificate(10)), "network/certificate", "has expired", id="expired"),
        pytest.param(pooled(certificate(62)), "network/certificate", "another host", id="of another host"),
        pytest.param(pooled(certificate(64)), "network/certificate", "another host", id="of another address"),
        pytest.param(
            pooled(alert("TLSV13_ALERT_CERTIFICATE_REQUIRED")), "network/certificate", "a client's", id="wants one"
        ),
        pytest.param(pooled(alert("TLSV1_ALERT_UNKNOWN_CA")), "network/certificate", "a client's", id="wants another"),
        pytest.param(pooled(BadStatusLine("x")), "network", "as a web server", id="no HTTP"),
        pytest.param(pooled(UnknownProtocol("HTTP/2.0")), "network", "as a web server", id="another HTTP"),
        pytest.param(pooled(RemoteDisconnected("x")), "network", "closed before an answer", id="no answer"),
        pytest.param(requests.ReadTimeout(), "network/timeout", "nothing came in time", id="requests' timeout"),
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
        pytest.param(pooled(REFUSED), "server running", id="nobody listens"),
        pytest.param(pooled(OSError(113, "No route to host")), "host spelled right", id="the host"),
        pytest.param(pooled(urllib3.exceptions.ProxyError("no proxy", REFUSED)), "https_proxy", id="the proxy"),
        pytest.param(pooled(ssl.SSLError(1, "wrong version number")), "speak TLS", id="no TLS"),
        pytest.param(
            pooled(alert("SSLV3_ALERT_HANDSHAKE_FAILURE")), "--client-cert", id="refused, for what reason ever"
        ),
        pytest.param(pooled(alert("TLSV13_ALERT_CERTIFICATE_REQUIRED")), "--client-cert", id="wants a certificate"),
        pytest.param(pooled(ssl.SSLEOFError(8, "EOF occurred")), "--client-cert", id="gone, for what reason ever"),
        pytest.param(pooled(certificate(10)), "clock", id="expired"),
        pytest.param(pooled(certificate(62)), "address right", id="another host's certificate"),
        pytest.param(pooled(certificate(20)), "--ca-file", id="nobody's certificate"),
    ],
)
def test_the_hint_is_about_what_failed(error: BaseException, said: str) -> None:
    made = failure(error)
    assert said in (made.typed_hint or "")


def test_the_words_of_openssl_are_not_repeated() -> None:
    error = ssl.SSLCertVerificationError(1, "[SSL: X] certificate verify failed: no issuer (_ssl.c:1006)")
    error.verify_code, error.verify_message = 20, "no issuer"
    assert failure(pooled(error)).message == "the server's certificate cannot be trusted: no issuer"


@pytest.mark.parametrize(
    ("code", "named"),
    [
        pytest.param(19, True, id="signed by itself"),
        pytest.param(20, True, id="signed by somebody else"),
        pytest.param(10, False, id="expired"),
        pytest.param(62, False, id="another host's"),
        pytest.param(23, False, id="revoked"),
    ],
)
def test_the_authorities_that_were_used_are_named(code: int, *, named: bool) -> None:
    made = failure(pooled(certificate(code)), authorities="/etc/acme.pem")
    assert ("/etc/acme.pem" in (made.hint or "")) is named
    assert ("--ca-file FILE" in (made.typed_hint or "")) is (named or code == 23)


def test_a_proxy_s_certificate_is_no_server_s() -> None:
    made = failure(pooled(urllib3.exceptions.ProxyError("Unable to connect to proxy", certificate(20))))
    assert made.message.startswith("the proxy's certificate")


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(urllib3.exceptions.ProtocolError("Connection broken", IncompleteRead(b"")), id="chunks"),
        pytest.param(urllib3.exceptions.ProtocolError("Connection broken", ConnectionResetError(104, "x")), id="reset"),
        pytest.param(urllib3.exceptions.SSLError(ssl.SSLEOFError(8, "EOF occurred")), id="TLS"),
        pytest.param(urllib3.exceptions.SSLError(alert("UNEXPECTED_EOF_WHILE_READING")), id="TLS, some releases"),
    ],
)
def test_a_body_that_ends_in_the_middle_is_no_matter_of_the_host_s_name(error: Exception) -> None:
    made = broken_body(error)
    assert (made.code, made.message) == ("network", "the connection ended in the middle of the body")
    assert "try again" in (made.hint or "")


def test_an_end_of_tls_may_pass_and_a_refusal_does_not() -> None:
    ends = [pooled(ssl.SSLEOFError(8, "EOF occurred")), pooled(alert("UNEXPECTED_EOF_WHILE_READING"))]
    assert [made.retryable for made in map(failure, ends) if isinstance(made, NetworkError)] == [True, True]
    refused = failure(pooled(alert("SSLV3_ALERT_HANDSHAKE_FAILURE")))
    assert isinstance(refused, NetworkError)
    assert not refused.retryable


def test_a_body_may_fail_as_everything_else_does() -> None:
    assert broken_body(urllib3.exceptions.ReadTimeoutError(None, "", "")).code == "network/timeout"  # type: ignore[arg-type]


def test_what_a_server_says_is_masked() -> None:
    made = failure(
        requests.ConnectionError("as the server says: hunter2"), lambda text: text.replace("hunter2", "****")
    )
    assert made.message.endswith("as the server says: ****")


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
