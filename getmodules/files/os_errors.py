"""Turn errors of the operating system into errors of getmodules: the only place that sorts their numbers.

``what`` is a sentence that names what was tried and where (``cannot write main.tf``); the system's reason
is put behind it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from getmodules.errors import InstallError
from getmodules.util.redact import printable

_PARTS = {
    errno.ENOSPC: "no-space",
    errno.EDQUOT: "no-space",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
}
_HINTS = {
    errno.ENOSPC: "free some space there (or inodes: df -i), or {elsewhere}",
    errno.EDQUOT: "the disk quota is used up: free some space, or {elsewhere}",
    errno.EMFILE: "this process may not open more files: raise the limit (ulimit -n)",
    errno.ENFILE: "the system has too many open files",
}
#: Hints for a full disk: that of a destination, and that of temporary files.
_ANOTHER_DESTINATION = "choose a destination on another file system"
ANOTHER_TMPDIR = "name a directory on another file system in TMPDIR"


def install_error(error: OSError, what: str, elsewhere: str = _ANOTHER_DESTINATION) -> InstallError:
    """Return the :class:`InstallError` for ``error``; raise it ``from error``."""
    reason = error.strerror or str(error) or type(error).__name__
    number = error.errno or 0
    hint = _HINTS.get(number)
    return InstallError(f"{what}: {reason}", part=_PARTS.get(number), hint=hint and hint.format(elsewhere=elsewhere))


@contextmanager
def naming_full_disk(directory: Path) -> Iterator[None]:
    """Name ``directory`` in an error of the block about a full disk."""
    try:
        yield
    except InstallError as error:
        raise name_full_disk(error, directory) from error.__cause__


def name_full_disk(error: InstallError, directory: Path) -> InstallError:
    """Name ``directory`` if the error is about a full disk, which is one cause for all that is on that disk."""
    if error.part == "no-space" and error.failed_at is None:
        error.within(printable(str(directory), 1000)).failing_at(printable(_mount_point(directory), 1000))
    return error


def _mount_point(path: Path) -> str:
    """Return where the file system of ``path``, which may not exist yet, begins."""
    found = os.path.realpath(path)
    while not os.path.ismount(found) and os.path.dirname(found) != found:
        found = os.path.dirname(found)
    return found


@contextmanager
def translated(what: str, elsewhere: str = _ANOTHER_DESTINATION) -> Iterator[None]:
    """Turn any ``OSError`` of the block into an :class:`InstallError`."""
    try:
        yield
    except OSError as error:
        raise install_error(error, what, elsewhere) from error
