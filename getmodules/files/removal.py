"""Remove trees of ours, however deep, read-only or contested, without ever leaving the private directory.

``shutil.rmtree`` will not do before Python 3.13: it recurses, and holds a descriptor for each level, so that a
deep tree ends it. Here each directory that is not empty is first moved up into the private directory itself:
no depth, two open descriptors, no long path. It also cannot leave: links are unlinked, never opened, and a
mount point cannot be moved, so it stays and is reported.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from getmodules.files.opening import DIRECTORY, NOFOLLOW

_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)


def remove_contents(directory: Path, *, keep: Collection[str]) -> list[str]:
    """Remove everything in ``directory``, private and ours, except ``keep``; return what remained, and why.

    A directory that does not exist (any more) has nothing to remove.
    """
    try:
        if keep and set(os.listdir(directory)) <= set(keep):
            return []
        return _remove(directory, lambda root: [entry for entry in _listing(root) if entry[0] not in keep])
    except FileNotFoundError:
        return []
    except OSError as error:
        return [_complaint(directory.name, error)]


def remove_entries(directory: Path, names: Iterable[str]) -> list[str]:
    """Remove only the entries called ``names``: beside them there may be thousands of others, which are in use."""
    try:
        there = [(name, stat.S_ISDIR(found.st_mode)) for name in names if (found := status_of(directory / name))]
        return _remove(directory, lambda root: there) if there else []
    except OSError as error:
        return [_complaint(directory.name, error)]


def _remove(directory: Path, entries: Callable[[int | Path], Iterable[tuple[str, bool]]]) -> list[str]:
    if sys.platform == "win32":
        return _remove_by_path(directory, entries(directory))
    root = os.open(directory, DIRECTORY | NOFOLLOW)
    try:
        return _Removal(root).run(entries(root))
    finally:
        os.close(root)


class _Removal:
    """One pass over a private directory, by descriptor."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._waiting: list[str] = []
        self._complaints: list[str] = []
        self._moved_prefix = f"moved-{os.urandom(4).hex()}-"
        self._moved = 0

    def run(self, entries: Iterable[tuple[str, bool]]) -> list[str]:
        for name, is_directory in entries:
            if is_directory:
                self._waiting.append(name)
            else:
                self._remove_entry(self._root, name, is_directory=False, ours=True)
        while self._waiting:
            self._remove_directory(self._waiting.pop())
        return self._complaints

    def _remove_directory(self, name: str) -> None:
        try:
            directory = self._open(name)
            try:
                ours = _shut_out_others(directory)
                for entry, is_directory in _listing(directory):
                    self._remove_entry(directory, entry, is_directory=is_directory, ours=ours)
            finally:
                os.close(directory)
            os.rmdir(name, dir_fd=self._root)
        except FileNotFoundError:
            pass  # another sweeper was faster
        except OSError as error:
            self._complaints.append(_complaint(name, error))

    def _open(self, name: str) -> int:
        try:
            return os.open(name, DIRECTORY | NOFOLLOW, dir_fd=self._root)
        except PermissionError:
            os.chmod(name, 0o700, dir_fd=self._root)  # not a link (that is ELOOP), and only we can get at it
            return os.open(name, DIRECTORY | NOFOLLOW, dir_fd=self._root)

    def _remove_entry(self, directory: int, name: str, *, is_directory: bool, ours: bool) -> None:
        try:
            if not is_directory:
                os.unlink(name, dir_fd=directory)
            elif not _remove_if_empty(directory, name):
                self._move_up(directory, name, ours=ours)
        except FileNotFoundError:
            pass  # another sweeper was faster
        except OSError as error:
            self._complaints.append(_complaint(name, error))

    def _move_up(self, directory: int, name: str, *, ours: bool) -> None:
        self._moved += 1
        moved = f"{self._moved_prefix}{self._moved}"
        try:
            os.rename(name, moved, src_dir_fd=directory, dst_dir_fd=self._root)
        except PermissionError:
            # To change its "..", a directory itself must be writable. In a directory that others may write to
            # ``name`` could have become a link to anything by now, so there nothing is changed.
            if not ours:
                raise
            os.chmod(name, 0o700, dir_fd=directory)
            os.rename(name, moved, src_dir_fd=directory, dst_dir_fd=self._root)
        self._waiting.append(moved)


def status_of(path: Path) -> os.stat_result | None:
    """Return the status of ``path`` itself, not of what a link leads to; ``None`` where there is nothing."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _listing(directory: int | Path) -> list[tuple[str, bool]]:
    with os.scandir(directory) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _shut_out_others(directory: int) -> bool:
    """Make a directory ours alone; return whether that was possible."""
    try:
        os.fchmod(directory, 0o700)
    except PermissionError:
        return False
    return True


def _remove_if_empty(directory: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=directory)
    except OSError as error:
        if error.errno in _NOT_EMPTY:
            return False
        raise
    return True


def _remove_by_path(directory: Path, entries: Iterable[tuple[str, bool]]) -> list[str]:
    """Remove by path, on Windows: it has no descriptors of directories, and no limit on depth that matters here."""
    import shutil

    complaints: list[str] = []

    def retry_writable(function: object, path: str, reason: object) -> None:
        try:
            os.chmod(path, stat.S_IWRITE)
            (os.rmdir if function is os.rmdir else os.unlink)(path)
        except OSError as error:
            complaints.append(_complaint(path, error))

    for name, is_directory in entries:
        path = str(directory / name)
        if not is_directory:
            try:
                os.unlink(path)
            except OSError as error:
                retry_writable(os.unlink, path, error)
        elif sys.version_info >= (3, 12):
            shutil.rmtree(path, onexc=retry_writable)
        else:
            shutil.rmtree(path, onerror=retry_writable)
    return complaints


def _complaint(name: str, error: OSError) -> str:
    return f"{name}: {error.strerror or error}"
