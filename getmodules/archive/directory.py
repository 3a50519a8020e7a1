"""Read directories on this machine, as members to install or to hash.

The walk stays below one directory descriptor, is in sorted order, and never follows a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from getmodules.api.model import Kind, Member, Members
from getmodules.archive.dot_git import DOT_GIT
from getmodules.files.local import LocalFile, unreadable, unreadable_below
from getmodules.files.opening import directory_below, split


def members_of(path: str | os.PathLike[str]) -> Members:
    """Return the members of a directory, for a getter that has filled one, or that copies one."""
    return Members(walk(Path(path), into_git=False))


def walk(
    root: Path,
    leave_out: Callable[[str, bool], bool] = lambda path, directory: False,
    *,
    into_git: bool = True,
) -> Iterator[Member]:
    """Yield the members below ``root``.

    ``leave_out`` is called with each path and whether it is a directory; a directory left out is not entered. Nor is a
    ``.git``, if not ``into_git``: what is not installed need not be looked at, and may be a long history.
    """
    pending = [""]
    while pending:
        below = pending.pop()
        directories = []
        for name, status, target in _listing(root, below):
            path = f"{below}/{name}" if below else name
            kind = _kind(status.st_mode)
            if leave_out(path, kind is Kind.DIRECTORY):
                continue
            if kind is Kind.DIRECTORY and (into_git or name != DOT_GIT):
                directories.append(path)
            yield _member(root, path, status, target)
        pending.extend(reversed(directories))


def member_at(root: Path, path: str) -> Member:
    """Return the member at ``path``: a link itself, not what it leads to. Raises ``OSError``."""
    parents, name = split(path)
    with directory_below(root, parents) as (prefix, directory):
        status = os.stat(f"{prefix}{name}", dir_fd=directory, follow_symlinks=False)
        target = _target(prefix, name, directory, status)
    return _member(root, path, status, target)


def _listing(root: Path, below: str) -> list[tuple[str, os.stat_result, str]]:
    """Return names, their own status and the targets of links, in order. No link in ``below`` is followed."""
    try:
        with (
            directory_below(root, below.split("/") if below else ()) as (prefix, directory),
            os.scandir(prefix if directory is None else directory) as entries,
        ):
            found = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
            return [(name, status, _target(prefix, name, directory, status)) for name, status in found]
    except OSError as error:
        raise (unreadable_below if below else unreadable)(root / below, error) from error


def _target(prefix: str, name: str, directory: int | None, status: os.stat_result) -> str:
    return os.readlink(f"{prefix}{name}", dir_fd=directory) if stat.S_ISLNK(status.st_mode) else ""


def _member(root: Path, path: str, status: os.stat_result, target: str) -> Member:
    kind = _kind(status.st_mode)
    if kind is Kind.SYMLINK:
        return Member(path, kind, target=target)
    if kind is Kind.FILE:
        executable = bool(status.st_mode & 0o111)
        size = status.st_size
        return Member(path, kind, size, executable, partial(LocalFile, root / path, size, root))
    return Member(path, kind)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    return Kind.SYMLINK if stat.S_ISLNK(mode) else Kind.SPECIAL
