"""Count, verify, prune and clean a cache; safe while other runs use it.

A blob or a working directory in use is locked by its user, and passed over. Everything else may be removed at any
moment; a run that needs it again fetches it again.
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
from getmodules.cache.partials import FOLDER, SUMS, lone_sums, partials
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
    #: Downloads that ended early, and can be gone on with.
    partials: int = 0


@valueclass
class CacheCheck:
    """The result of :func:`verify`. Blobs that are ``damaged`` were removed, unless the cache is read-only."""

    blobs: int
    bytes: int
    damaged: tuple[str, ...]


@valueclass
class Pruned:
    removed: int
    freed: int
    bytes: int


@valueclass
class _Part:
    """One removable part of a cache: a blob, a record, or a working directory with its lock file."""

    path: Path
    size: int
    used: float
    lock: Path | None = None
    #: Whether it is counted for the user: records are not.
    counts: bool = True


def info(cache: CacheLocation) -> CacheInfo:
    blobs, workshops = list(_blobs(cache)), list(_workshops(cache))
    records, begun = list(_records(cache)), list(_partials(cache))
    return CacheInfo(
        path=cache.root,
        writable=cache.writable,
        blobs=len(blobs),
        workshops=len(workshops),
        records=len(records),
        bytes=sum(part.size for part in (*blobs, *workshops, *records, *begun)),
        partials=sum(part.counts for part in begun),
    )


def verify(cache: CacheLocation) -> CacheCheck:
    """Hash every blob. Remove those that do not have their digest."""
    blobs = Blobs(cache.root)
    count = size = 0
    for digest in blobs.all():
        held = blobs.open(digest)
        if held is not None:
            os.close(held.descriptor)
            count, size = count + 1, size + held.size
    return CacheCheck(blobs=count, bytes=size, damaged=tuple(map(str, blobs.damaged)))


def prune(cache: CacheLocation, *, max_size: int | None = None, older_than: float | None = None) -> Pruned:
    """Remove what was not used for ``older_than`` seconds; then the longest unused first, down to ``max_size``."""
    before = None if older_than is None else time.time() - older_than

    def condition(part: _Part, left: int) -> bool:
        return (before is not None and part.used < before) or (max_size is not None and left > max_size)

    return _remove_all(cache, condition)


def clean(cache: CacheLocation) -> Pruned:
    """Remove everything that is not in use at this moment."""
    return _remove_all(cache, lambda part, left: True)


def _remove_all(cache: CacheLocation, condition: Callable[[_Part, int], bool]) -> Pruned:
    """Remove every part for which ``condition(part, bytes_left)`` holds. One that resists stops no other."""
    parts = sorted(
        (*_blobs(cache), *_workshops(cache), *_records(cache), *_partials(cache)), key=lambda part: part.used
    )
    total = sum(part.size for part in parts)
    removed = freed = 0
    resisting: list[OSError] = []
    for _ in range(2):  # on a full disk, what needs space to be removed may have it after the others
        before, left, resisting = freed, parts, []
        parts = []
        for part in left:
            try:
                if condition(part, total - freed) and _remove(part, cache):
                    removed, freed = removed + part.counts, freed + part.size
            except OSError as error:
                parts.append(part)
                resisting.append(error)
        if not resisting or freed == before:
            break
    if resisting:
        with suppress(InstallError):  # the other error is reported
            _tidy(cache)
        raise _not_removed(resisting, cache, freed) from resisting[0]
    _tidy(cache)
    return Pruned(removed=removed, freed=freed, bytes=total - freed)


def _not_removed(resisting: list[OSError], cache: CacheLocation, freed: int) -> InstallError:
    count = f"{len(resisting):,} of the things in the cache" if len(resisting) > 1 else "something in the cache"
    error = install_error(resisting[0], f"cannot remove {count} ({freed:,} bytes were freed)")
    hint = error.hint
    if error.part == "no-space":
        shown = printable(str(cache.root), 1000)
        hint = f"even this takes a little space; {shown} itself may be removed at any time, which takes none"
    return InstallError(error.message, part=error.part, hint=hint)


# ------------------------------------------------------------------------------------------------ what is there


def _blobs(cache: CacheLocation) -> Iterator[_Part]:
    blobs = Blobs(cache.root)
    return _files((blobs.path(digest) for digest in blobs.all()), counts=True)


def _records(cache: CacheLocation) -> Iterator[_Part]:
    return _files(Records(cache.root, _nowhere).files(), counts=False)


def _partials(cache: CacheLocation) -> Iterator[_Part]:
    yield from _files(partials(cache.root), counts=True)
    yield from _files(lone_sums(cache.root), counts=False)


def _files(paths: Iterable[Path], *, counts: bool) -> Iterator[_Part]:
    for path in paths:
        status = status_of(path)
        if status is not None:
            yield _Part(path=path, size=status.st_size, used=status.st_mtime, counts=counts)


def _workshops(cache: CacheLocation) -> Iterator[_Part]:
    for name in listing(cache.root, "workshops"):
        path = cache.root / "workshops" / name
        status = status_of(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            lock = cache.root / "locks" / name
            yield _Part(path=path, size=_tree_size(path), used=status.st_mtime, lock=lock)


def _size(path: Path) -> int:
    status = status_of(path)
    return 0 if status is None else status.st_size


def _tree_size(path: Path) -> int:
    return sum(_size(Path(directory, name)) for directory, _, names in os.walk(path) for name in names)


# --------------------------------------------------------------------------------------------------- removing


def _remove(part: _Part, cache: CacheLocation) -> bool:
    """Remove a part unless it is in use; return whether it is gone."""
    return _remove_file(part.path) if part.lock is None else _remove_workshop(part.path, part.lock, cache)


def _remove_file(path: Path) -> bool:
    try:
        descriptor, _ = attempt(path, openflags.READ_NO_LINK)
        if descriptor is None:
            return False
        try:
            os.unlink(path)
            if path.parent.name == FOLDER:
                with suppress(FileNotFoundError):
                    os.unlink(f"{path}{SUMS}")
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return False
    except OSError as error:
        if not is_in_the_way(error):
            raise
        os.unlink(path)  # a link: it has no user
    return True


def _remove_workshop(path: Path, lock: Path, cache: CacheLocation) -> bool:
    private_folder(cache.root, "locks")
    descriptor, _ = attempt(lock, openflags.LOCK)
    if descriptor is None:
        return False
    try:
        try:
            _move_out(path, cache)
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


def _move_out(path: Path, cache: CacheLocation) -> None:
    """Move a directory out of the way, then remove it: a run that is killed here leaves no half of a repository."""
    waste = PrivateDirectory(private_folder(cache.root, "ingest"))
    try:
        waste.create()
        os.rename(path, waste.path / path.name)
    finally:
        waste.remove()


def _remove_in_place(path: Path) -> None:
    """Remove without a private directory, on a full disk. The next user copes with any state of what is left."""
    for complaint in remove_contents(path, keep=()):
        raise OSError(errno.ENOTEMPTY, complaint, os.fspath(path))
    os.rmdir(path)


def _tidy(cache: CacheLocation) -> None:
    """Remove lock files that are not held, and what dead runs left."""
    if not cache.writable:
        return
    with translated("cannot remove what is in the cache"):
        for name in listing(cache.root, "locks"):
            _remove_file(cache.root / "locks" / name)
        Sweeper().sweep(private_folder(cache.root, "ingest"))


def _nowhere() -> Path:
    raise AssertionError("nothing is written here")
