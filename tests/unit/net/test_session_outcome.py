"""What statuses mean, what their bodies say, and how long they make us wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from getmodules.api.http import body_text
from getmodules.errors import (
    AuthenticationError,
    FetchError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    SentCredential,
)
from getmodules.net.session import TRANSIENT, failed, http_date, retry_after
from getmodules.net.settings import NetSettings
from getmodules.net.wire import Wire, WireAnswer
from tests.support.contexts import a_context
from tests.support.servers import serving


@contextmanager
def answered(status: str, body: bytes = b"", **headers: str) -> Iterator[WireAnswer]:
    with serving(lambda connection, _: connection.reply(status, body, **headers)) as server:
        wire = Wire(NetSettings())
        answer = wire.exchange("GET", f"{server.url}/x", a_context())
        yield answer
        answer.close()
        wire.close()


@pytest.mark.parametrize(
    ("status", "sent", "kind", "code", "hint"),
    [
        pytest.param("401 No", True, AuthenticationError, "authentication", "refused", id="401 with credentials"),
        pytest.param("401 No", False, AuthenticationError, "authentication", "none were found", id="401 without"),
        pytest.param("407 No", False, AuthenticationError, "authentication", "proxy", id="407"),
        pytest.param("403 No", True, AuthenticationError, "authentication/forbidden", "do not allow", id="403 with"),
        pytest.param(
            "403 No", False, AuthenticationError, "authentication/forbidden", "none were found", id="403 without"
        ),
        pytest.param("404 No", False, NotFoundError, "not-found", "hide", id="404"),
        pytest.param("410 No", False, NotFoundError, "not-found", "hide", id="410"),
        pytest.param("429 No", False, RateLimitedError, "rate-limited", "authenticate", id="429"),
        pytest.param("500 No", False, NetworkError, "network", "try again later", id="500"),
        pytest.param("418 No", False, NetworkError, "network", None, id="418: nobody knows what would help"),
    ],
)
def test_the_error_of_a_status(status: str, sent: bool, kind: type[FetchError], code: str, hint: str | None) -> None:
    with answered(status) as answer:
        error = failed(answer, sent=SentCredential("F", "ada") if sent else None, explain="what it said")
        host = answer.url.split("/")[2]
    assert (type(error), error.code) == (kind, code)
    to = " to the credential of F (user name ada)" if sent else ""
    assert error.message == f"{host} answered {status.split(maxsplit=1)[0]}{to}: what it said"
    assert error.hint is None if hint is None else hint in str(error.hint)


def test_an_error_without_an_explanation_ends_with_its_status() -> None:
    with answered("404 No") as answer:
        assert failed(answer).message.endswith("answered 404")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        pytest.param("Client sent an HTTP request to an HTTPS server.", "--plain-http HOST", id="Go's words"),
        pytest.param("The plain HTTP request was sent to HTTPS port", "write https", id="nginx' words"),
        pytest.param("no such argument", "", id="anything else"),
    ],
)
def test_a_server_that_speaks_tls_is_asked_without(said: str, hint: str) -> None:
    with answered("400 Bad Request") as answer:
        assert hint in (failed(answer, explain=said).typed_hint or "")
        assert bool(hint) is bool(failed(answer, explain=said).hint)


def test_only_what_may_pass_is_transient() -> None:
    assert {408, 425, 429, 500, 502, 503, 504} == TRANSIENT


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"", "", id="nothing"),
        pytest.param(b"<h1>\n  Sorry\r\n</h1>", "<h1> Sorry </h1>", id="in one line"),
        pytest.param(b"\x1b[2Jgone", "\\x1b[2Jgone", id="an escape sequence"),
        pytest.param(b"\xff", "\ufffd", id="no UTF-8"),
        pytest.param(b"see https://u:hunter2@h/", "see https://u:****@h/", id="a password"),
    ],
)
def test_what_a_body_says(body: bytes, said: str) -> None:
    with answered("500 No", body) as answer:
        assert body_text(answer) == said


def test_a_long_body_is_cut() -> None:
    with answered("500 No", b"x" * 100_000) as answer:
        assert len(body_text(answer)) <= 301


def in_seconds(seconds: int) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        pytest.param("0", 0, 0, id="at once"),
        pytest.param("17", 17, 17, id="seconds"),
        pytest.param("9" * 400, 999_999_999, 999_999_999, id="more digits than a number has"),
        pytest.param(3600, 3500, 3600, id="a date"),
        pytest.param(-3600, 0, 0, id="a date that has passed"),
    ],
)
def test_how_long_to_wait(value: str | int, least: float, most: float) -> None:
    # A date is one of now: tests are collected long before the last of them runs.
    said = value if isinstance(value, str) else in_seconds(value)
    with answered("503 No", Retry_After=said) as answer:
        wait = retry_after(answer)
    assert wait is not None
    assert least <= wait <= most


def test_a_date_without_a_zone_is_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of the three forms, which nothing sends and everything must read."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert http_date("Sun Nov  6 08:49:37 1994") == http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-5", "1.5", "Mon, 99 Foo 2026 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 +2359"],
)
def test_a_wait_that_makes_no_sense_is_none(value: str) -> None:
    with answered("503 No", Retry_After=value) as answer:
        assert not retry_after(answer)


def test_no_wait_is_none() -> None:
    with answered("503 No") as answer:
        assert retry_after(answer) is None
