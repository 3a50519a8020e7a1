"""One exchange, against servers that do everything wrong that a server can do."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from getmodules.api.limits import Deadline
from getmodules.errors import GetModulesError
from getmodules.net import watch
from getmodules.net.wire import Wire
from tests.support.contexts import QUICK, a_context
from tests.support.servers import Answer, Connection, Received, serving, silent
from tests.support.waiting import wait_until

BODY = b"x" * 5000


def fetch(answer: Answer, **more: Any) -> bytes:
    with serving(answer) as server:
        wire = Wire(QUICK)
        try:
            return b"".join(wire.exchange("GET", f"{server.url}/x", a_context(**more)).pieces())
        finally:
            wire.close()


def test_a_body_comes_as_it_is() -> None:
    assert fetch(lambda connection, _: connection.reply("200 OK", BODY)) == BODY


def test_a_chunked_body_comes_without_its_chunks() -> None:
    def answer(connection: Connection, _: Received) -> bool:
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
        return True

    assert fetch(answer) == b"hello world"


def test_requests_adds_nothing_behind_our_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("default login u password p")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    def answer(connection: Connection, _: Received) -> bool:
        return connection.reply("200 OK", b"", Set_Cookie="a=b")

    with serving(answer) as server:
        wire = Wire(QUICK)
        for _ in range(2):
            wire.exchange("GET", f"{server.url}/x", a_context()).read()
        wire.close()
    for request in server.received:
        assert set(request.headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"} - (
            set() if "Connection" in request.headers else {"Connection"}
        )
        assert request.headers["Accept-Encoding"] == "identity"
    assert server.connections == 1, "the connection is kept"


def raw(text: str, then: str = "") -> Answer:
    """An answer given byte for byte."""

    def answer(connection: Connection, _: Received) -> bool:
        connection.send(text)
        if then:
            connection.send(then)
        return False

    return answer


def slow_headers(connection: Connection, _: Received) -> bool:
    for character in "HTTP/1.1 200 OK\r\n" + "X-Padding: y\r\n" * 1000:
        connection.send(character)
        connection.sleep(0.05)
    return False


def slow_body(connection: Connection, _: Received) -> bool:
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
    for _ in range(5000):
        connection.send("x")
        connection.sleep(0.05)
    return False


def endless_continue(connection: Connection, _: Received) -> bool:
    while not connection.stopping.is_set():
        connection.send("HTTP/1.1 100 Continue\r\n\r\n")
        connection.sleep(0.02)
    return False


def reset_in_headers(connection: Connection, _: Received) -> bool:
    connection.send("HTTP/1.1 200 OK\r\nContent-")
    return connection.reset()


def reset_in_body(connection: Connection, _: Received) -> bool:
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nxxx")
    connection.sleep(0.1)
    return connection.reset()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), "network", id="truncated"),
        pytest.param(
            raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), "network", id="two lengths"
        ),
        pytest.param(
            raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nxx"), "network", id="twice the same"
        ),
        pytest.param(
            raw("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
            "network",
            id="length and chunks",
        ),
        pytest.param(raw("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"), "network", id="negative length"),
        pytest.param(raw("HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\nx"), "network", id="odd length"),
        pytest.param(
            raw(f"HTTP/1.1 200 OK\r\nContent-Length: {'1' * 5_000}\r\n\r\nx"), "network", id="more digits than are read"
        ),
        pytest.param(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), "network", id="transferred"),
        pytest.param(
            raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "network",
            id="chunked twice",
        ),
        pytest.param(
            raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n"), "network", id="bad chunk size"
        ),
        pytest.param(
            raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"), "network", id="cut in a chunk"
        ),
        pytest.param(
            raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"), "network", id="gzip"
        ),
        pytest.param(raw("HTTP/1.1 200 OK\r\n" + "X: y\r\n" * 200 + "\r\n"), "network", id="header flood"),
        pytest.param(raw("HTTP/1.1 200 OK\r\nX: " + "y" * 70_000 + "\r\n\r\n"), "network", id="endless header"),
        pytest.param(raw("SSH-2.0-OpenSSH_9\r\n"), "network", id="another protocol"),
        pytest.param(raw(""), "network", id="nothing at all"),
        pytest.param(reset_in_headers, "network", id="reset in the headers"),
        pytest.param(reset_in_body, "network", id="reset in the body"),
        pytest.param(silent, "network/timeout", id="silent", marks=pytest.mark.slow),
        pytest.param(slow_headers, "network/timeout", id="slow headers", marks=pytest.mark.slow),
        pytest.param(slow_body, "network/timeout", id="slow body", marks=pytest.mark.slow),
        pytest.param(endless_continue, "network/timeout", id="endless 100 Continue", marks=pytest.mark.slow),
    ],
)
def test_answers_that_are_refused_in_bounded_time(answer: Answer, code: str) -> None:
    began = time.monotonic()
    with pytest.raises(GetModulesError) as caught:
        fetch(answer)
    assert caught.value.code == code
    assert time.monotonic() - began < 15


def test_the_deadline_of_the_operation_ends_an_exchange_that_is_fast_enough() -> None:
    def endless(connection: Connection, _: Received) -> bool:
        connection.send("HTTP/1.1 200 OK\r\n\r\n")
        while not connection.stopping.is_set():
            connection.send(BODY)
            connection.sleep(0.01)
        return False

    with pytest.raises(GetModulesError) as caught:
        fetch(endless, deadline=Deadline.after(1))
    assert caught.value.code == "network/timeout"


def test_cancelling_ends_a_read_that_waits() -> None:
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    began = time.monotonic()
    with pytest.raises(GetModulesError) as caught:
        fetch(silent, cancelled=cancelled)
    assert caught.value.code == "install/cancelled"
    assert time.monotonic() - began < 1.4


def test_a_consumer_that_takes_its_time_is_no_slow_server() -> None:
    body = b"x" * (3 << 20)
    with serving(lambda connection, _: connection.reply("200 OK", body)) as server:
        wire = Wire(QUICK)
        received = 0
        for piece in wire.exchange("GET", f"{server.url}/x", a_context()).pieces():
            if not received:
                time.sleep(1.6)
            received += len(piece)
        wire.close()
    assert received == len(body)


def test_a_small_body_that_is_too_large() -> None:
    with serving(lambda connection, _: connection.reply("200 OK", BODY)) as server:
        wire = Wire(QUICK)
        with pytest.raises(GetModulesError) as caught:
            wire.exchange("GET", f"{server.url}/x", a_context()).read(100)
        wire.close()
    assert caught.value.code == "limit-exceeded/metadata"


def test_nobody_there() -> None:
    with serving(silent) as server:
        port = server.port
    wire = Wire(QUICK)
    with pytest.raises(GetModulesError) as caught:
        wire.exchange("GET", f"http://127.0.0.1:{port}/", a_context())
    wire.close()
    assert caught.value.code == "network"
    assert "refused" in caught.value.message


def test_an_address_is_checked_before_it_is_connected_to() -> None:
    asked: list[str] = []

    def refuse(address: str) -> None:
        asked.append(address)
        raise GetModulesError("not there")

    with serving(silent) as server:
        wire = Wire(QUICK)
        with pytest.raises(GetModulesError, match="not there"):
            wire.exchange("GET", f"http://localhost:{server.port}/", a_context(), check_address=refuse)
        wire.close()
    assert asked[0] in ("127.0.0.1", "::1")
    assert server.connections == 0


def test_no_thread_and_no_socket_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_IDLE_SECONDS", 0.1)
    fetch(lambda connection, _: connection.reply("200 OK", BODY))
    wait_until(lambda: all(thread.name != "getmodules-guardian" for thread in threading.enumerate()))


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        pytest.param("302 Found", {"Location": "/x"}, id="302"),
        pytest.param("204 No Content", {}, id="204"),
        pytest.param("304 Not Modified", {"Content_Length": "7"}, id="304 with the length of what it is about"),
        pytest.param("200 OK", {}, id="empty"),
    ],
)
def test_an_answer_without_a_body_leaves_its_connection_to_the_next_one(status: str, headers: dict[str, str]) -> None:
    with serving(lambda connection, _: connection.reply(status, b"", **headers)) as server:
        wire = Wire(QUICK)
        for _ in range(3):
            wire.exchange("GET", f"{server.url}/x", a_context()).close()
        wire.close()
        assert server.connections == 1
