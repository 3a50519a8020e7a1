"""Private directories beside destinations, each shared by all that is done beside it in one operation.

Fifty modules go into one directory as a rule, and to make, lock and remove a directory for each takes as long as
unpacking half of it. Alone, whoever takes a room also removes the directory; in a batch it stays to its end.
"""

from __future__ import annotations

import itertools
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from getmodules.destination import real_path
from getmodules.privatedir import PrivateDirectory, Sweeper
from getmodules.removal import remove_entries
from getmodules.turns import surely


class PrivateRooms:
    """For one operation, and all its threads."""

    def __init__(self, sweeper: Sweeper | None = None) -> None:
        self._sweeper = sweeper or Sweeper()
        # An interrupt may hit any line in here; what it kept from being given back is still ours then.
        self._guard = threading.RLock()
        self._numbers = itertools.count(1)
        self._holders: set[object] = set()
        self._shared: dict[Path, _Shared] = {}
        self._real: dict[Path, Path] = {}

    def real(self, parent: Path) -> Path:
        """Where ``parent`` is: throughout the operation there, whatever becomes of links meanwhile."""
        known = self._real.get(parent)
        return known or self._real.setdefault(parent, real_path(parent))

    @contextmanager
    def held(self) -> Iterator[None]:
        """What is made meanwhile stays until the block ends."""
        holder = object()
        try:
            self._holders.add(holder)
            yield
        finally:
            self._holders.discard(holder)
            surely(self._remove_unused)

    def _remove_unused(self) -> None:
        with self._guard:
            if not self._holders:
                for parent, shared in list(self._shared.items()):
                    if not shared.users:
                        shared.directory.remove()
                        del self._shared[parent]

    def room(self, parent: Path, prepare: Callable[[], object] | None = None) -> PrivateRoom:
        """Nothing is made before it is entered; ``prepare`` sees to ``parent`` before that."""
        return PrivateRoom(self, parent, next(self._numbers), prepare)

    def enter(self, room: PrivateRoom, parent: Path, prepare: Callable[[], object] | None) -> Path:
        """The directory that ``room`` is in. Raises ``OSError``."""
        with self._guard:
            shared = self._shared.get(parent)
            if shared is None or shared.is_gone:
                if prepare is not None:
                    prepare()
                self._sweeper.sweep(parent)
                users: set[PrivateRoom] = set()
                if shared is not None:
                    users = shared.users
                    shared.directory.remove()  # it is not there any more, but its lock is open
                shared = self._shared[parent] = _Shared(parent, users)
            # Before it exists: whatever happens now, to leave removes it.
            shared.users.add(room)
            return shared.path()

    def leave(self, room: PrivateRoom, parent: Path) -> bool:
        """Whether all that was in there went with the directory. May be called again."""
        with self._guard:
            shared = self._shared.get(parent)
            if shared is None:
                return True
            shared.users.discard(room)
            if shared.users or (self._holders and shared.exists):
                return False
            shared.directory.remove()
            del self._shared[parent]
            return True


class _Shared:
    def __init__(self, parent: Path, users: set[PrivateRoom]) -> None:
        self.directory = PrivateDirectory(parent)
        self.users = users
        self.exists = False

    @property
    def is_gone(self) -> bool:
        """Whether somebody took it away, with all that was in it: a cache may be cleaned at any time."""
        return self.exists and not os.path.lexists(self.directory.path)

    def path(self) -> Path:
        if not self.exists:
            self.directory.create()
            self.exists = True
        return self.directory.path


class PrivateRoom:
    """Names of its own in a private directory; whoever makes what they name uses each for one thing."""

    def __init__(
        self, rooms: PrivateRooms, parent: Path, number: int, prepare: Callable[[], object] | None = None
    ) -> None:
        self._rooms = rooms
        self._parent = parent
        self._number = number
        self._prepare = prepare
        self._used: set[str] = set()
        self._directory: Path | None = None

    def enter(self) -> None:
        """Raises ``OSError``: ``FileNotFoundError`` says that the parent is not there (any more)."""
        try:
            self._directory = self._rooms.enter(self, self._parent, self._prepare)
        except BaseException:
            self.leave()
            raise

    def path(self, name: str) -> Path:
        """For something that is named ``name``, and goes with the room."""
        assert self._directory is not None, "not entered, or left already"
        own = f"{self._number}-{name}"
        self._used.add(own)
        return self._directory / own

    def holds(self, path: Path) -> bool:
        """Whether ``path`` is one of the names here."""
        return self._directory is not None and path.parent == self._directory

    def make(self, name: str, mode: int) -> Path:
        """A directory of this mode, whatever the umask; a group that is handed down (setgid) stays."""
        path = self.path(name)
        os.mkdir(path, mode)
        found = stat.S_IMODE(os.stat(path).st_mode)
        if found & 0o777 != mode:
            os.chmod(path, found & stat.S_ISGID | mode)
        return path

    def leave(self) -> None:
        """Remove all that is in it; may be called again."""
        directory, self._directory = self._directory, None
        if self._rooms.leave(self, self._parent) or directory is None:
            return
        # What resists is told when the directory itself is removed.
        remove_entries(directory, self._used)
