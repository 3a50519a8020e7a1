"""Redirects, retries and what statuses mean."""

from __future__ import annotations

import base64
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote

import pytest

from getmodules.api.http import Authorization, Call, origin_of
from getmodules.api.limits import Deadline
from getmodules.errors import GetModulesError
from getmodules.net.session import Session
from getmodules.net.wire import Wire
from tests.support.contexts import QUICK, a_context
from tests.support.refusals import words_of
from tests.support.servers import Answer, Connection, Received, serving


def ask(answer: Answer, **more: Any) -> Any:
    """GET /x of a server that answers so; the answer, or the error, and what the server saw."""
    with serving(answer) as server:
        wire = Wire(QUICK)
        try:
            call = Call(method=more.pop("method", "GET"), url=f"{server.url}/x", **more)
            return Session(wire).send(call, a_context()).read(), server.received
        except GetModulesError as error:
            return error, server.received
        finally:
            wire.close()


def status(code: str, **headers: str) -> Answer:
    return lambda connection, _: connection.reply(code, b"the body", **headers)


@pytest.mark.parametrize(
    ("answer", "code", "exit_code", "requests"),
    [
        pytest.param(status("401 Unauthorized"), "authentication", 4, 1, id="401"),
        pytest.param(status("403 Forbidden"), "authentication/forbidden", 4, 1, id="403"),
        pytest.param(status("407 Proxy Authentication Required"), "authentication", 4, 1, id="407"),
        pytest.param(status("404 Not Found"), "not-found", 1, 1, id="404"),
        pytest.param(status("410 Gone"), "not-found", 1, 1, id="410"),
        pytest.param(status("408 Request Timeout"), "network", 1, 4, id="408"),
        pytest.param(status("429 Too Many Requests"), "rate-limited", 1, 4, id="429"),
        pytest.param(status("429 Too Many Requests", Retry_After="86400"), "rate-limited", 1, 1, id="429 for a day"),
        pytest.param(status("429 Too Many Requests", Retry_After="soon"), "rate-limited", 1, 4, id="429 garbage"),
        pytest.param(status("500 Oops"), "network", 1, 4, id="500"),
        pytest.param(status("501 Not Implemented"), "network", 1, 1, id="501 is final"),
        pytest.param(status("503 Unavailable", Retry_After="0"), "network", 1, 4, id="503"),
        pytest.param(status("418 Teapot"), "network", 1, 1, id="418"),
        pytest.param(status("304 Not Modified"), "network", 1, 1, id="unasked 304"),
    ],
)
def test_what_a_status_means(answer: Answer, code: str, exit_code: int, requests: int) -> None:
    error, received = ask(answer)
    assert (error.code, error.exit_code, len(received)) == (code, exit_code, requests)


def in_turn(answers: Iterator[Answer]) -> Answer:
    def answer(connection: Connection, request: Received) -> bool | None:
        return next(answers)(connection, request)

    return answer


def test_it_comes_back_when_the_server_is_better() -> None:
    answers = iter(
        [
            status("503 No"),
            status("429 No", Retry_After="0"),
            lambda connection, _: connection.reset(),
            status("200 OK"),
        ]
    )
    body, received = ask(in_turn(answers))
    assert (body, len(received)) == (b"the body", 4)


def test_a_retry_after_that_is_a_date() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)
    error, received = ask(status("503 No", Retry_After=when))
    assert (error.code, len(received)) == ("network", 1)
    past = format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)
    _, received = ask(status("503 No", Retry_After=past))
    assert len(received) == 4


@pytest.mark.parametrize("said", ["503 Unavailable", "408 Late", "429 Too Many"])
def test_a_wait_that_is_too_long_is_told(said: str) -> None:
    error, received = ask(status(said, Retry_After="300"))
    assert len(received) == 1
    assert error.hint.startswith("the server asks to wait for about 5 minutes")


def test_what_cannot_be_repeated_is_not() -> None:
    error, received = ask(lambda connection, _: connection.reset(), method="POST", body=b"x")
    assert (error.code, len(received)) == ("network", 1)


def test_a_broken_small_body_is_asked_for_again() -> None:
    def cut(connection: Connection, _: Received) -> bool:
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nthe")
        return False

    answers = iter([cut, cut, status("200 OK")])
    body, received = ask(in_turn(answers), read=100)
    assert (body, len(received)) == (b"the body", 3)


def test_the_body_of_an_error_is_shown_escaped_and_cut() -> None:
    error, _ = ask(lambda connection, _: connection.reply("404 No", b"\x1b[2J https://u:hunter2@h/ " + b"x" * 10_000))
    assert "\x1b" not in error.message
    assert "hunter2" not in error.message
    assert len(error.message) < 500


# ------------------------------------------------------------------------------------------ redirects


def redirect_to(location: str, code: str = "302 Found") -> Answer:
    return lambda connection, request: (
        connection.reply(code, b"", Location=location)
        if request.target == "/x"
        else connection.reply("200 OK", b"there")
    )


@pytest.mark.parametrize("location", ["/y", "y", "?z", "//{host}/y", "{url}/y#fragment"])
def test_redirects_are_followed(location: str) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        host = request.headers["Host"]
        return bool(redirect_to(location.format(host=host, url=f"http://{host}"))(connection, request))

    assert ask(answer)[0] == b"there"


