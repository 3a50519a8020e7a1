"""Reads directories on this machine, as members to install or to hash.

The walk goes below one directory descriptor, in sorted order, and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from getmodules.localfile import LocalFile, unreadable
from getmodules.model import Kind, Member, Members

def members_of(path: str | os.PathLike[str]) -> Members:
    """The members of a directory, for a getter that has filled one, or that copies one."""
    return Members(walk(Path(path)))


def walk(root: Path) -> Iterator[Member]:
    pending = [""]
    while pending:
        below = pending.pop()
        directories = []
        for name, status in _listing(root, below):
            path = f"{below}/{name}" if below else name
            kind = _kind(status.st_mode)
            if kind is Kind.DIRECTORY:
                directories.append(path)
                yield Member(path, Kind.DIRECTORY)
            elif kind is Kind.SYMLINK:
                yield Member(path, Kind.SYMLINK, target=_readlink(root / path))
            elif kind is Kind.FILE:
                executable = bool(status.st_mode & 0o111)
                content = partial(LocalFile, root / path, status.st_size)
                yield Member(path, Kind.FILE, status.st_size, executable, content)
            else:
                yield Member(path, kind)
        pending.extend(reversed(directories))


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
