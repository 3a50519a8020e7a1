"""Writes a project's files: in one step, and on the disk before anybody is told that it was done."""

from __future__ import annotations

import os
from pathlib import Path

from getmodules.errors import InstallError
from getmodules.files import durable
from getmodules.files.durable import shown_path
from getmodules.files.os_errors import translated
from getmodules.files.private import PrivateDirectory, Sweeper


def write_file(path: Path, text: str, sweeper: Sweeper) -> None:
    """Replace the file at ``path``, or leave it as it was. A link stays where it leads to a file beside it."""
    what = f"cannot write {shown_path(path)}"
    with translated(what):
        target = target_of(path)
        sweeper.sweep(target.parent)
        private = PrivateDirectory(target.parent)
        try:
            private.create()
            fresh = private.path / "new"
            with durable.new_file(fresh) as stream:
                if os.name != "nt" and target.exists():
                    os.fchmod(stream.fileno(), os.stat(target).st_mode & 0o777)
                stream.write(text.encode())
            durable.put(fresh, target)
        finally:
            private.remove()


def target_of(path: Path) -> Path:
    """Where ``path`` leads: never out of its directory. A project that somebody else made may hold such a link."""
    what = f"cannot write {shown_path(path)}"
    target = Path(os.path.realpath(path))
    if target.parent != Path(os.path.realpath(path.parent)):
        raise InstallError(
            f"{what}: it is a link to somewhere else", part="protected", hint="replace the link by the file"
        )
    if target.exists() and not target.is_file():
        raise InstallError(f"{what}: it is not a file")
    return target
