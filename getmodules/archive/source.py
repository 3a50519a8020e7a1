"""Read the bytes of a spooled archive; and the errors that readers raise: corrupt, ambiguous, unsupported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from getmodules.api.model import Archive
from getmodules.errors import CorruptArchiveError, FetchError, UnsafeContentError, UnsupportedContentError

_LOOKS = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "a split zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x1f\x9d", "compress (.Z)"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x5d\x00\x00", "lzma"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!", "rar"),
    (b"!<arch>", "ar"),
    (b"%PDF", "PDF"),
    (b"version https://git-lfs", "a Git LFS pointer"),
)
#: Names for ``archive=`` by what bytes look like; nearly all compressed files are tars, so those of tars.
FORMATS = {"zip": "zip", "tar": "tar", "gzip": "tar.gz", "bzip2": "tar.bz2", "xz": "tar.xz", "zstd": "tar.zst"}
_TAR_MAGIC = slice(257, 262)
#: The bytes of an archive that :func:`looks_like` looks at.
HEAD_BYTES = 512


def corrupt(what: str) -> CorruptArchiveError:
    return CorruptArchiveError(what)


def ambiguous(what: str) -> UnsafeContentError:
    """Return the error for what two readers could read differently."""
    return UnsafeContentError(what, part="ambiguous-archive")


def unsupported(what: str, hint: str | None = None) -> UnsupportedContentError:
    return UnsupportedContentError(what, hint=hint)


def looks_like(head: bytes) -> str | None:
    """Say in words what the first bytes of something look like, which is not what it was said to be."""
    for magic, name in _LOOKS:
        if head.startswith(magic):
            return name
    if head[_TAR_MAGIC] == b"ustar":
        return "tar"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "a web page (HTML)"
    if text.startswith((b"<?xml", b"<error")):
        return "XML"
    if text.startswith((b"{", b"[")):
        return "JSON"
    return None


def unexpected_format(expected: str, head: bytes, otherwise: str) -> CorruptArchiveError:
    """Return the error for bytes that are not ``expected``; ``otherwise`` is used when they look like nothing known."""
    found = looks_like(head)
    if not head:
        return CorruptArchiveError(f"the archive is empty, not {expected}")
    if found is None or found == expected:
        return CorruptArchiveError(f"this is no {expected} archive: {otherwise}")
    return CorruptArchiveError(f"this looks like {found}, not {expected}")


_WINDOW_BYTES = 1 << 20
#: Small beside what decoders give at once: what they hand back unused is copied each time.
_PIECE_BYTES = 512 << 10


@contextmanager
def opened(archive: Archive) -> Iterator[IO[bytes]]:
    try:
        file = archive.open()
    except OSError as error:
        raise _unreadable(error) from error
    with file:
        yield file


def pieces(file: IO[bytes], checkpoint: Callable[[], None]) -> Iterator[bytes]:
    """Yield the rest of a file in pieces."""
    while True:
        checkpoint()
        try:
            piece = file.read(_PIECE_BYTES)
        except OSError as error:
            raise _unreadable(error) from error
        if not piece:
            return
        yield piece


class Window:
    """Random access to a file through one buffer: bounded memory, few system calls on the way forward."""

    __slots__ = ("_buffer", "_file", "_start", "size")

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._buffer = b""
        self._start = 0
        self.size = size

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes."""
        at = offset - self._start
        if at < 0 or at + length > len(self._buffer):
            if offset < 0 or offset + length > self.size:
                raise corrupt("the archive is cut off, or a length in it is wrong")
            self._buffer = self.read(offset, max(length, _WINDOW_BYTES))
            self._start = offset
            at = 0
            if len(self._buffer) < length:
                raise corrupt("the archive became shorter while it was read")
        return self._buffer[at : at + length]

    def has(self, expected: bytes, offset: int) -> bool:
        """Return whether ``expected`` is at ``offset``; ``False`` also where that is not in the buffer yet."""
        at = offset - self._start
        return at >= 0 and self._buffer.startswith(expected, at)

    def read(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes, past the buffer."""
        try:
            self._file.seek(offset)
            return self._file.read(length)
        except OSError as error:
            raise _unreadable(error) from error

    def pieces(self, offset: int, length: int, piece_bytes: int) -> Iterator[bytes]:
        """Yield ``length`` bytes in pieces, for what is too large for the buffer."""
        while length:
            piece = self.read(offset, min(length, piece_bytes))
            if not piece:
                raise corrupt("the archive is cut off")
            offset += len(piece)
            length -= len(piece)
            yield piece


def _unreadable(error: OSError) -> FetchError:
    reason = error.strerror or type(error).__name__
    return FetchError(f"the archive cannot be read: {reason}", part="unreadable")
