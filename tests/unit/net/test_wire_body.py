"""Bodies that are sent while they are read: as long as they say, and watched like those that come."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.api.http import Call, SizedBody
from getmodules.api.ports import Context
from getmodules.errors import FetchError, NetworkError
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.servers import serving

IMPATIENT = NetSettings(connect_seconds=0.2, timeout=0.3, rate_window_seconds=0.8, rate_window_bytes=100, retries=0)
DATA = bytes(range(256)) * 400


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return a_context(tmp_path)


def slowly() -> Iterator[bytes]:
    for at in range(0, len(DATA), 10_240):
        time.sleep(0.12)
        yield DATA[at : at + 10_240]


def test_a_long_upload_is_no_silence(context: Context) -> None:
    """The server has its time for an answer when it has the body; until then, bytes must move."""
    with serving(lambda connection, request: connection.reply("201 Created")) as server:
        call = Call(method="PUT", url=f"{server.url}/x", body=lambda: SizedBody(slowly(), len(DATA)))
        answer = ClientNetwork(IMPATIENT).session().send(call, context)
        answer.close()
    (received,) = server.received
    assert (answer.status, received.body) == (201, DATA)
    assert received.headers["Content-Length"] == str(len(DATA))
    assert "Transfer-Encoding" not in received.headers


def test_an_error_of_the_source_is_not_the_networks(context: Context) -> None:
    def broken() -> Iterator[bytes]:
        yield DATA
        raise FetchError("it changed", part="changed")

    with serving(lambda connection, request: connection.reply("201 Created")) as server:
        call = Call(method="PUT", url=f"{server.url}/x", body=lambda: SizedBody(broken(), 2 * len(DATA)))
        refusal(FetchError, "fetch/changed", ClientNetwork(IMPATIENT).session().send, call, context)


def test_an_upload_that_nobody_takes_is_ended(context: Context) -> None:
    ports: queue.Queue[int] = queue.Queue()
    stop = threading.Event()

    def takes_nothing() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ports.put(listener.getsockname()[1])
            client, _ = listener.accept()
            with client:
                stop.wait(20)

    server = threading.Thread(target=takes_nothing)
    server.start()
    try:
        started = time.monotonic()
        call = Call(
            method="PUT",
            url=f"http://127.0.0.1:{ports.get(timeout=5)}/x",
            body=lambda: SizedBody((bytes(1 << 20) for _ in range(64)), 64 << 20),
        )
        refusal(NetworkError, "network/timeout", ClientNetwork(IMPATIENT).session().send, call, context)
        assert time.monotonic() - started < 10
    finally:
        stop.set()
        server.join()


@pytest.mark.parametrize("size", [len(DATA) - 1, len(DATA) + 1, 0], ids=["too much", "too little", "nothing announced"])
def test_what_is_sent_is_as_long_as_was_announced(context: Context, size: int) -> None:
    """What is too much, a server would take for the next request of the same connection."""
    with serving(lambda connection, request: connection.reply("201 Created")) as server:
        call = Call(method="PUT", url=f"{server.url}/x", body=lambda: SizedBody([DATA], size))
        refusal(FetchError, "fetch/changed", ClientNetwork(IMPATIENT).session().send, call, context)
