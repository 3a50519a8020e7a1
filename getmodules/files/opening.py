"""Open files and directories without following links: the flags for one path, and the walk below a trusted directory.

O_NOFOLLOW on a whole path guards its last component only: a user who may write above it could swap a directory for a
link. So below a trusted directory each component is entered on its own.

Windows has no O_NOFOLLOW, O_NONBLOCK and O_DIRECTORY, and alone needs O_BINARY. O_CLOEXEC is not needed: Python itself
keeps children from inheriting descriptors.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)

#: Opens anything; a fifo is not waited for.
READ: Final[int] = os.O_RDONLY | NONBLOCK | _BINARY
READ_NO_LINK: Final[int] = READ | NOFOLLOW
#: With O_WRONLY or O_RDWR: a file that must not be there yet.
NEW: Final[int] = os.O_CREAT | os.O_EXCL | NOFOLLOW | _BINARY
#: A file that is there to be locked.
LOCK: Final[int] = os.O_RDWR | os.O_CREAT | NOFOLLOW
#: A file that is there to be locked, and to be gone on with.
RESUMED: Final[int] = LOCK | _BINARY
DIRECTORY: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)


_BELOW = os.open in os.supports_dir_fd


@contextmanager
def directory_of(root: Path, name: str) -> Iterator[tuple[str, int | None]]:
    """Yield the directory that ``name`` lies in, as :func:`directory_below` does, to open ``name`` there.

    The caller refuses a link as the last component (O_NOFOLLOW), except where the system has no such flag.
    """
    parents, last = split(name)
    with directory_below(root, parents) as (prefix, below):
        if below is None and os.path.islink(f"{prefix}{last}"):
            raise _is_link(name)
        yield prefix, below


@contextmanager
def directory_below(root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[tuple[str, int | None]]:
    """Yield the directory at ``parts`` below ``root``: a prefix for paths, and the descriptor they are relative to.

    No component below ``root`` is a link. Where the system has no calls relative to a descriptor, the links that are
    there now are refused. ``make`` makes missing directories, of mode 0700.
    """
    if ".." in parts:
        raise ValueError("a path below a directory has no '..'")
    if not _BELOW:
        path = root
        for part in parts:
            path = path / part
            if path.is_symlink():
                raise _is_link(str(path))
            if make:
                path.mkdir(0o700, exist_ok=True)
        yield f"{path}{os.sep}", None
        return
    directory = os.open(root, DIRECTORY)
    try:
        for part in parts:
            inner = _entered(part, directory, make)
            outer, directory = directory, inner  # before it is closed: an interrupt must not close it twice
            os.close(outer)
        yield "", directory
    finally:
        os.close(directory)


def _entered(name: str, directory: int, make: bool) -> int:
    try:
        return os.open(name, DIRECTORY | NOFOLLOW, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # another process was faster
        os.mkdir(name, 0o700, dir_fd=directory)
    return os.open(name, DIRECTORY | NOFOLLOW, dir_fd=directory)


def split(name: str) -> tuple[list[str], str]:
    """Split a name into its directories and its last component."""
    *parents, last = name.split("/")
    return parents, last


def is_in_the_way(error: OSError) -> bool:
    """Return whether a link or a file is in the way: ELOOP for the last component, mostly ENOTDIR before it."""
    return error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


def _is_link(name: str) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
