"""What is in a store, and making it smaller; safe while other runs use it.

A blob in use is locked by its user, a room by who works in it: those are passed over. Everything else may go at any
moment; whoever needs it again fetches it again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from getmodules import openflags
from getmodules.below import is_in_the_way
from getmodules.oserrors import translated
from getmodules.privatedir import PrivateDirectory, Sweeper
from getmodules.removal import status_of
from getmodules.store.blobs import Blobs
from getmodules.store.claims import attempt
from getmodules.store.home import Home
from getmodules.store.places import listing, room
from getmodules.store.records import Records
from getmodules.values import valueclass


@valueclass
class StoreInfo:
    path: Path
    writable: bool
    blobs: int
    workshops: int
    records: int
    bytes: int


@valueclass
class Checked:
    """``damaged`` were dropped, unless the store cannot be written to."""

    blobs: int
    bytes: int
    damaged: tuple[str, ...]


@valueclass
class Pruned:
    removed: int
    freed: int
    bytes: int


@valueclass
class _Thing:
    """Something that can be removed: a blob, or a room with its lock file."""

    path: Path
    size: int
    used: float
    lock: Path | None = None


def info(home: Home) -> StoreInfo:
    blobs, rooms = list(_blobs(home)), list(_rooms(home))
    records = [_size(path) for path in Records(home.root, _nowhere).files()]
    return StoreInfo(
        path=home.root,
        writable=home.writable,
        blobs=len(blobs),
        workshops=len(rooms),
        records=len(records),
        bytes=sum(thing.size for thing in (*blobs, *rooms)) + sum(records),
    )


def verify(home: Home) -> Checked:
    """Hash every blob. What is not what it is called is dropped."""
    blobs = Blobs(home.root)
    count = size = 0
    for digest in blobs.all():
        held = blobs.open(digest)
        if held is not None:
            os.close(held.descriptor)
            count, size = count + 1, size + held.size
    return Checked(blobs=count, bytes=size, damaged=tuple(map(str, blobs.damaged)))


def prune(home: Home, *, max_size: int | None = None, older_than: float | None = None) -> Pruned:
    """Remove what was not used for ``older_than`` seconds; then, the longest unused first, down to ``max_size``."""
    things = sorted((*_blobs(home), *_rooms(home)), key=lambda thing: thing.used)
    total = sum(thing.size for thing in things)
    before = time.time() - older_than if older_than is not None else None
    removed = freed = 0
    for thing in things:
        old = before is not None and thing.used < before
        large = max_size is not None and total - freed > max_size
        if (old or large) and _remove(thing, home):
            removed, freed = removed + 1, freed + thing.size
    _tidy(home, everything=False, before=before)
    return Pruned(removed=removed, freed=freed, bytes=total - freed)


def clean(home: Home) -> Pruned:
    """Remove everything that nobody uses at this moment."""
    pruned = prune(home, max_size=0)
    _tidy(home, everything=True, before=None)
    return pruned


# ------------------------------------------------------------------------------------------------ what is there


def _blobs(home: Home) -> Iterator[_Thing]:
    blobs = Blobs(home.root)
    for digest in blobs.all():
        path = blobs.path(digest)
        status = status_of(path)
        if status is not None:
            yield _Thing(path=path, size=status.st_size, used=status.st_mtime)


def _rooms(home: Home) -> Iterator[_Thing]:
    for name in listing(home.root, "workshops"):
        path = home.root / "workshops" / name
        status = status_of(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            lock = home.root / "locks" / name
            yield _Thing(path=path, size=_tree_size(path), used=status.st_mtime, lock=lock)


def _size(path: Path) -> int:
    status = status_of(path)
    return 0 if status is None else status.st_size


def _tree_size(path: Path) -> int:
    return sum(_size(Path(directory, name)) for directory, _, names in os.walk(path) for name in names)


# --------------------------------------------------------------------------------------------------- removing


def _remove(thing: _Thing, home: Home) -> bool:
    """Whether it is gone. What somebody uses stays."""
    with translated("cannot remove what is in the cache"):
        if thing.lock is None:
            return _remove_file(thing.path)
        return _remove_room(thing.path, thing.lock, home)


def _remove_file(path: Path) -> bool:
    try:
        descriptor, _ = attempt(path, openflags.READ_NO_LINK)
        if descriptor is None:
            return False
        try:
            os.unlink(path)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return False
    except OSError as error:
        if not is_in_the_way(error):
            raise
        os.unlink(path)  # a link: nobody uses it
    return True


def _remove_room(path: Path, lock: Path, home: Home) -> bool:
    room(home.root, "locks")
    descriptor, _ = attempt(lock, openflags.LOCK)
    if descriptor is None:
        return False
    try:
        # Moved out of the way first: a run that is killed here leaves no half of a repository.
        waste = PrivateDirectory(room(home.root, "ingest"))
        waste.create()
        try:
            os.rename(path, waste.path / path.name)
        finally:
            waste.remove()
    except FileNotFoundError:
        return False
    finally:
        with suppress(OSError):
            os.unlink(lock)
        os.close(descriptor)
    return True


def _tidy(home: Home, *, everything: bool, before: float | None) -> None:
    """Records that lead nowhere any more, lock files that nobody holds, and what dead runs left."""
    if not home.writable:
        return
    with translated("cannot remove what is in the cache"):
        for path in Records(home.root, _nowhere).files():
            status = status_of(path)
            if status is not None and (everything or (before is not None and status.st_mtime < before)):
                with suppress(FileNotFoundError):
                    os.unlink(path)
        for name in listing(home.root, "locks"):
            _remove_file(home.root / "locks" / name)
        Sweeper().sweep(room(home.root, "ingest"))


def _nowhere() -> Path:
    raise AssertionError("nothing is written here")
