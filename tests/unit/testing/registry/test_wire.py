"""Answers, bodies and requests as values."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from getmodules.testing.registry.wire import PIECE, Answer, Body, Request


def request(target: str, body: bytes = b"", **headers: str) -> Request:
    return Request("GET", target, {name.replace("_", "-"): value for name, value in headers.items()}, io.BytesIO(body))


@pytest.mark.parametrize(("start", "stop"), [(0, 10), (0, 0), (3, 7), (0, PIECE + 5), (PIECE - 1, PIECE + 1)])
def test_a_body_is_the_same_bytes_from_memory_and_from_a_file(tmp_path: Path, start: int, stop: int) -> None:
    data = bytes(range(256)) * (PIECE // 256 + 1)
    path = tmp_path / "blob"
    path.write_bytes(data)
    for body in (Body.of(data, start, stop), Body.of_file(path, start, stop)):
        assert (body.length, body.read(), body.read()) == (stop - start, data[start:stop], data[start:stop])


@pytest.mark.parametrize(
    ("answer", "head"),
    [
        pytest.param(Answer(200), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", id="empty"),
        pytest.param(
            Answer(201, (("A", "b"), ("A", "c")), Body.of(b"xy")),
            b"HTTP/1.1 201 Created\r\nA: b\r\nA: c\r\nContent-Length: 2\r\n\r\n",
            id="headers-in-order",
        ),
        pytest.param(Answer(204), b"HTTP/1.1 204 No Content\r\n\r\n", id="204"),
        pytest.param(Answer(304), b"HTTP/1.1 304 Not Modified\r\n\r\n", id="304"),
        pytest.param(
            Answer(200, (("content-length", "9"),)), b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", id="own-length"
        ),
        pytest.param(Answer(599), b"HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n", id="unknown-status"),
    ],
)
def test_the_head_of_an_answer(answer: Answer, head: bytes) -> None:
    assert answer.head() == head


def test_a_header_is_replaced_and_taken_away_whatever_its_case() -> None:
    answer = Answer(200, (("ETag", "a"), ("X", "y"))).with_header("etag", "b")
    assert answer.headers == (("X", "y"), ("etag", "b"))
    assert answer.header("ETAG") == "b"
    assert answer.with_header("ETag", None).headers == (("X", "y"),)


def test_a_request_knows_its_path_and_its_arguments() -> None:
    found = request("/v2/a%2Fb/blobs/?x=1&y=&x=2%20", X_Token="t")
    assert found.path == "/v2/a/b/blobs/"
    assert dict(found.query) == {"x": ("1", "2 "), "y": ("",)}
    assert (found.argument("x"), found.argument("y"), found.argument("z")) == ("1", "", None)
    assert (found.header("x-TOKEN"), found.header("other")) == ("t", None)


@pytest.mark.parametrize(
    ("length", "limit", "whole"), [(10, 10, True), (11, 10, False), (0, 0, True), (PIECE * 2, PIECE * 2, True)]
)
def test_a_body_is_read_up_to_a_limit(length: int, limit: int, whole: bool) -> None:
    data = b"x" * length
    assert request("/", data).read_all(limit) == (data if whole else None)
