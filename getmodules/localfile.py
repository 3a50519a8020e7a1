"""A regular file on this machine, read with suspicion: it may change, or be replaced, at any moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from getmodules.errors import FetchError, NotFoundError
from getmodules.redact import printable

CHUNK = 1 << 18
# Not everywhere: Windows has neither O_NOFOLLOW nor O_NONBLOCK, and needs O_BINARY.
_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


class LocalFile:
    """The content of a file, exactly as many bytes as were there when it was listed.

    To iterate over it is to read it. Who writes it elsewhere may share its blocks instead (:meth:`opened`).
    """

    __slots__ = ("path", "size")

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size

    def __iter__(self) -> Iterator[bytes]:
        total = 0
        for chunk in read_file(self.path):
            total += len(chunk)
            if total > self.size:
                break
            yield chunk
        if total != self.size:
            raise self.changed()

    @contextmanager
    def opened(self) -> Iterator[int]:
        fd = _open(self.path)
        try:
            yield fd
        finally:
            os.close(fd)

    def changed(self) -> FetchError:
        shown = printable(str(self.path), 500)
        return FetchError(f"{shown!r} changed while it was being copied", part="changed", hint="try again")


def read_file(path: Path) -> Iterator[bytes]:
    """The bytes of a regular file; a link or a fifo that took its place is an error, and never waited for."""
    fd = _open(path)
    try:
        while chunk := os.read(fd, CHUNK):
            yield chunk
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    try:
        fd = os.open(path, _FLAGS)
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
        except BaseException:
            os.close(fd)
            raise
    except OSError as error:
        raise unreadable(path, error) from error
    os.close(fd)
    raise FetchError(f"{printable(str(path), 500)!r} is not a regular file", part="unreadable")


def unreadable(path: Path, error: OSError) -> FetchError:
    shown = repr(printable(str(path), 500))
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFoundError(f"there is nothing at {shown}", hint="is the path right, and the base directory?")
    return FetchError(f"cannot read {shown}: {error.strerror}", part="unreadable")
