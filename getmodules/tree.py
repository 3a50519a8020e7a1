"""Reads directories on this machine, as members to install or to hash.

The walk goes below one directory descriptor, in sorted order, and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from getmodules.localfile import LocalFile, unreadable
from getmodules.model import Kind, Member, Members


def members_of(path: str | os.PathLike[str]) -> Members:
    """The members of a directory, for a getter that has filled one, or that copies one."""
    return Members(walk(Path(path)))


def walk(root: Path, leave_out: Callable[[str, bool], bool] = lambda path, directory: False) -> Iterator[Member]:
    """``leave_out`` is asked for each path, and whether it is a directory: those are then not looked into."""
    pending = [""]
    while pending:
        below = pending.pop()
        directories = []
        for name, status in _listing(root, below):
            path = f"{below}/{name}" if below else name
            kind = _kind(status.st_mode)
            if leave_out(path, kind is Kind.DIRECTORY):
                continue
            if kind is Kind.DIRECTORY:
                directories.append(path)
                yield Member(path, Kind.DIRECTORY)
            else:
                yield member_at(root, path, status)
        pending.extend(reversed(directories))


def member_at(root: Path, path: str, status: os.stat_result) -> Member:
    """What lies at ``path``, given its own status: that of a link, not of what it leads to."""
    kind = _kind(status.st_mode)
    if kind is Kind.SYMLINK:
        return Member(path, kind, target=_readlink(root / path))
    if kind is Kind.FILE:
        executable = bool(status.st_mode & 0o111)
        return Member(path, kind, status.st_size, executable, partial(LocalFile, root / path, status.st_size))
    return Member(path, kind)


def _listing(root: Path, below: str) -> list[tuple[str, os.stat_result]]:
    try:
        with os.scandir(root / below) as entries:
            return sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
    except OSError as error:
        raise unreadable(root / below, error) from error


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    return Kind.SYMLINK if stat.S_ISLNK(mode) else Kind.SPECIAL


def _readlink(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError as error:
        raise unreadable(path, error) from error
