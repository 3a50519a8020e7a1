"""Answers whose framing is wrong: lengths, chunks, ranges and encodings that contradict each other."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from getmodules.testing.faults.fault import fault, reads
from getmodules.testing.registry.server import Exchange
from getmodules.testing.registry.wire import Answer

_CONTENT = reads("manifest", "blob")
_BLOB = reads("blob")


def _is_resume(exchange: Exchange) -> bool:
    return _BLOB(exchange) and exchange.request.header("Range") is not None


def _raw(
    exchange: Exchange, framing: Callable[[bytes], tuple[tuple[str, str], ...]], body: Callable[[bytes], bytes]
) -> None:
    """Send status and headers of the right answer, but another length and body; then close the connection."""
    answer = exchange.answer()
    data = answer.body.read()
    exchange.finish_request()
    lines = [f"HTTP/1.1 {answer.status} OK"]
    lines += [f"{name}: {value}" for name, value in (*answer.headers, *framing(data))]
    exchange.wire.send("\r\n".join((*lines, "", "")).encode() + body(data))
    exchange.end()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@fault("truncated", _CONTENT)
def truncated(exchange: Exchange) -> None:
    """The connection is closed in the ordinary way after half of the announced body."""
    _raw(exchange, lambda data: (("Content-Length", str(len(data))),), lambda data: data[: len(data) // 2])


@fault("longer-than-announced", _CONTENT)
def longer(exchange: Exchange) -> None:
    """More bytes follow than ``Content-Length`` announces."""
    _raw(exchange, lambda data: (("Content-Length", str(len(data))),), lambda data: data + b"more than announced")


@fault("without-length", _CONTENT)
def without_length(exchange: Exchange) -> None:
    """Neither a length nor chunks: the body ends with the connection; half of it is sent."""
    _raw(exchange, lambda data: (("Connection", "close"),), lambda data: data[: len(data) // 2])


@fault("two-lengths", _CONTENT)
def two_lengths(exchange: Exchange) -> None:
    """Two ``Content-Length`` that differ."""
    _raw(
        exchange,
        lambda data: (("Content-Length", str(len(data))), ("Content-Length", str(len(data) // 2))),
        lambda data: data,
    )


@fault("negative-length", _CONTENT)
def negative_length(exchange: Exchange) -> None:
    """A ``Content-Length`` of -1."""
    _raw(exchange, lambda data: (("Content-Length", "-1"),), lambda data: data)


@fault("length-and-chunks", _CONTENT)
def length_and_chunks(exchange: Exchange) -> None:
    """``Content-Length`` and ``Transfer-Encoding: chunked`` at once; the body is chunked and whole."""
    _raw(
        exchange,
        lambda data: (("Content-Length", str(len(data) // 2)), ("Transfer-Encoding", "chunked")),
        lambda data: _chunk(data) + b"0\r\n\r\n",
    )


@fault("bad-chunk", _CONTENT)
def bad_chunk(exchange: Exchange) -> None:
    """A chunk whose length is no number."""
    _raw(
        exchange,
        lambda data: (("Transfer-Encoding", "chunked"),),
        lambda data: _chunk(data[: len(data) // 2]) + b"zz\r\n" + data[len(data) // 2 :],
    )


@fault("unfinished-chunks", _CONTENT)
def unfinished_chunks(exchange: Exchange) -> None:
    """Chunks without the last, empty one: all bytes are there, the end is not."""
    _raw(exchange, lambda data: (("Transfer-Encoding", "chunked"),), _chunk)


@fault("content-encoding", _CONTENT)
def content_encoding(exchange: Exchange) -> None:
    """The body is gzipped and says so, although nobody asked for it."""
    answer = exchange.answer()
    packed = gzip.compress(answer.body.read())
    exchange.send(answer.with_body(packed).with_header("Content-Encoding", "gzip"))


@fault("content-encoding-unknown", _CONTENT)
def content_encoding_unknown(exchange: Exchange) -> None:
    """The body is as it should be and says that it is encoded in a way that nobody knows."""
    exchange.send(exchange.answer().with_header("Content-Encoding", "secret-sauce"))


# --------------------------------------------------------------------------------------------- ranges


def _partial(answer: Answer, data: bytes, start: int, total: int) -> Answer:
    content_range = f"bytes {start}-{start + len(data) - 1}/{total}"
    partial = Answer(206, answer.headers).with_body(data)
    return partial.with_header("Content-Range", content_range)


@fault("unasked-206", _BLOB)
def unasked_partial(exchange: Exchange) -> None:
    """206 with the first half of a blob, to a request without ``Range``."""
    answer = exchange.answer()
    data = answer.body.read()
    exchange.send(_partial(answer, data[: len(data) // 2], 0, len(data)))


@fault("wrong-content-range", _is_resume)
def wrong_content_range(exchange: Exchange) -> None:
    """206 to a resume with the bytes from the beginning, and a ``Content-Range`` that says so."""
    answer = exchange.answer()
    data = answer.body.read()
    exchange.send(_partial(answer, data, 0, len(data)))


@fault("missing-content-range", _is_resume)
def missing_content_range(exchange: Exchange) -> None:
    """206 to a resume without a ``Content-Range``."""
    exchange.send(exchange.answer().with_header("Content-Range", None))


@fault("resume-of-other-content", _is_resume)
def resume_of_other_content(exchange: Exchange) -> None:
    """206 to a resume although the content has changed: ``If-Range`` is ignored, the bytes are another blob's."""
    answer = exchange.answer()
    other = bytes(byte ^ 0xFF for byte in answer.body.read())
    exchange.send(answer.with_body(other).with_header("ETag", '"changed"'))


@fault("range-ignored", _is_resume)
def range_ignored(exchange: Exchange) -> None:
    """200 with the whole blob to a resume, as servers without ranges do; not wrong."""
    exchange.send(exchange.whole_answer())


@fault("range-refused", _is_resume)
def range_refused(exchange: Exchange) -> None:
    """416 to a resume that could be satisfied."""
    exchange.send(Answer(416, (("Content-Range", "bytes */0"),)))
