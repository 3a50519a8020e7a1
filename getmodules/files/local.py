"""Read regular files on this machine with suspicion: they may change, or be replaced, at any moment."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from getmodules.errors import FetchError, NotFoundError
from getmodules.files.opening import READ_NO_LINK, directory_of, is_in_the_way
from getmodules.util.redact import printable

CHUNK = 1 << 18


class LocalFile:
    """The content of a file, exactly as many bytes as were there when it was listed.

    Iterating over it reads it. A writer may share its blocks instead (:meth:`opened`). Below ``root`` it is never
    reached through a link, whatever its directories have become since.
    """

    __slots__ = ("path", "root", "size")

    def __init__(self, path: Path, size: int, root: Path | None = None) -> None:
        self.path = path
        self.size = size
        self.root = root

    def __iter__(self) -> Iterator[bytes]:
        total = 0
        for chunk in read_file(self.path, self.root):
            total += len(chunk)
            if total > self.size:
                break
            yield chunk
        if total != self.size:
            raise self.changed()

    @contextmanager
    def opened(self) -> Iterator[int]:
        fd = _open(self.path, self.root)
        try:
            yield fd
        finally:
            os.close(fd)

    def changed(self) -> FetchError:
        shown = printable(str(self.path), 500)
        return FetchError(f"{shown!r} changed while it was being copied", part="changed", hint="try again")


def read_file(path: Path, root: Path | None = None) -> Generator[bytes, None, None]:
    """Yield the bytes of a regular file; a link or a fifo that took its place is an error, and never waited for.

    So is a link in the place of a directory between ``root`` and the file.
    """
    fd = _open(path, root)
    try:
        # A little more than there is: allocating a whole chunk takes longer than reading a small file.
        size = os.fstat(fd).st_size
        length = min(size + 1, CHUNK) if size else CHUNK
        while chunk := os.read(fd, length):
            yield chunk
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(fd)


def reopened(descriptor: int, path: Path) -> IO[bytes]:
    """Open the file behind ``descriptor`` again, from its beginning, whatever lies at its ``path`` by now.

    Raises ``OSError``, also where a system can only open the path, and another file is there.
    """
    for way in (f"/proc/self/fd/{descriptor}", path):
        try:
            file = open(way, "rb", buffering=0)  # noqa: SIM115 -- it is handed out
        except OSError:
            continue
        if os.path.samestat(os.fstat(file.fileno()), os.fstat(descriptor)):
            return file
        file.close()
    raise OSError(errno.ESTALE, "it was taken away while it was in use", str(path))


def _open(path: Path, root: Path | None) -> int:
    try:
        fd = os.open(path, READ_NO_LINK) if root is None else _open_below(root, path)
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
        except BaseException:
            os.close(fd)
            raise
    except OSError as error:
        raise (unreadable if root is None else unreadable_below)(path, error) from error
    os.close(fd)
    raise FetchError(f"{printable(str(path), 500)!r} is not a regular file", part="unreadable")


def _open_below(root: Path, path: Path) -> int:
    name = "/".join(path.parts[len(root.parts) :])  # relative_to() takes as long as all the rest
    with directory_of(root, name) as (prefix, directory):
        return os.open(f"{prefix}{path.name}", READ_NO_LINK, dir_fd=directory)


def unreadable_below(path: Path, error: OSError) -> FetchError:
    """Return the error for a path that was listed before: a link on the way was put there since."""
    if is_in_the_way(error):
        return FetchError(
            f"{printable(str(path), 500)!r} is a link by now, or lies behind one",
            part="unreadable",
            hint="something changed it while it was being copied: try again",
        )
    return unreadable(path, error)


def unreadable(path: Path, error: OSError) -> FetchError:
    shown = repr(printable(str(path), 500))
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFoundError(f"there is nothing at {shown}", hint="is the path right, and the base directory?")
    return FetchError(f"cannot read {shown}: {error.strerror}", part="unreadable")
