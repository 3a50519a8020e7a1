"""Connections that break, hang, drip or flood: once with ``times=1``, and again and again without it."""

from __future__ import annotations

from itertools import count

from getmodules.testing.faults.fault import fault, reads
from getmodules.testing.registry.server import Exchange

_READS = reads("manifest", "blob", "tags", "referrers", "token", "ping")
_DRIP_SECONDS = 1.0


def _halves(exchange: Exchange) -> tuple[bytes, bytes, bytes]:
    """Return the head of the right answer and its body in two parts, the first of them not empty if the body is not."""
    answer = exchange.answer()
    exchange.finish_request()
    data = answer.body.read()
    middle = (len(data) + 1) // 2
    return answer.head(), data[:middle], data[middle:]


# --------------------------------------------------------------------------------------------- breaking


@fault("reset-before-headers")
def reset_before_headers(exchange: Exchange) -> None:
    """The connection is reset when the request has been read."""
    exchange.finish_request()
    exchange.wire.reset()


@fault("close-before-headers")
def close_before_headers(exchange: Exchange) -> None:
    """The connection is closed in the ordinary way when the request has been read."""
    exchange.finish_request()
    exchange.end()


@fault("reset-in-headers", _READS)
def reset_in_headers(exchange: Exchange) -> None:
    """The connection is reset in the middle of the headers."""
    head, _, _ = _halves(exchange)
    exchange.wire.send(head[: len(head) // 2])
    exchange.wire.reset()


@fault("reset-in-body", reads("manifest", "blob"))
def reset_in_body(exchange: Exchange) -> None:
    """The connection is reset after half of the body."""
    head, first, _ = _halves(exchange)
    exchange.wire.send(head + first)
    exchange.wire.reset()


# --------------------------------------------------------------------------------------------- hanging


@fault("silent")
def silent(exchange: Exchange) -> None:
    """Nothing is answered, and the connection stays open."""
    exchange.finish_request()
    exchange.wire.pause()


@fault("silent-in-body", reads("manifest", "blob"))
def silent_in_body(exchange: Exchange) -> None:
    """Half of the body is sent, and then nothing; the connection stays open."""
    head, first, _ = _halves(exchange)
    exchange.wire.send(head + first)
    exchange.wire.pause()


@fault("slow-headers", _READS)
def slow_headers(exchange: Exchange) -> None:
    """One byte of the headers a second."""
    head, first, second = _halves(exchange)
    _drip(exchange, head)
    exchange.wire.send(first + second)


@fault("slow-body", reads("manifest", "blob"))
def slow_body(exchange: Exchange) -> None:
    """One byte of the body a second."""
    head, first, second = _halves(exchange)
    exchange.wire.send(head)
    _drip(exchange, first + second)


def _drip(exchange: Exchange, data: bytes) -> None:
    for byte in data:
        exchange.wire.send(bytes((byte,)))
        exchange.wire.pause(_DRIP_SECONDS)


# --------------------------------------------------------------------------------------------- flooding


@fault("endless-continue", _READS)
def endless_continue(exchange: Exchange) -> None:
    """``100 Continue`` again and again."""
    exchange.finish_request()
    while True:
        exchange.wire.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        exchange.wire.pause(0.01)


@fault("header-flood", _READS)
def header_flood(exchange: Exchange) -> None:
    """Headers without end."""
    exchange.finish_request()
    exchange.wire.send(b"HTTP/1.1 200 OK\r\n")
    for number in count():
        exchange.wire.send(b"X-Flood-%d: %b\r\n" % (number, b"x" * 1000))


@fault("long-header", _READS)
def long_header(exchange: Exchange) -> None:
    """One header of eight megabytes."""
    exchange.send(exchange.answer().with_header("X-Long", "x" * (8 << 20)))


@fault("endless-body", reads("blob"))
def endless_body(exchange: Exchange) -> None:
    """A blob that never ends, in chunks."""
    answer = exchange.answer()
    exchange.finish_request()
    lines = [f"HTTP/1.1 {answer.status} OK", "Transfer-Encoding: chunked"]
    exchange.wire.send("\r\n".join((*lines, "", "")).encode())
    while True:
        exchange.wire.send(b"10000\r\n" + bytes(0x10000) + b"\r\n")


@fault("not-http", _READS)
def not_http(exchange: Exchange) -> None:
    """An answer of another protocol altogether."""
    exchange.finish_request()
    exchange.wire.send(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    exchange.end()
