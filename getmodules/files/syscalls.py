"""System calls that the standard library does not have: exchange two paths, sync a file system, share blocks.

ctypes is imported inside, because only an installation needs it, and may be missing: then all behave as on
a system that lacks the call.
"""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux, renameat2
_RENAME_SWAP = 2  # macOS, renamex_np
#: Errors that say that a kernel or a file system cannot exchange; nothing has happened then.
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def exchange(a: Path, b: Path) -> bool:
    """Exchange two paths in one atomic step. Return ``False`` where that is not possible."""
    first, second = os.fsencode(a), os.fsencode(b)
    if sys.platform == "linux":
        failure = _call("renameat2", _AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE)
    elif sys.platform == "darwin":
        failure = _call("renamex_np", first, second, _RENAME_SWAP)
    else:
        failure = errno.ENOSYS
    if failure in _UNSUPPORTED:
        return False
    if failure:
        raise OSError(failure, os.strerror(failure), str(a), None, str(b))
    return True


def sync_filesystem(fd: int) -> None:
    """Bring everything written to the file system of ``fd`` to its disk, in one go instead of file by file.

    Windows has no such thing for people without privileges; there it is left to the system.
    """
    failure = _call("syncfs", fd) if sys.platform == "linux" else errno.ENOSYS
    if failure == errno.ENOSYS:
        if sys.platform != "win32":
            os.sync()
            os.fsync(fd)  # macOS's sync() only schedules; this one waits
    elif failure:
        raise OSError(failure, os.strerror(failure))


def _call(name: str, *arguments: int | bytes) -> int:
    """Call a C function that returns 0 or -1. Return its errno: 0 for success, ``ENOSYS`` if it does not exist."""
    function = _libc_function(name)
    if function is None:
        return errno.ENOSYS
    import ctypes

    return 0 if function(*arguments) == 0 else ctypes.get_errno()


@cache
def _libc_function(name: str) -> Any:
    try:
        import ctypes
    except ImportError:
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), name, None)


#: Errors of file systems that cannot share blocks, or not between these two files.
_NO_CLONE = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM}
)
_FICLONE = 0x40049409


def share_blocks(source: int, target: int) -> bool:
    """Make the empty file ``target`` a copy-on-write copy of ``source``. Return ``False`` if that is not possible."""
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _NO_CLONE:
            return False
        raise
    return True
