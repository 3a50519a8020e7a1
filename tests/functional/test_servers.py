"""The servers that answer tests: when they end, their threads end with them, and none of them raises."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress

import pytest

from tests.support.certificates import Authority
from tests.support.servers import Connection, Received, replying, serving

REQUEST = b"GET / HTTP/1.1\r\n\r\n"


def test_a_session_that_ends_while_its_thread_works_is_no_request(authority: Authority) -> None:
    """The thread still has its session when it looks at the connection again, and reads an end."""
    answered, ended, targets = threading.Event(), threading.Event(), list[str]()

    def answer(connection: Connection, request: Received) -> bool:
        targets.append(request.target)
        connection.reply("200 OK", b"x")
        answered.set()
        connection.stopping.wait()
        ended.wait(0.05)  # until the connection is shut down
        return True

    trusting = ssl.create_default_context(cafile=str(authority.ca))
    with (
        serving(answer, tls=authority.server_context()) as server,
        trusting.wrap_socket(
            socket.create_connection((server.host, server.port)), server_hostname="127.0.0.1"
        ) as client,
    ):
        client.sendall(REQUEST)
        assert answered.wait(20)
        assert client.recv(100)
        client.setblocking(False)
        with suppress(ssl.SSLError):
            client.unwrap()  # says that it is over, and does not wait for what the server says
        with suppress(OSError):
            client.shutdown(socket.SHUT_WR)
    assert targets == ["/"]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GE", id="half a line"),
        pytest.param(REQUEST[:-2], id="half of the headers"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell", id="half a body"),
    ],
)
def test_what_comes_in_half_is_no_request(said: bytes) -> None:
    with serving(replying("200 OK")) as server:
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(said)
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""
        assert server.received == []


def test_a_handshake_that_never_comes_holds_nobody_up(authority: Authority) -> None:
    with socket.socket() as client:
        with serving(replying("200 OK"), tls=authority.server_context()) as server:
            client.connect((server.host, server.port))
            while not server.connections:
                threading.Event().wait(0.01)
        assert client.recv(1) == b""
