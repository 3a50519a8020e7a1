"""Decompress gzip, bzip2, xz, zstd and raw deflate, through one interface and with bounded memory.

A whole compressed file may consist of several members (that is what pigz, pbzip2, pzstd and ``cat`` make);
every one of them is read to its end, where its checksum is compared. What follows the last one is refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, Protocol

from getmodules.archive.source import corrupt, unexpected_format
from getmodules.errors import ContentError, LimitExceededError
from getmodules.util.values import valueclass

#: Output of one member of an archive comes in pieces of at most this size,
PIECE_BYTES = 256 << 10
#: and that of a whole compressed file of this one: a second thread makes it, and waits for the interpreter after each.
STREAM_PIECE_BYTES = 2 << 20
#: xz -9 needs 65 MiB to decompress; no honest archive needs more.
_XZ_MEMORY = 80 << 20
#: zstd --ultra -21 and --long=26; the window is what a decompressor must hold.
_ZSTD_WINDOW_LOG = 26
_GZIP_RESERVED_FLAGS = 0xE0
#: Texts by which lzma and zstd say that a window is larger than these; neither has a class or a number for it.
_TOO_MUCH_MEMORY = ("Memory usage limit exceeded", "requires too much memory")


class WholeDecoder(Protocol):
    """The interface that all decompressors of Python have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class Decoder(WholeDecoder, Protocol):
    """The interface of bz2, lzma and zstd: one stream, fed until ``eof``."""

    @property
    def needs_input(self) -> bool: ...


@valueclass(kw_only=False)
class Codec:
    """One compression. ``begins`` says whether bytes are the start of a member; raw deflate may start with anything."""

    name: str
    begins: Callable[[bytes], bool]
    new: Callable[[], Decoder]
    errors: tuple[type[Exception], ...]
    #: Makes a decoder for a small member in one call, without what only a stream needs.
    new_whole: Callable[[], WholeDecoder]


def fast_zlib() -> ModuleType:
    """Return isal's zlib where it is installed (``getmodules[fast]``), else the one that Python brings."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    module: ModuleType = isal_zlib
    return module


def codec(name: str) -> Codec:
    return _CODECS[name]()


def _gzip() -> Codec:
    module = fast_zlib()
    return Codec("gzip", _begins_gzip, lambda: _Flate(module, 31), (module.error,), partial(module.decompressobj, 31))


def _begins_gzip(head: bytes) -> bool:
    # isal accepts reserved flags, which zlib refuses; both must behave alike.
    return head.startswith(b"\x1f\x8b\x08") and len(head) > 3 and not head[3] & _GZIP_RESERVED_FLAGS


def _deflate() -> Codec:
    module = fast_zlib()
    return Codec(
        "deflate", lambda head: True, lambda: _Flate(module, -15), (module.error,), partial(module.decompressobj, -15)
    )


def _bzip2() -> Codec:
    import bz2

    new = bz2.BZ2Decompressor
    return Codec("bzip2", lambda head: head.startswith(b"BZh"), new, (OSError, ValueError), new)


def _xz() -> Codec:
    import lzma

    def new() -> Decoder:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    return Codec("xz", lambda head: head.startswith(b"\xfd7zX"), new, (lzma.LZMAError,), new)


def _zstd() -> Codec:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd

    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    new = partial(zstd.ZstdDecompressor, options=options)
    return Codec("zstd", _begins_zstd, new, (zstd.ZstdError,), new)


def _begins_zstd(head: bytes) -> bool:
    # A frame, or a skippable one: pzstd begins with such.
    return head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5)


_CODECS: dict[str, Callable[[], Codec]] = {
    "gzip": _gzip, "deflate": _deflate, "bzip2": _bzip2, "xz": _xz, "zstd": _zstd,
}  # fmt: skip


class _Flate:
    """Adapt zlib's decompressor to the interface of the others: it keeps input that it could not use yet."""

    __slots__ = ("_decompressor", "needs_input")

    def __init__(self, module: ModuleType, window_bits: int) -> None:
        self._decompressor: Any = module.decompressobj(window_bits)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return bool(self._decompressor.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decompressor.unused_data)

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        decompressor = self._decompressor
        tail = decompressor.unconsumed_tail
        out: bytes = decompressor.decompress(tail + data if tail else data, max_length)
        # A full output may leave more inside the decompressor even where all input was taken.
        self.needs_input = len(out) < max_length and not decompressor.unconsumed_tail
        return out


def decode_whole(codec: Codec, data: bytes, size: int) -> bytes:
    """Decode one small member at once; it must come out as ``size`` bytes and use up ``data``."""
    decoder = codec.new_whole()
    try:
        # One byte more than announced shows a lie without paying for all of it.
        out = decoder.decompress(data, size + 1)
    except codec.errors as error:
        raise _refusal(codec, error) from error
    if len(out) > size:
        raise corrupt(f"more than the announced {size:,} bytes")
    if not decoder.eof:
        raise corrupt(f"the {codec.name} data is cut off")
    if decoder.unused_data:
        raise corrupt(f"the {codec.name} data ends before its announced end")
    return out


def decode_one(codec: Codec, source: Iterable[bytes]) -> Iterator[bytes]:
    """Decode one member in pieces; it must use up ``source``."""
    pieces = iter(source)
    decoder = codec.new()
    yield from _decode(codec, decoder, b"", pieces, PIECE_BYTES)
    if decoder.unused_data or next(pieces, b""):
        raise corrupt(f"the {codec.name} data ends before its announced end")


def decode_all(codec: Codec, source: Iterable[bytes], checkpoint: Callable[[], None]) -> Iterator[bytes]:
    """Decode all members of a compressed file, one after the other; nothing may follow them."""
    pieces = iter(source)
    head = _at_least(4, b"", pieces)
    if not codec.begins(head):
        raise unexpected_format(codec.name, head, "it does not begin like one")
    while head:
        decoder = codec.new()
        for out in _decode(codec, decoder, head, pieces, STREAM_PIECE_BYTES):
            checkpoint()
            yield out
        head = _at_least(4, decoder.unused_data, pieces)
        if head and not codec.begins(head):
            raise corrupt(f"something follows the end of the {codec.name} data")
        checkpoint()


def _decode(codec: Codec, decoder: Decoder, head: bytes, pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    data = head
    while True:
        out = _step(codec, decoder, data, most)
        if out:
            yield out
        if decoder.eof:
            return
        data = b""
        if decoder.needs_input:
            data = next(pieces, b"")
            if not data:
                raise corrupt(f"the {codec.name} data is cut off")


def _step(codec: Codec, decoder: Decoder, data: bytes, most: int) -> bytes:
    try:
        return decoder.decompress(data, most)
    except codec.errors as error:
        raise _refusal(codec, error) from error


def _refusal(codec: Codec, error: Exception) -> ContentError:
    if not any(sign in str(error) for sign in _TOO_MUCH_MEMORY):
        return corrupt(f"broken {codec.name} data: {error}")
    return LimitExceededError(
        f"the {codec.name} data has a window that needs more memory than any archive may have",
        part="memory",
        hint="this bound is fixed: pack it again with a smaller window",
    )


def _at_least(count: int, data: bytes, pieces: Iterator[bytes]) -> bytes:
    while len(data) < count:
        more = next(pieces, b"")
        if not more:
            break
        data += more
    return data
