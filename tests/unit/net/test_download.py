"""Bodies that are interrupted, and go on with exactly what is missing."""

from __future__ import annotations

import gc
import threading
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

import pytest

from getmodules.api.http import Call
from getmodules.api.limits import Deadline
from getmodules.errors import GetModulesError
from getmodules.net.download import Download
from getmodules.net.session import Session
from getmodules.net.wire import Wire
from tests.support.contexts import QUICK, a_context
from tests.support.servers import Answer, Connection, Received, serving

BODY = bytes(range(256)) * 400
HALF = len(BODY) // 2


class Flaky:
    """Cuts the first ``cuts`` answers in the middle; resumes, starts over or lies as it is told."""

    def __init__(
        self,
        *,
        cuts: int = 1,
        mode: str = "range",
        tag: str | None = '"v1"',
        body: bytes = BODY,
        step: int | None = None,
    ) -> None:
        self._cuts = cuts
        self._mode = mode
        self._tag = tag
        self._body = body
        #: How much it sends before it cuts; without it, half of what is left.
        self._step = step
        self.ranges: list[tuple[str | None, str | None]] = []

    def __call__(self, connection: Connection, request: Received) -> bool:
        asked = request.headers.get("Range")
        self.ranges.append((asked, request.headers.get("If-Range")))
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        body, status, extra = (
            self._body[start:],
            "206 Partial Content",
            f"Content-Range: bytes {start}-{len(self._body) - 1}/{len(self._body)}\r\n",
        )
        if not asked or self._mode == "restart":
            body, status, extra = self._body, "200 OK", ""
        elif self._mode == "changed":
            body, status, extra = b"x" + self._body[1:], "200 OK", ""
        elif self._mode == "other tag":
            body, status, extra = self._body, "200 OK", ""
            self._tag = '"v2"'
        elif self._mode == "other size":
            body, status, extra = self._body + b"x", "200 OK", ""
        elif self._mode == "other range":
            extra = f"Content-Range: bytes {start + 1}-{len(self._body) - 1}/{len(self._body)}\r\n"
        elif self._mode == "no range":
            extra = ""
        tag = f"ETag: {self._tag}\r\n" if self._tag else ""
        connection.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{tag}{extra}\r\n")
        if len(self.ranges) <= self._cuts:
            connection.send(body[: self._step or len(body) // 2])
            return False
        connection.send(body)
        return True


def download(answer: Answer, *, immutable: bool = False) -> bytes:
    with serving(answer) as server:
        wire = Wire(QUICK)
        session = Session(wire)

        def send(headers: Mapping[str, str], retries: int | None) -> object:
            return session.send(
                Call(method="GET", url=f"{server.url}/x", headers=headers, retries=retries), a_context()
            )

        try:
            return b"".join(Download(send, session, a_context(), immutable=immutable))  # type: ignore[arg-type]
        finally:
            wire.close()


def test_what_is_missing_is_asked_for() -> None:
    server = Flaky(cuts=3)
    assert download(server) == BODY
    assert server.ranges[0] == (None, None)
    assert server.ranges[1] == (f"bytes={HALF}-", '"v1"')
    assert len(server.ranges) == 4


def test_a_body_that_starts_over_is_compared_and_not_appended() -> None:
    assert download(Flaky(mode="restart")) == BODY


@pytest.mark.parametrize("mode", ["changed", "other tag", "other size", "other range", "no range"])
def test_another_body_is_refused(mode: str) -> None:
    with pytest.raises(GetModulesError) as caught:
        download(Flaky(mode=mode))
    assert caught.value.code == "network"


def test_a_body_that_starts_over_and_ends_before_where_it_was_cut_is_refused() -> None:
    """Without a length nothing else says that it is another one."""
    cut = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: "v"\r\n\r\n'
    answers = iter([f"{cut}5\r\nhello\r\n", f"{cut}2\r\nhe\r\n0\r\n\r\n"])

    def answer(connection: Connection, _: Received) -> bool:
        connection.send(next(answers, "HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n"))
        return False

    with pytest.raises(GetModulesError) as caught:
        download(answer)
    assert caught.value.code == "not-found"  # tried once more, since it might have been the line


@pytest.mark.parametrize("tag", [None, 'W/"weak"'])
def test_without_a_strong_validator_it_starts_over(tag: str | None) -> None:
    server = Flaky(tag=tag, cuts=2)
    assert download(server) == BODY
    assert server.ranges == [(None, None)] * 3


def moment(seconds: int) -> str:
    return formatdate(1_700_000_000 + seconds, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        pytest.param({"Last_Modified": moment(0), "Date": moment(1)}, True, id="a second before"),
        pytest.param({"Last_Modified": moment(0), "Date": moment(0)}, False, id="in the same second"),
        pytest.param({"Last_Modified": moment(9), "Date": moment(0)}, False, id="later"),
        pytest.param({"Last_Modified": moment(0)}, False, id="no date to compare"),
        pytest.param({"Last_Modified": "yesterday", "Date": moment(1)}, False, id="no date"),
    ],
)
def test_a_date_names_a_body_that_could_not_change_again_in_the_same_second(
    headers: dict[str, str], named: bool
) -> None:
    asked: list[tuple[str | None, str | None]] = []

    def answer(connection: Connection, request: Received) -> bool:
        asked.append((request.headers.get("Range"), request.headers.get("If-Range")))
        if len(asked) > 1:
            return connection.reply("200 OK", b"0123456789", **headers)
        connection.reply("200 OK", b"01234", **{"Content_Length": "10", **headers})
        return False

    assert download(answer) == b"0123456789"
    assert asked[1] == (("bytes=5-", headers["Last_Modified"]) if named else (None, None))


def test_a_body_that_had_no_name_at_first_is_the_same_when_it_has_one() -> None:
    """As a file that was put there in the second in which it was asked for."""
    dates = iter([moment(0), moment(1)])

    def answer(connection: Connection, _: Received) -> bool:
        date = next(dates)
        body = b"01234" if date == moment(0) else b"0123456789"
        connection.reply("200 OK", body, Content_Length="10", Last_Modified=moment(0), Date=date)
        return len(body) == 10

    assert download(answer) == b"0123456789"


def replaced(position: int) -> Answer:
    """A file of three mebibytes, of which another version with one other byte is there from the second request on."""
    first = bytes(3 << 20)
    second = first[:position] + b"x" + first[position + 1 :]
    requests: list[Received] = []

    def answer(connection: Connection, request: Received) -> bool:
        requests.append(request)
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(first)}\r\n\r\n")
        if len(requests) > 1:
            connection.send(second)
            return True
        connection.send(first[: 2 << 20])
        return False

    return answer


