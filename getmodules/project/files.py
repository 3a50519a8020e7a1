"""Writes a project's files: in one step, and on the disk before anybody is told that it was done."""

from __future__ import annotations

import os
from pathlib import Path

from getmodules.errors import InstallError
from getmodules.oserrors import translated
from getmodules.privatedir import PrivateDirectory, Sweeper
from getmodules.redact import printable

_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def write_file(path: Path, text: str, sweeper: Sweeper) -> None:
    """Replace the file at ``path``, or leave it as it was. A link stays where it leads to a file beside it."""
    what = f"cannot write {printable(str(path), 1000)}"
    with translated(what):
        target = target_of(path)
        sweeper.sweep(target.parent)
        private = PrivateDirectory(target.parent)
        try:
            private.create()
            fresh = private.path / "new"
            _write(fresh, target, text.encode())
            os.replace(fresh, target)
        finally:
            private.remove()
        _sync_directory(target.parent)


def target_of(path: Path) -> Path:
    """Where ``path`` leads: never out of its directory. A project that somebody else made may hold such a link."""
    what = f"cannot write {printable(str(path), 1000)}"
    target = Path(os.path.realpath(path))
    if target.parent != Path(os.path.realpath(path.parent)):
        raise InstallError(
            f"{what}: it is a link to somewhere else", part="protected", hint="replace the link by the file"
        )
    if target.exists() and not target.is_file():
        raise InstallError(f"{what}: it is not a file")
    return target


def _write(fresh: Path, target: Path, data: bytes) -> None:
    with open(os.open(fresh, _NEW_FLAGS, 0o666), "wb") as stream:
        if os.name != "nt" and target.exists():
            os.fchmod(stream.fileno(), os.stat(target).st_mode & 0o777)
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_directory(directory: Path) -> None:
    if os.name != "nt":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
