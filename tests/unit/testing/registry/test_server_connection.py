"""The reading of requests and the writing of answers on the bare wire."""

from __future__ import annotations

import re
import socket
import time

import pytest

from getmodules.testing import Registry
from tests.support.registryclient import Client, ask, get, push_blob, sha, talk

CLOSE = b"Host: x\r\nConnection: close\r\n"


def statuses(received: bytes) -> list[bytes]:
    return re.findall(rb"HTTP/1\.1 (\d+) ", received)


def test_a_connection_is_used_again(registry: Registry) -> None:
    with Client(registry) as client:
        for _ in range(5):
            assert client.ask("GET", "/v2/").status == 200
            assert client.ask("GET", "/nowhere").status == 404
            assert client.ask("PUT", "/v2/A/manifests/x", b"x" * 100_000).status == 400
        assert len(registry.requests) == 15


@pytest.mark.parametrize(
    "request_line", [b"GET /v2/ HTTP/1.0\r\n\r\n", b"GET /v2/ HTTP/1.1\r\n" + CLOSE + b"\r\n"], ids=["1.0", "close"]
)
def test_a_connection_ends_where_the_client_says_so(registry: Registry, request_line: bytes) -> None:
    assert b"\r\nConnection: close\r\n" in talk(registry, request_line)


def test_requests_may_be_sent_ahead(registry: Registry) -> None:
    received = talk(registry, get("/v2/") * 3 + b"GET / HTTP/1.1\r\n" + CLOSE + b"\r\n")
    assert statuses(received) == [b"200", b"200", b"200", b"404"]


@pytest.mark.parametrize(
    "request_bytes",
    [b"nonsense\r\n\r\n", b"GET  /v2/ HTTP/1.1\r\n\r\n", b"get / HTTP/1.1\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n"],
)
def test_what_is_no_request_is_refused(registry: Registry, request_bytes: bytes) -> None:
    assert statuses(talk(registry, request_bytes)) == [b"400"]
    assert registry.requests == ()


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"GET /v2/ HTTP/1.1\r\n" + b"X: y\r\n" * 1000 + b"\r\n", id="many-headers"),
        pytest.param(b"GET /v2/ HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", id="long-header"),
        pytest.param(b"PUT /v2/a/manifests/x HTTP/1.1\r\nContent-Length: x\r\n\r\n", id="bad-length"),
        pytest.param(b"PUT /v2/a/manifests/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", id="bad-chunk"),
        pytest.param(b"PUT /v2/a/manifests/x HTTP/1.1\r\nContent-Length: 9\r\n\r\nx", id="short-body"),
    ],
)
def test_what_cannot_be_read_ends_the_connection_and_nothing_else(registry: Registry, request_bytes: bytes) -> None:
    host, _, port = registry.host.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        try:
            wire.sendall(request_bytes)
            wire.shutdown(socket.SHUT_WR)
            received = wire.recv(100)
        except TimeoutError:
            raise
        except OSError:
            received = b""  # it was gone before it had read everything
        assert received == b""
    assert ask(registry, "GET", "/v2/").status == 200


def test_a_chunked_body_is_read_with_its_trailers(registry: Registry) -> None:
    data = b"hello world"
    digest = sha(data)
    request = (
        f"POST /v2/a/blobs/uploads/?digest={digest} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        + b"5;extension=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n"
        + b"GET /v2/ HTTP/1.1\r\n"
        + CLOSE
        + b"\r\n"
    )
    assert statuses(talk(registry, request)) == [b"201", b"200"]
    assert ask(registry, "GET", f"/v2/a/blobs/{digest}").body == data


def test_a_body_is_asked_for_when_it_is_wanted(registry: Registry) -> None:
    data = b"data"
    host, _, port = registry.host.rpartition(":")
    head = f"POST /v2/a/blobs/uploads/?digest={sha(data)} HTTP/1.1\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        wire.sendall(f"{head}Expect: 100-continue\r\nContent-Length: 4\r\n\r\n".encode())
        assert wire.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(data)
        assert wire.recv(1000).startswith(b"HTTP/1.1 201 ")


def test_a_body_that_is_not_wanted_is_not_asked_for(registry: Registry) -> None:
    head = b"POST /v2/A/blobs/uploads/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    received = talk(registry, head)
    assert statuses(received) == [b"400"]
    assert b"\r\nConnection: close\r\n" in received


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, (1 << 20) + 1, 5 << 20])
def test_bodies_of_every_size(registry: Registry, size: int) -> None:
    data = b"x" * size
    digest = push_blob(registry, "a", data)
    assert ask(registry, "GET", f"/v2/a/blobs/{digest}").body == data


def test_a_small_answer_does_not_wait(registry: Registry) -> None:
    """Without TCP_NODELAY each of these would wait 40 ms for an acknowledgement."""
    digest = push_blob(registry, "a", b"x" * 1000)
    with Client(registry) as client:
        began = time.monotonic()
        for _ in range(50):
            client.ask("GET", f"/v2/a/blobs/{digest}")
        assert time.monotonic() - began < 1.5
