"""Locks that die with their process: the only sign of life that neither pids nor clocks can fake."""

from __future__ import annotations

import errno
import os
import sys
from enum import Enum

_BUSY = (errno.EACCES, errno.EDEADLK) if sys.platform == "win32" else (errno.EWOULDBLOCK,)
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


class Lock(Enum):
    HELD = "held"
    BUSY = "busy"
    #: A file system without locks (some network mounts): nobody there can tell the living from the dead.
    UNSUPPORTED = "unsupported"


def try_lock(fd: int) -> Lock:
    """Take the exclusive lock of an open file, without waiting. It is given back when ``fd`` is closed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(fd, 0, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return Lock.BUSY
        if error.errno in _UNSUPPORTED:
            return Lock.UNSUPPORTED
        raise
    return Lock.HELD
