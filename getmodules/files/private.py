"""Private working directories, locked by their owner and swept when it is dead, and those of one operation.

Each is called ``.getmodules-<random>`` and holds a file ``lock``, exclusively locked by its living owner. Pids
are used again and clocks jump, but such a lock ends with its process, whatever ended it. Both sides of the
protocol are here, because only together they have no race:

* the owner makes the directory, then the file, then takes the lock, and looks whether the file is still there;
  at any sign of a sweeper it takes a new name and starts over;
* a sweeper removes a directory without the file only if it is empty (the owner of a new one then starts over), and
  any other only with the lock in hand: first what is in it, then the file, then the directory.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from getmodules.errors import InstallError
from getmodules.files.locking import FileLock, try_lock
from getmodules.files.opening import NOFOLLOW, NONBLOCK
from getmodules.files.removal import remove_contents
from getmodules.util.redact import printable

LOCK_NAME = "lock"
_PREFIX = ".getmodules-"
#: Strict on purpose: a directory that another program called ``.getmodules-backup`` is not ours.
_NAME = re.compile(rf"{re.escape(_PREFIX)}[0-9a-f]{{16}}")
_CREATE_ATTEMPTS = 100
#: A second look costs nothing, and picks up what an error that passes (too many open files, a file that a
#: scanner held) left behind.
_REMOVE_ROUNDS = 3
#: As many descriptors as are open at one time when it is removed: the lock, a download, and three of
#: :mod:`getmodules.files.removal`.
_PIPES = 3
_LOCK_FLAGS = os.O_RDWR | NOFOLLOW | NONBLOCK

_log = logging.getLogger("getmodules")


class PrivateDirectory:
    """A directory of mode 0700 in ``parent``, alive as long as this process. :meth:`remove` always works."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._path: Path | None = None
        self._lock: int | None = None

    @property
    def path(self) -> Path:
        assert self._path is not None, "not created, or removed already"
        return self._path

    def create(self) -> None:
        """Make the directory and lock it. Raises ``OSError``: ``FileNotFoundError`` if ``parent`` does not exist."""
        _check_descriptors()
        for _ in range(_CREATE_ATTEMPTS):
            # Set before it exists: an interrupt right after mkdir must not leave it behind.
            self._path = self._parent / f"{_PREFIX}{os.urandom(8).hex()}"
            try:
                os.mkdir(self._path, 0o700)
            except OSError as error:
                self._path = None
                if isinstance(error, FileExistsError):
                    continue
                raise
            if self._take_lock(self._path):
                return
            self._close_lock()
        raise InstallError(
            f"cannot keep a private directory in {printable(str(self._parent), 1000)}: each one is taken away",
            hint="is another program cleaning up there?",
        )

    def _take_lock(self, path: Path) -> bool:
        """Take the lock; return whether the new directory is ours, and not already a sweeper's."""
        try:
            mode = os.stat(path).st_mode
            if mode & stat.S_IRWXU != stat.S_IRWXU:  # a umask that takes even the owner's rights
                os.chmod(path, stat.S_IMODE(mode) | stat.S_IRWXU)
            self._lock = os.open(path / LOCK_NAME, _LOCK_FLAGS | os.O_CREAT, 0o600)
            return try_lock(self._lock) is not FileLock.BUSY and os.path.samestat(
                os.fstat(self._lock), os.stat(path / LOCK_NAME)
            )
        except FileNotFoundError:
            return False

    def remove(self) -> None:
        """Remove it with all it holds; may be called again. What resists is logged, to hide no other error."""
        if self._path is None:
            return
        complaints: list[str] = []
        for _ in range(_REMOVE_ROUNDS):
            complaints = remove_contents(self._path, keep=(LOCK_NAME,)) or self._remove_itself(self._path)
            if not complaints:
                break
        else:
            _log.warning(
                "could not remove %s (%s); the next run tries again",
                printable(str(self._path), 1000),
                printable("; ".join(complaints[:3])),
            )
        self._close_lock()
        self._path = None

    def _remove_itself(self, path: Path) -> list[str]:
        if sys.platform == "win32":
            self._close_lock()  # an open file cannot be unlinked there, which keeps sweepers out as well
        try:
            with suppress(FileNotFoundError):
                os.unlink(path / LOCK_NAME)
            with suppress(FileNotFoundError):
                os.rmdir(path)
        except OSError as error:
            return [str(error)]
        return []

    def _close_lock(self) -> None:
        if self._lock is not None:
            lock, self._lock = self._lock, None
            os.close(lock)

    @classmethod
    def take_over(cls, path: Path) -> PrivateDirectory | None:
        """Return the directory at ``path`` if its owner is dead; ``None`` if it is alive, not ours, or gone by now."""
        if not _looks_like_ours(path):
            return None
        directory = cls(path.parent)
        try:
            directory._lock = os.open(path / LOCK_NAME, _LOCK_FLAGS)
        except FileNotFoundError:
            with suppress(OSError):  # not empty: then whatever it is, it is not ours
                os.rmdir(path)
            return None
        if stat.S_ISREG(os.fstat(directory._lock).st_mode) and try_lock(directory._lock) is FileLock.HELD:
            directory._path = path
            return directory
        directory._close_lock()
        return None


