"""Reads directories on this machine, as members to install or to hash.

The walk goes below one directory descriptor, in sorted order, and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from getmodules.errors import FetchError, NotFoundError
from getmodules.model import Kind, Member, Members
from getmodules.redact import printable

CHUNK = 1 << 18
# Not everywhere: Windows has no O_NOFOLLOW, no O_NONBLOCK and no O_DIRECTORY, and needs O_BINARY.
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def members_of(path: str | os.PathLike[str]) -> Members:
    """The members of a directory, for a getter that has filled one, or that copies one."""
    return Members(walk(Path(path)))


def walk(root: Path) -> Iterator[Member]:
    pending = [""]
    while pending:
        below = pending.pop()
        directories = []
        for name, status in _listing(root, below):
            path = f"{below}/{name}" if below else name
            kind = _kind(status.st_mode)
            if kind is Kind.DIRECTORY:
                directories.append(path)
                yield Member(path, Kind.DIRECTORY)
            elif kind is Kind.SYMLINK:
                yield Member(path, Kind.SYMLINK, target=_readlink(root / path))
            elif kind is Kind.FILE:
                executable = bool(status.st_mode & 0o111)
                reader = partial(_content, root / path, status.st_size)
                yield Member(path, Kind.FILE, status.st_size, executable, reader)
            else:
                yield Member(path, kind)
        pending.extend(reversed(directories))


def _listing(root: Path, below: str) -> list[tuple[str, os.stat_result]]:
    try:
        with os.scandir(root / below) as entries:
            return sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
    except OSError as error:
        raise unreadable(root / below, error) from error


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    return Kind.SYMLINK if stat.S_ISLNK(mode) else Kind.SPECIAL


def _readlink(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError as error:
        raise unreadable(path, error) from error


def _content(path: Path, size: int) -> Iterator[bytes]:
    """A file's bytes, exactly as many as were there when it was listed."""
    total = 0
    for chunk in read_file(path):
        total += len(chunk)
        if total > size:
            break
        yield chunk
    if total != size:
        raise FetchError(
            f"{printable(str(path))!r} changed while it was being copied", part="changed", hint="try again"
        )


def read_file(path: Path) -> Iterator[bytes]:
    """The bytes of a regular file; a link or a fifo that took its place is an error, and never waited for."""
    try:
        fd = os.open(path, _FILE)
    except OSError as error:
        raise unreadable(path, error) from error
    with os.fdopen(fd, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FetchError(f"{printable(str(path))!r} is not a regular file", part="unreadable")
        try:
            while chunk := file.read(CHUNK):
                yield chunk
        except OSError as error:
            raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> FetchError:
    shown = repr(printable(str(path), 500))
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFoundError(f"there is nothing at {shown}", hint="is the path right, and the base directory?")
    return FetchError(f"cannot read {shown}: {error.strerror}", part="unreadable")
