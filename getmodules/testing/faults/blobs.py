"""Blobs that are not what their digest says."""

from __future__ import annotations

from getmodules.testing.faults.fault import fault, reads
from getmodules.testing.registry.server import Exchange
from getmodules.testing.registry.wire import blob_unknown

_BLOB = reads("blob")


@fault("wrong-blob", _BLOB)
def wrong(exchange: Exchange) -> None:
    """A blob of the right length with one bit flipped."""
    answer = exchange.answer()
    data = bytearray(answer.body.read())
    if data:
        data[len(data) // 2] ^= 1
    exchange.send(answer.with_body(bytes(data)))


@fault("short-blob", _BLOB)
def short(exchange: Exchange) -> None:
    """A blob without its last byte; the length of the answer agrees with what is sent."""
    answer = exchange.answer()
    exchange.send(answer.with_body(answer.body.read()[:-1]))


@fault("long-blob", _BLOB)
def long(exchange: Exchange) -> None:
    """A blob with one more byte at its end; the length of the answer agrees with what is sent."""
    answer = exchange.answer()
    exchange.send(answer.with_body(answer.body.read() + b"\0"))


@fault("empty-blob", _BLOB)
def empty(exchange: Exchange) -> None:
    """A blob with nothing in it."""
    exchange.send(exchange.answer().with_body(b""))


@fault("missing-blob", _BLOB)
def missing(exchange: Exchange) -> None:
    """404 for every blob, although the manifest names it."""
    exchange.send(blob_unknown(exchange.route.reference).answer())


@fault("other-blob", _BLOB)
def other(exchange: Exchange) -> None:
    """A well-formed body of another content altogether, under headers that claim the digest that was asked for."""
    exchange.send(exchange.answer().with_body(b"this is not the blob that was asked for\n"))