@pytest.mark.parametrize(
    ("location", "code"),
    [
        pytest.param("file:///etc/passwd", "unsafe-content/elsewhere", id="file"),
        pytest.param("ftp://127.0.0.1/x", "unsafe-content/elsewhere", id="ftp"),
        pytest.param("javascript:alert(1)", "unsafe-content/elsewhere", id="javascript"),
        pytest.param("http://user:pw@127.0.0.1/x", "unsafe-content/elsewhere", id="user name"),
        pytest.param("http://127.0.0.1\\@evil/", "unsafe-content/elsewhere", id="backslash"),
        pytest.param("http://169.254.0.1:1/", "unsafe-content/elsewhere", id="link-local"),
        pytest.param("http://10.0.0.1:1/", "unsafe-content/elsewhere", id="private, from loopback"),
        pytest.param("http://127.0.0.1:0/", "unsafe-content/elsewhere", id="port 0"),
        pytest.param("http://[::1/", "unsafe-content/elsewhere", id="broken"),
        pytest.param("http:///x", "unsafe-content/elsewhere", id="no host"),
        pytest.param("///evil.example/x", "unsafe-content/elsewhere", id="no host and no scheme"),
        pytest.param("http:x", "unsafe-content/elsewhere", id="a scheme and a path"),
        pytest.param("/" + "(" * 60_000, "unsafe-content/elsewhere", id="endless"),
        pytest.param("/x", "fetch/too-many-hops", id="loop"),
    ],
)
def test_where_a_redirect_may_not_lead(location: str, code: str) -> None:
    error, received = ask(redirect_to(location))
    assert error.code == code
    assert "pw" not in f"{error.message}"
    assert len(received) <= 11


def test_a_redirect_without_a_location_is_an_error() -> None:
    assert ask(status("302 Found"))[0].code == "network"


def test_a_grant_is_for_its_origin_and_no_other() -> None:
    """127.0.0.2 is another host, and another port is another origin as well."""
    seen: list[tuple[str, str | None]] = []

    def note(name: str, then: Answer) -> Answer:
        def answer(connection: Connection, request: Received) -> bool | None:
            seen.append((name, request.headers.get("Private-Token")))
            return then(connection, request)

        return answer

    with (
        serving(note("other host", status("200 OK")), host="127.0.0.2") as third,
        serving(note("other port", redirect_to(f"{third.url}/y"))) as second,
        serving(note("its own", redirect_to(f"{second.url}/x"))) as first,
    ):
        wire = Wire(QUICK)
        grant = Authorization(origin=origin_of(first.url), headers={"Private-Token": "s3cr3t"})
        call = Call(method="GET", url=f"{first.url}/x", authorization=grant)
        Session(wire).send(call, a_context()).read()
        wire.close()
    assert seen == [("its own", "s3cr3t"), ("other port", None), ("other host", None)]
    assert "s3cr3t" not in repr(grant)


@pytest.mark.parametrize(
    ("code", "headers"),
    [
        pytest.param("307 Go", {"Location": "file:///hunter2"}, id="location, no web address"),
        pytest.param("307 Go", {"Location": "http://[hunter2/"}, id="location, no address at all"),
        pytest.param("307 Go", {"Location": "http://x:hunter2/"}, id="location, no port"),
        pytest.param("307 Go", {"Location": "/a b/encoded/hunter2"}, id="location, encoded"),
        pytest.param("404 No", {"X": "y"}, id="body"),
        pytest.param("200 hunter2", {"Content_Length": "hunter2"}, id="length"),
        pytest.param("200 hunter2", {"Content_Encoding": "hunter2"}, id="encoding"),
        pytest.param("404 hunter2", {"X": "y"}, id="reason"),
    ],
)
@pytest.mark.parametrize(
    ("header", "value", "secret"),
    [
        pytest.param("Private-Token", "hunter2", "hunter2", id="bare"),
        pytest.param("Authorization", "Bearer Hunter2/X", "Hunter2/X", id="bearer"),
        pytest.param("Authorization", f"Basic {base64.b64encode(b'ada:hunt').decode()}", "hunt", id="short password"),
    ],
)
def test_what_a_server_was_sent_it_cannot_make_us_show(
    code: str, headers: dict[str, str], header: str, value: str, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In errors, with all that a traceback shows of them, and in the log."""

    def answer(connection: Connection, request: Received) -> bool | None:
        told = {name: each.replace("hunter2", reflected) for name, each in headers.items()}
        return connection.reply(code.replace("hunter2", secret), f"you said {secret}".encode(), **told)

    reflected = quote(secret, safe="") if "encoded" in headers.get("Location", "") else secret
    caplog.set_level(logging.DEBUG, "getmodules")
    with serving(answer) as server:
        wire = Wire(QUICK)
        call = Call(
            method="GET",
            url=f"{server.url}/x",
            authorization=Authorization(origin=origin_of(server.url), headers={header: value}),
        )
        with pytest.raises(GetModulesError) as caught:
            Session(wire).send(call, a_context())
        wire.close()
    shown = words_of(caught.value) + "".join(traceback.format_exception(caught.value)) + caplog.text
    assert secret not in shown
    assert reflected not in shown
    assert "Hunter" not in shown, "nor a part of it"


def test_a_wait_is_not_shown_digit_by_digit() -> None:
    error, _ = ask(status("429 No", Retry_After="123456789"))
    assert "about 2,057,613 minutes" in error.hint
    assert "123" not in error.hint


def test_a_deadline_is_not_waited_beyond() -> None:
    with serving(status("503 No", Retry_After="30")) as server:
        wire = Wire(QUICK)
        call = Call(method="GET", url=f"{server.url}/x")
        with pytest.raises(GetModulesError) as caught:
            Session(wire).send(call, a_context(deadline=Deadline.after(5)))
        wire.close()
    assert caught.value.code == "network"
    assert len(server.received) == 1
