"""Lock files of the cache: one thread of one process at a time fetches a package, or uses a working directory.

The lock is that of an open file, so it ends with its process, whatever ended it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

from getmodules.files import opening as openflags
from getmodules.files.locking import FileLock, try_lock

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1


def lock_name(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@contextmanager
def locked(path: Path, waiting: Callable[[bool], None]) -> Iterator[None]:
    """Hold the lock file ``path`` until the block ends.

    ``waiting`` is called before each pause, with ``True`` the first time; it may raise. Raises ``OSError`` if the
    file cannot be made. On a file system without locks there is no waiting.
    """
    descriptor = _take(path, waiting)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file; :mod:`getmodules.cache.upkeep` does
            os.unlink(path)
        os.close(descriptor)


def _take(path: Path, waiting: Callable[[bool], None]) -> int:
    pause, first = _FIRST_PAUSE, True
    while True:
        descriptor, answer = attempt(path, openflags.LOCK)
        if descriptor is not None:
            return descriptor
        if answer is FileLock.BUSY:
            waiting(first)
            first = False
            sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


def attempt(path: Path, flags: int) -> tuple[int | None, FileLock]:
    """Open and lock the file at ``path``; return the descriptor, or ``None`` and why not. Raises ``OSError``.

    Its last owner may have removed it between its opening and its locking: then it is not ``BUSY``.
    """
    descriptor = os.open(path, flags, 0o600)
    try:
        answer = try_lock(descriptor)
        if answer is FileLock.UNSUPPORTED or (answer is FileLock.HELD and _is_still_there(path, descriptor)):
            return descriptor, answer
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None, answer


def _is_still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