class PrivateDirectories:
    """The private directories of one operation and its threads: one in each parent at most, removed at its end.

    Fifty modules go into one directory as a rule: they share what is made, locked and removed beside them. Each user
    takes names of its own in there, and may list, or remove, nothing else.
    """

    def __init__(self, sweeper: Sweeper | None = None) -> None:
        self._sweeper = sweeper or Sweeper()
        # An interrupt may hit any line in here; what it kept from being given back is still ours then.
        self._guard = threading.RLock()
        self._directories: dict[Path, PrivateDirectory] = {}
        self._made_parents: list[Path] = []
        self._real: dict[Path, Path] = {}

    def real(self, parent: Path) -> Path:
        """Return where ``parent`` really is, the same for the whole operation, whatever becomes of links meanwhile."""
        known = self._real.get(parent)
        return known or self._real.setdefault(parent, Path(os.path.realpath(parent)))

    def beside(self, parent: Path, prepare: Callable[[], object] | None = None) -> Path:
        """Return the private directory in ``parent``; if there is none yet, it is made, after ``prepare()``.

        One that was removed by others is made again: a cache may be cleaned at any time. Raises ``OSError``:
        ``FileNotFoundError`` says that ``parent`` is not there (any more).
        """
        with self._guard:
            directory = self._directories.get(parent)
            if directory is not None and os.path.lexists(directory.path):
                return directory.path
            if directory is not None:
                self._remove(parent)  # its lock is still open
            if prepare is not None:
                prepare()
            self._sweeper.sweep(parent)
            # Listed before it exists: an interrupt right after mkdir must not leave it behind.
            directory = self._directories[parent] = PrivateDirectory(parent)
            try:
                directory.create()
            except BaseException:
                self._remove(parent)
                raise
            return directory.path

    def make_parents(self, parent: Path) -> None:
        """Make ``parent`` and what is missing above it; what is empty at the end of the operation is removed."""
        missing: list[Path] = []
        while not os.path.lexists(parent):
            missing.append(parent)
            parent = parent.parent
        for directory in reversed(missing):
            self._made_parents.append(directory)  # before it exists, as above
            try:
                os.mkdir(directory, 0o755)
            except OSError as error:
                self._made_parents.pop()
                if not isinstance(error, FileExistsError):
                    raise

    @contextmanager
    def removed_at_end(self) -> Iterator[Self]:
        """Remove all of them when the block ends, which is the operation, even if an interrupt hits the removal."""
        try:
            try:
                yield self
            finally:
                self._close()
        finally:
            self._close()  # finds something only where an interrupt hit the first one

    def _close(self) -> None:
        with self._guard:
            for parent in list(self._directories):
                self._remove(parent)
            while self._made_parents:
                with suppress(OSError):  # not empty: it holds a module, or files of others
                    os.rmdir(self._made_parents[-1])
                self._made_parents.pop()

    def _remove(self, parent: Path) -> None:
        self._directories[parent].remove()
        del self._directories[parent]


def is_private_name(name: str) -> bool:
    """Return whether ``name`` is one that private directories get."""
    return name.startswith(_PREFIX) and _NAME.fullmatch(name) is not None


def is_private(path: str, directory: bool) -> bool:
    """Return whether ``path`` is a working directory, of another module or another run: not a part of any tree."""
    return directory and is_private_name(path.rpartition("/")[2])


class Sweeper:
    """Remove what dead processes left, once per run and directory."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()
        self._guard = threading.Lock()

    def sweep(self, parent: Path) -> None:
        """Sweep ``parent``. This never fails: other people's leftovers must not keep anybody from working."""
        try:
            status = os.stat(parent)
            with self._guard:
                if (status.st_dev, status.st_ino) in self._seen:
                    return
                self._seen.add((status.st_dev, status.st_ino))
            names = [name for name in os.listdir(parent) if is_private_name(name)]
        except OSError as error:
            _log.debug("could not look for leftovers: %s", error)
            return
        for name in names:
            try:
                dead = PrivateDirectory.take_over(parent / name)
            except OSError as error:
                _log.debug("could not judge a leftover: %s", error)
                continue
            if dead is not None:
                dead.remove()


def _check_descriptors() -> None:
    """Raise ``OSError`` now, rather than make a directory that could not be removed for lack of descriptors."""
    opened: list[int] = []
    try:
        for _ in range(_PIPES):
            opened += os.pipe()
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _looks_like_ours(path: Path) -> bool:
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        return False
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
