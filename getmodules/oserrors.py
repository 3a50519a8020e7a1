"""What the operating system says, as an error of ours: the one place that sorts its numbers.

``what`` is a sentence that names what was tried and where (``cannot write main.tf``); the system's reason
is put behind it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from getmodules.errors import InstallError

_PARTS = {
    errno.ENOSPC: "no-space",
    errno.EDQUOT: "no-space",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
}
_HINTS = {
    errno.ENOSPC: "free some space there (or inodes: df -i), or choose a destination on another file system",
    errno.EDQUOT: "the disk quota is used up: free some space, or choose a destination on another file system",
    errno.EMFILE: "this process may not open more files: raise the limit (ulimit -n)",
    errno.ENFILE: "the system has too many open files",
}


def install_error(error: OSError, what: str) -> InstallError:
    """The :class:`InstallError` for ``error``; raise it ``from error``."""
    reason = error.strerror or str(error) or type(error).__name__
    number = error.errno or 0
    return InstallError(f"{what}: {reason}", part=_PARTS.get(number), hint=_HINTS.get(number))


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Any ``OSError`` of the block becomes an :class:`InstallError`."""
    try:
        yield
    except OSError as error:
        raise install_error(error, what) from error
