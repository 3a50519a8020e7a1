"""Answers whose framing is wrong."""

from __future__ import annotations

import gzip

import pytest

from tests.support.registryclient import Stocked, ask, get, talk


def raw(stocked: Stocked, name: str) -> tuple[list[str], bytes]:
    """The lines of the head, and everything behind it until the connection ended."""
    with stocked.registry.fault(name):
        head, _, body = talk(stocked.registry, get(stocked.blob)).partition(b"\r\n\r\n")
    return head.decode().split("\r\n"), body


def lengths(lines: list[str]) -> list[str]:
    return [line.partition(": ")[2] for line in lines if line.startswith("Content-Length")]


def test_truncated(stocked: Stocked) -> None:
    lines, body = raw(stocked, "truncated")
    assert lengths(lines) == [str(len(stocked.content))]
    assert body == stocked.content[: len(stocked.content) // 2]


def test_longer_than_announced(stocked: Stocked) -> None:
    lines, body = raw(stocked, "longer-than-announced")
    assert lengths(lines) == [str(len(stocked.content))]
    assert body.startswith(stocked.content)
    assert len(body) > len(stocked.content)


def test_without_length(stocked: Stocked) -> None:
    lines, body = raw(stocked, "without-length")
    assert (lengths(lines), "Connection: close" in lines) == ([], True)
    assert body == stocked.content[: len(stocked.content) // 2]


def test_two_lengths(stocked: Stocked) -> None:
    lines, body = raw(stocked, "two-lengths")
    assert lengths(lines) == [str(len(stocked.content)), str(len(stocked.content) // 2)]
    assert body == stocked.content


def test_negative_length(stocked: Stocked) -> None:
    assert lengths(raw(stocked, "negative-length")[0]) == ["-1"]


def test_length_and_chunks(stocked: Stocked) -> None:
    lines, body = raw(stocked, "length-and-chunks")
    assert len(lengths(lines)) == 1
    assert "Transfer-Encoding: chunked" in lines
    assert body == b"%x\r\n" % len(stocked.content) + stocked.content + b"\r\n0\r\n\r\n"


def test_bad_chunk(stocked: Stocked) -> None:
    lines, body = raw(stocked, "bad-chunk")
    assert "Transfer-Encoding: chunked" in lines
    assert b"\r\nzz\r\n" in body


def test_unfinished_chunks(stocked: Stocked) -> None:
    lines, body = raw(stocked, "unfinished-chunks")
    assert "Transfer-Encoding: chunked" in lines
    assert body == b"%x\r\n" % len(stocked.content) + stocked.content + b"\r\n"


def test_content_encodings(stocked: Stocked) -> None:
    with stocked.registry.fault("content-encoding"):
        reply = ask(stocked.registry, "GET", stocked.blob)
    assert (reply.header("Content-Encoding"), gzip.decompress(reply.body)) == ("gzip", stocked.content)
    with stocked.registry.fault("content-encoding-unknown"):
        reply = ask(stocked.registry, "GET", stocked.blob)
    assert (reply.header("Content-Encoding"), reply.body) == ("secret-sauce", stocked.content)


def test_an_unasked_206(stocked: Stocked) -> None:
    with stocked.registry.fault("unasked-206"):
        reply = ask(stocked.registry, "GET", stocked.blob)
    half = len(stocked.content) // 2
    assert (reply.status, reply.body) == (206, stocked.content[:half])
    assert reply.header("Content-Range") == f"bytes 0-{half - 1}/{len(stocked.content)}"


def bent(data: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in data)


@pytest.mark.parametrize(
    ("name", "status", "content_range"),
    [
        ("wrong-content-range", 206, "bytes 0-{shorter}/{rest}"),
        ("missing-content-range", 206, None),
        ("resume-of-other-content", 206, "bytes 10-{last}/{whole}"),
        ("range-ignored", 200, None),
        ("range-refused", 416, "bytes */0"),
    ],
)
def test_a_resume_that_goes_wrong(stocked: Stocked, name: str, status: int, content_range: str | None) -> None:
    whole = len(stocked.content)
    with stocked.registry.fault(name):
        reply = ask(stocked.registry, "GET", stocked.blob, headers={"Range": "bytes=10-"})
        assert ask(stocked.registry, "GET", stocked.blob).body == stocked.content
    numbers = {"last": whole - 1, "whole": whole, "rest": whole - 10, "shorter": whole - 11}
    assert (reply.status, reply.headers["Content-Range"]) == (status, content_range and content_range.format(**numbers))
    assert reply.body == {
        "resume-of-other-content": bent(stocked.content[10:]),
        "range-ignored": stocked.content,
        "range-refused": b"",
    }.get(name, stocked.content[10:])
