"""How long, and how often, a server is waited for: in all, not only once; and what is said of it meanwhile."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from getmodules.api.http import Call
from getmodules.api.ports import Progress
from getmodules.errors import FetchError, NetworkError
from getmodules.net.download import Download
from getmodules.net.session import Session
from getmodules.net.settings import NetSettings
from getmodules.net.watch import tell_silence
from getmodules.net.wire import Wire
from getmodules.util.once import Memo
from getmodules.util.values import replace
from tests.support.contexts import a_context
from tests.support.servers import Answer, Connection, Received, replying, serving, silent

PATIENCE = NetSettings(timeout=0.4, retries=2, backoff_seconds=0.01, rate_window_seconds=0.4, rate_window_bytes=400)


class Notes(Progress):
    def __init__(self) -> None:
        self.said: list[str] = []

    def notice(self, package: str, message: str) -> None:
        self.said.append(message)


def trickle(connection: Connection, _: Received) -> bool:
    """A byte of a header now and then: each read gets something."""
    connection.send("HTTP/1.1 200 OK\r\nX: ")
    for _ in range(100):
        connection.send("x")
        connection.sleep(0.05)
    return False


def ask(answer: Answer, settings: NetSettings = PATIENCE, **more: Any) -> tuple[FetchError, int, float]:
    """Return the error, how many requests there were, and how long it took."""
    with serving(answer) as server:
        wire = Wire(settings)
        began = time.monotonic()
        with pytest.raises(FetchError) as caught:
            Session(wire).send(Call(method="GET", url=f"{server.url}/x", read=100, **more), a_context())
        took = time.monotonic() - began
        wire.close()
        return caught.value, len(server.received), took


@pytest.mark.parametrize("answer", [silent, trickle], ids=["silent", "headers byte by byte"])
def test_a_server_without_an_answer_has_so_many_tries_of_so_long(answer: Answer) -> None:
    error, asked, took = ask(answer)
    assert (error.code, asked) == ("network/timeout", 3)
    # Three times the timeout; the guardian looks five times a second.
    assert 1.2 <= took < 1.2 + 3 * 0.3 + 1


def test_no_retries_are_one_try() -> None:
    assert ask(silent, replace(PATIENCE, retries=0))[1] == 1


def test_a_call_may_have_fewer_retries() -> None:
    assert ask(silent, retries=1)[1] == 2


def test_by_default_a_silent_server_ends_after_130_seconds() -> None:
    """The sum of what the tests above show: each try, and the longest pauses between them."""
    settings = NetSettings()
    pauses = sum(
        min(settings.backoff_seconds * 2**n * 1.5, settings.longest_backoff_seconds) for n in range(settings.retries)
    )
    guardian = 0.2
    assert (settings.retries + 1) * (settings.timeout + guardian) + pauses <= 130


def test_many_retries_do_not_wait_ever_longer() -> None:
    waits: list[float] = []

    class Cancelled:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return False

        def is_set(self) -> bool:
            return False

    wire = Wire(NetSettings())
    for attempt in (1, 10, 999):
        Session(wire).pause(attempt, None, a_context(cancelled=Cancelled()))
    assert waits[0] < 0.5
    assert waits[1:] == [10.0, 10.0]


def test_a_body_that_falls_silent_and_the_silence_after_it_are_one_count() -> None:
    requests: list[str] = []

    def answer(connection: Connection, request: Received) -> bool:
        requests.append(request.line)
        if len(requests) == 1:
            connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: "v"\r\n\r\nhalf')
        connection.sleep(10)
        return False

    with serving(answer) as server:
        wire = Wire(PATIENCE)
        session = Session(wire)

        def send(headers: Any, retries: int | None) -> Any:
            call = Call(method="GET", url=f"{server.url}/x", headers=headers, retries=retries)
            return session.send(call, a_context())

        with pytest.raises(NetworkError):
            list(Download(send, session, a_context()))
        wire.close()
    assert len(requests) == 3


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        pytest.param(replying("200 OK", b"x", Content_Encoding="gzip"), 1, id="an encoding that nobody asked for"),
        pytest.param(replying("200 OK", b"x", Content_Length="x"), 1, id="no length"),
        pytest.param(replying("200 OK", b"x", Transfer_Encoding="gzip"), 1, id="two lengths"),
        pytest.param(lambda connection, _: connection.send("SSH-2.0-x\r\n\r\n"), 1, id="no HTTP"),
        pytest.param(replying("400 Bad"), 1, id="400"),
        pytest.param(replying("501 No"), 1, id="501"),
        pytest.param(replying("503 Busy"), 3, id="503"),
        pytest.param(lambda connection, _: connection.reset(), 3, id="reset"),
    ],
)
def test_only_what_may_pass_is_tried_again(answer: Answer, asked: int) -> None:
    error, requests, _ = ask(answer)
    assert error.code == "network"
    assert requests == asked


@pytest.mark.parametrize("verb", ["headers", "body"])
def test_a_note_says_once_that_a_server_is_silent(verb: str) -> None:
    def answer(connection: Connection, _: Received) -> bool:
        if verb == "body":
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        connection.sleep(0.6)
        if verb == "headers":
            return connection.reply("200 OK", b"hello")
        connection.send("hello")
        return True

    notes = Notes()
    with serving(answer) as server:
        wire = Wire(NetSettings(timeout=20), note_seconds=0.2)
        memo = Memo()
        context = a_context(progress=notes, once=lambda key, make: memo.once(key, make, lambda: None))
        for _ in range(2):
            call = Call(method="GET", url=f"{server.url}/x?signature=s3cr3t")
            assert Session(wire).send(call, context).read() == b"hello"
        wire.close()
        place = f"127.0.0.1:{server.port}"
    assert notes.said == [f"{place} has sent nothing for 0.2 seconds; after 20 it counts as failed"]


def test_a_short_timeout_needs_no_note() -> None:
    notes = Notes()
    with serving(silent) as server:
        wire = Wire(replace(PATIENCE, retries=0))
        with pytest.raises(NetworkError):
            Session(wire).send(Call(method="GET", url=server.url), a_context(progress=notes))
        wire.close()
    assert not notes.said


def test_each_try_its_host_and_the_waits_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "getmodules"), serving(lambda connection, _: connection.reset()) as server:
        wire = Wire(PATIENCE)
        url = f"{server.url}/x?signature=s3cr3t"
        with pytest.raises(NetworkError):
            Session(wire).send(Call(method="GET", url=url), a_context())
        wire.close()
        place = f"127.0.0.1:{server.port}"
    said = caplog.text
    assert [f"GET {place}/x, try {n} of 3" in said for n in (1, 2, 3)] == [True] * 3
    assert f"try 1 of 3 failed: waiting for the answer of {place}: connection reset by peer" in said
    assert said.count("seconds before the next try") == 2
    assert "s3cr3t" not in said


def test_each_server_has_one_note_in_an_operation() -> None:
    notes, memo = Notes(), Memo()
    context = a_context(progress=notes, once=lambda key, make: memo.once(key, make, lambda: None))
    for server in ("a:443", "b:443", "a:443"):
        tell_silence(context, server, 15, 30)
    assert [each.partition(" ")[0] for each in notes.said] == ["a:443", "b:443"]