def test_of_two_bodies_nothing_is_made() -> None:
    """All that came before is compared; what follows it is of one answer, with its beginning."""
    with pytest.raises(GetModulesError) as caught:
        download(replaced((2 << 20) - 1))
    assert (caught.value.code, "changed" in caught.value.message) == ("network", True)
    assert download(replaced(2 << 20))[2 << 20 :].startswith(b"x")


def test_starting_over_is_not_done_for_ever() -> None:
    """Each time everything is sent again, so that going on is no reason to try more often."""
    large = bytes(range(256)) * (6 << 12)
    server = Flaky(cuts=10, body=large, tag=None)
    with pytest.raises(GetModulesError) as caught:
        download(server)
    assert caught.value.code == "network"
    assert len(server.ranges) == QUICK.retries + 1


def test_what_is_immutable_needs_no_validator() -> None:
    server = Flaky(tag=None)
    assert download(server, immutable=True) == BODY
    assert server.ranges[1] == (f"bytes={HALF}-", None)


def test_tries_that_bring_nothing_are_counted() -> None:
    requests: list[str] = []

    def stuck(connection: Connection, request: Received) -> bool:
        requests.append(request.line)
        connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: "v"\r\n\r\n')
        return connection.reset()

    with pytest.raises(GetModulesError) as caught:
        download(stuck)
    assert caught.value.code == "network"
    assert len(requests) == QUICK.retries + 1


