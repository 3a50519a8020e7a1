"""Lock files between processes. A lock ends with its process; pids and clocks tell that less reliably."""

from __future__ import annotations

import errno
import os
import sys
from enum import Enum

_BUSY = (errno.EACCES, errno.EDEADLK) if sys.platform == "win32" else (errno.EWOULDBLOCK,)
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


class FileLock(Enum):
    HELD = "held"
    BUSY = "busy"
    #: A file system without locks (some network mounts): there, live owners cannot be told from dead ones.
    UNSUPPORTED = "unsupported"


def try_lock(fd: int, *, shared: bool = False) -> FileLock:
    """Take the lock of an open file, without waiting. Closing ``fd`` releases it.

    Any number may hold it ``shared``, and meanwhile nobody holds it alone. Shared locks are not supported on Windows:
    an open file cannot be removed there, which serves the same purpose.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            if shared:
                return FileLock.UNSUPPORTED
            os.lseek(fd, 0, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return FileLock.BUSY
        if error.errno in _UNSUPPORTED:
            return FileLock.UNSUPPORTED
        raise
    return FileLock.HELD
