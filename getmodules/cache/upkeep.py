"""What is in a store, and making it smaller; safe while other runs use it.

A blob in use is locked by its user, a room by who works in it: those are passed over. Everything else may go at any
moment; whoever needs it again fetches it again.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from getmodules.cache.blobs import Blobs
from getmodules.cache.location import CacheLocation, listing, private_folder
from getmodules.cache.locks import attempt
from getmodules.cache.records import Records
from getmodules.errors import InstallError
from getmodules.files import opening as openflags
from getmodules.files.opening import is_in_the_way
from getmodules.files.os_errors import install_error, translated
from getmodules.files.private import PrivateDirectory, Sweeper
from getmodules.files.removal import remove_contents, status_of
from getmodules.util.redact import printable
from getmodules.util.values import valueclass


@valueclass
class CacheInfo:
    path: Path
    writable: bool
    blobs: int
    workshops: int
    records: int
    bytes: int


@valueclass
class CacheCheck:
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
    """Something that can be removed: a blob, a record, or a room with its lock file."""

    path: Path
    size: int
    used: float
    lock: Path | None = None
    #: Whether people count it: nobody has ever asked for a record.
    counts: bool = True


def info(home: CacheLocation) -> CacheInfo:
    blobs, rooms = list(_blobs(home)), list(_rooms(home))
    records = list(_records(home))
    return CacheInfo(
        path=home.root,
        writable=home.writable,
        blobs=len(blobs),
        workshops=len(rooms),
        records=len(records),
        bytes=sum(thing.size for thing in (*blobs, *rooms, *records)),
    )


def verify(home: CacheLocation) -> CacheCheck:
    """Hash every blob. What is not what it is called is dropped."""
    blobs = Blobs(home.root)
    count = size = 0
    for digest in blobs.all():
        held = blobs.open(digest)
        if held is not None:
            os.close(held.descriptor)
            count, size = count + 1, size + held.size
    return CacheCheck(blobs=count, bytes=size, damaged=tuple(map(str, blobs.damaged)))


def prune(home: CacheLocation, *, max_size: int | None = None, older_than: float | None = None) -> Pruned:
    """Remove what was not used for ``older_than`` seconds; then, the longest unused first, down to ``max_size``."""
    before = None if older_than is None else time.time() - older_than

    def goes(thing: _Thing, left: int) -> bool:
        return (before is not None and thing.used < before) or (max_size is not None and left > max_size)

    return _remove_those(home, goes)


def clean(home: CacheLocation) -> Pruned:
    """Remove everything that nobody uses at this moment."""
    return _remove_those(home, lambda thing, left: True)


def _remove_those(home: CacheLocation, goes: Callable[[_Thing, int], bool]) -> Pruned:
    """What ``goes``, of which it is told how many bytes there are still. What cannot be removed keeps nothing else."""
    things = sorted((*_blobs(home), *_rooms(home), *_records(home)), key=lambda thing: thing.used)
    total = sum(thing.size for thing in things)
    removed = freed = 0
    resisting: list[OSError] = []
    for _ in range(2):  # what takes room to be removed may have it after the others
        before, left, resisting = freed, things, []
        things = []
        for thing in left:
            try:
                if goes(thing, total - freed) and _remove(thing, home):
                    removed, freed = removed + thing.counts, freed + thing.size
            except OSError as error:
                things.append(thing)
                resisting.append(error)
        if not resisting or freed == before:
            break
    if resisting:
        with suppress(InstallError):  # the other one is told
            _tidy(home)
        raise _not_removed(resisting, home, freed) from resisting[0]
    _tidy(home)
    return Pruned(removed=removed, freed=freed, bytes=total - freed)


def _not_removed(resisting: list[OSError], home: CacheLocation, freed: int) -> InstallError:
    count = f"{len(resisting):,} of the things in the cache" if len(resisting) > 1 else "something in the cache"
    error = install_error(resisting[0], f"cannot remove {count} ({freed:,} bytes were freed)")
    hint = error.hint
    if error.part == "no-space":
        shown = printable(str(home.root), 1000)
        hint = f"even this takes a little space; {shown} itself may be removed at any time, which takes none"
    return InstallError(error.message, part=error.part, hint=hint)


# ------------------------------------------------------------------------------------------------ what is there


def _blobs(home: CacheLocation) -> Iterator[_Thing]:
    blobs = Blobs(home.root)
    return _files((blobs.path(digest) for digest in blobs.all()), counts=True)


def _records(home: CacheLocation) -> Iterator[_Thing]:
    return _files(Records(home.root, _nowhere).files(), counts=False)


def _files(paths: Iterable[Path], *, counts: bool) -> Iterator[_Thing]:
    for path in paths:
        status = status_of(path)
        if status is not None:
            yield _Thing(path=path, size=status.st_size, used=status.st_mtime, counts=counts)


def _rooms(home: CacheLocation) -> Iterator[_Thing]:
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


def _remove(thing: _Thing, home: CacheLocation) -> bool:
    """Whether it is gone. What somebody uses stays."""
    return _remove_file(thing.path) if thing.lock is None else _remove_room(thing.path, thing.lock, home)


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


def _remove_room(path: Path, lock: Path, home: CacheLocation) -> bool:
    private_folder(home.root, "locks")
    descriptor, _ = attempt(lock, openflags.LOCK)
    if descriptor is None:
        return False
    try:
        try:
            _move_out(path, home)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            _remove_in_place(path)
    except FileNotFoundError:
        return False
    finally:
        with suppress(OSError):
            os.unlink(lock)
        os.close(descriptor)
    return True


def _move_out(path: Path, home: CacheLocation) -> None:
    """First out of the way, then removed: a run that is killed here leaves no half of a repository."""
    waste = PrivateDirectory(private_folder(home.root, "ingest"))
    try:
        waste.create()
        os.rename(path, waste.path / path.name)
    finally:
        waste.remove()


def _remove_in_place(path: Path) -> None:
    """Where there is no room for a private directory any more; who works with what is left copes with any state."""
    for complaint in remove_contents(path, keep=()):
        raise OSError(errno.ENOTEMPTY, complaint, os.fspath(path))
    os.rmdir(path)


def _tidy(home: CacheLocation) -> None:
    """Lock files that nobody holds, and what dead runs left."""
    if not home.writable:
        return
    with translated("cannot remove what is in the cache"):
        for name in listing(home.root, "locks"):
            _remove_file(home.root / "locks" / name)
        Sweeper().sweep(private_folder(home.root, "ingest"))


def _nowhere() -> Path:
    raise AssertionError("nothing is written here")
