"""A file for bytes that are being downloaded; it moves to another place when writing to the first one fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from getmodules.files.durable import write_all
from getmodules.files.opening import NEW

_PIECE = 1 << 20


class Part(Protocol):
    """The beginning of a file, open for more, which stays for another run."""

    @property
    def path(self) -> Path: ...

    @property
    def descriptor(self) -> int: ...

    @property
    def size(self) -> int: ...

    def note(self, size: int, sha256: str) -> None: ...


class DownloadFile:
    """A new file that stays open until :meth:`close`, so that nobody can replace what was written.

    It is made at ``first()``, or goes on with ``part``. Where that fails, then or later, ``failed`` gets the error, and
    the bytes written so far are moved to ``spare()``, where errors are raised.
    """

    def __init__(
        self,
        spare: Callable[[], Path],
        first: Callable[[], Path] | None = None,
        failed: Callable[[OSError], None] | None = None,
        part: Part | None = None,
    ) -> None:
        self._spare = spare
        self._part = part
        #: Set as long as the file can still move to ``spare()``.
        self._failed = failed
        self._size = 0
        self.path, self.descriptor = Path(), -1
        if part is not None:
            self.path, self.descriptor, self._size = part.path, part.descriptor, part.size
            return
        if first is not None and failed is not None:
            try:
                self._open(first())
                return
            except OSError as error:
                failed(error)
        self._failed = None
        self._open(spare())

    def _open(self, path: Path) -> None:
        self.path, self.descriptor = path, os.open(path, os.O_RDWR | NEW, 0o600)

    @property
    def size(self) -> int:
        """The number of bytes that are in it."""
        return self._size

    def pieces(self) -> Iterator[bytes]:
        """Yield what is in it; the next write goes behind that."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        left = self._size
        while left:
            piece = os.read(self.descriptor, min(left, _PIECE))
            if not piece:
                raise OSError("what was stored is not there any more")
            left -= len(piece)
            yield piece

    def start_over(self) -> None:
        """Throw away what is in it."""
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        self._size = 0

    def note(self, sha256: str) -> None:
        """Note the hash of all that is in it, for another run that goes on with it; a file that goes has no note."""
        if self._part is not None and self.path == self._part.path:
            self._part.note(self._size, sha256)

    def write(self, chunk: bytes) -> None:
        try:
            write_all(self.descriptor, chunk)
        except OSError as error:
            if self._failed is None:
                raise
            self._failed(error)
            self._failed = None
            self._move()
            write_all(self.descriptor, chunk)
        self._size += len(chunk)

    def _move(self) -> None:
        """Move to ``spare()``. Part of the chunk that failed may be there as well: only what was counted is copied."""
        spare = self._spare()
        descriptor = os.open(spare, os.O_RDWR | NEW, 0o600)
        try:
            for piece in self.pieces():
                write_all(descriptor, piece)
        except BaseException:
            os.close(descriptor)
            raise
        old, self.descriptor = self.descriptor, descriptor
        left_behind, self.path = self.path, spare
        os.close(old)
        with suppress(OSError):  # it is removed with its directory as well; this frees the space now
            os.unlink(left_behind)

    def complete(self) -> int | None:
        """Return the descriptor of the whole file; ``None`` on Windows, where an open file cannot be renamed."""
        if sys.platform == "win32":
            self.close()
            return None
        return self.descriptor

    def close(self) -> None:
        if self.descriptor >= 0:
            descriptor, self.descriptor = self.descriptor, -1
            os.close(descriptor)
