"""The bytes of a spooled archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from getmodules.api.model import Archive
from getmodules.archive.refusals import corrupt
from getmodules.errors import FetchError

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
    """The whole file from where it stands, in pieces."""
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
        """Exactly ``length`` bytes."""
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
        """Whether ``expected`` is what is at ``offset``; ``False`` also where that is not in the buffer yet."""
        at = offset - self._start
        return at >= 0 and self._buffer.startswith(expected, at)

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes, past the buffer."""
        try:
            self._file.seek(offset)
            return self._file.read(length)
        except OSError as error:
            raise _unreadable(error) from error

    def pieces(self, offset: int, length: int, piece_bytes: int) -> Iterator[bytes]:
        """``length`` bytes in pieces, for what is too large for the buffer."""
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