def test_a_server_that_brings_byte_for_byte_is_not_asked_for_each() -> None:
    server = Flaky(cuts=1_000, step=1)
    with pytest.raises(GetModulesError) as caught:
        download(server)
    assert caught.value.code == "network"
    assert len(server.ranges) == QUICK.retries + 1


def test_a_body_that_moves_on_is_asked_for_until_it_is_here() -> None:
    large = bytes(range(256)) * (6 << 12)
    server = Flaky(cuts=10, body=large, step=(1 << 20) + 1)
    assert download(server) == large
    assert len(server.ranges) > QUICK.retries + 1


def cut_then(then: Answer) -> tuple[Answer, list[str]]:
    """An answer that is cut in the middle, and what the server says to the next requests."""
    requests: list[str] = []

    def answer(connection: Connection, request: Received) -> bool | None:
        requests.append(request.line)
        if len(requests) > 1:
            return then(connection, request)
        connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: "v"\r\n\r\nhalf')
        return False

    return answer, requests


@pytest.mark.parametrize(
    ("then", "code", "requests"),
    [
        pytest.param(lambda connection, _: connection.reply("204 No Content"), "network", 1 + 1, id="204"),
        pytest.param(lambda connection, _: connection.reply("416 No"), "network", 1 + 1, id="416"),
        pytest.param(lambda connection, _: connection.reply("404 No"), "not-found", 1 + 1, id="gone"),
        pytest.param(lambda connection, _: connection.reply("503 No"), "network", 1 + 3, id="503 for ever"),
        pytest.param(lambda connection, _: connection.reset(), "network", 1 + 3, id="resets for ever"),
    ],
)
def test_a_body_that_cannot_be_taken_up_again(then: Answer, code: str, requests: int) -> None:
    """The session's tries are counted together with the download's, and what cannot change is asked once."""
    answer, seen = cut_then(then)
    with pytest.raises(GetModulesError) as caught:
        download(answer)
    assert caught.value.code == code
    assert len(seen) == requests


@pytest.mark.parametrize("end", ["deadline", "cancelled"])
def test_nothing_is_taken_up_again_when_the_operation_is_over(end: str) -> None:
    cancelled = threading.Event()
    sent: list[Mapping[str, str]] = []
    with serving(cut_then(lambda connection, _: connection.reply("200 OK"))[0]) as server:
        wire = Wire(QUICK)
        context = a_context(cancelled=cancelled, deadline=Deadline.after(60))
        late = a_context(deadline=Deadline.after(-1)) if end == "deadline" else context

        def send(headers: Mapping[str, str], _: int | None) -> Any:
            sent.append(headers)
            return Session(wire).send(Call(method="GET", url=server.url, headers=headers), context)

        def receive() -> None:
            for _ in Download(send, Session(wire), late):
                if end == "cancelled":
                    cancelled.set()

        with pytest.raises(GetModulesError):
            receive()
        wire.close()
    assert len(sent) == 1


def test_a_download_that_is_closed_early_leaves_no_connection() -> None:
    """A socket that the garbage collector finds open is a ResourceWarning, which is an error here."""
    with serving(lambda connection, _: connection.reply("200 OK", BODY)) as server:
        wire = Wire(QUICK)

        def send(headers: Mapping[str, str], _: int | None) -> Any:
            return Session(wire).send(Call(method="GET", url=server.url, headers=headers), a_context())

        body = Download(send, Session(wire), a_context())
        body.close()
        pieces = iter(body)
        assert BODY.startswith(next(pieces))
        body.close()
        del pieces
        wire.close()
        gc.collect()
