"""A bare repository in the getter's workshop, created by us and put in order before each use.

It may be from an earlier run, or left by a process that was killed, or changed by somebody. So its configuration is
written anew before it is read, and every object that is read is hashed against its id. A commit is complete if our
mark for it exists, a file that is written after git has fetched and checked everything that the commit needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

from getmodules.errors import InstallError
from getmodules.files.os_errors import translated
from getmodules.files.removal import remove_contents
from getmodules.getters.git.environment import REMOTE
from getmodules.util.redact import printable

#: The refs for what was fetched; the next fetch builds on them.
REFS: Final = "refs/getmodules"
_COMPLETE: Final = "complete"
_DIRECTORIES: Final = ("objects", "objects/pack", "refs", _COMPLETE)
_FILES_ALONE: Final = ("objects/pack", _COMPLETE)
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_IN_THE_WAY: Final = ("hooks", "info", "logs", "worktrees", "modules", "commondir", "objects/info")


class Extent(StrEnum):
    """The part of a repository that a store has. They have separate stores: git assumes that a store is complete."""

    #: Single commits with all their trees and files.
    TIP = "tip"
    #: Commits and trees, and only those files that were wanted.
    LEAN = "lean"
    #: All commits, without trees and files.
    COMMITS = "commits"
    #: All branches and tags with their whole history.
    HISTORY = "history"

    @property
    def filter(self) -> str | None:
        return {"lean": "blob:none", "commits": "tree:0"}.get(self.value)


class Store:
    """A bare repository for one extent and one kind of hash."""

    def __init__(self, workshop: Path, kind: Extent, id_length: int) -> None:
        self.kind = kind
        self.algorithm = "sha256" if id_length == 64 else "sha1"
        self.path = workshop / f"{kind}-{self.algorithm}"

    def prepare(self) -> None:
        """Make it usable, whatever its present state."""
        with translated(f"cannot prepare {printable(str(self.path), 500)!r}"):
            if not self._is_sound():
                self._remove()
            for directory in _DIRECTORIES:
                (self.path / directory).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._clear()
            (self.path / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
            self.for_reading()

    def _is_sound(self) -> bool:
        """Return whether only regular files and directories are where git or we will open them: no links, no pipes."""
        if not self._is_directory():
            return not os.path.lexists(self.path)
        waiting = [""]
        while waiting:
            directory = waiting.pop()
            with os.scandir(self.path / directory) as entries:
                for entry in entries:
                    name = f"{directory}/{entry.name}".lstrip("/")
                    if name in _IN_THE_WAY:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if directory in _FILES_ALONE or not (directory or name in _DIRECTORIES):
                            return False
                        waiting.append(name)
                    elif name in _DIRECTORIES or not entry.is_file(follow_symlinks=False):
                        return False
        return True

    def _is_directory(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()

    def _remove(self) -> None:
        if not self._is_directory():
            self.path.unlink(missing_ok=True)
        elif complaints := remove_contents(self.path, keep=()):
            raise InstallError(f"cannot clean up {printable(str(self.path), 500)!r}: {printable(complaints[0])}")

    def _clear(self) -> None:
        for name in _IN_THE_WAY:
            path = self.path / name
            if path.is_dir() and not path.is_symlink():
                remove_contents(path, keep=())
            else:
                path.unlink(missing_ok=True)
        for path in self._leftovers():
            path.unlink(missing_ok=True)

    def _leftovers(self) -> Iterator[Path]:
        """Yield the files that a killed git left behind: a lock file would block for ever."""
        yield from self.path.glob("*.lock")
        yield from (self.path / "refs").rglob("*.lock")
        yield from (self.path / "objects" / "pack").glob("tmp_*")

    def for_reading(self) -> None:
        """Configure a plain repository, in which git fetches no missing object on its own."""
        self._configure("")

    def for_fetching(self) -> None:
        """Configure a partial clone, if the extent is filtered."""
        if self.kind.filter is not None:
            self._configure(
                f"\tpartialClone = {REMOTE}\n"
                f'[remote "{REMOTE}"]\n\tpromisor = true\n\tpartialclonefilter = {self.kind.filter}\n'
            )

    def _configure(self, extension: str) -> None:
        lines = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n"
        if self.algorithm == "sha256":
            lines += "\tobjectFormat = sha256\n"
        with translated("cannot configure a working directory"):
            (self.path / "config").write_text(lines + extension, encoding="ascii")

    def is_complete(self, commit: str) -> bool:
        return (self.path / _COMPLETE / commit).is_file()

    def mark_complete(self, commit: str, kind: str | None) -> None:
        """Mark ``commit`` as complete; ``kind`` is that of the network it came from, the limit for its submodules."""
        with translated("cannot write into a working directory"):
            (self.path / _COMPLETE / commit).write_text(kind or "", encoding="ascii")

    def network_kind(self, commit: str) -> str | None:
        """Return the kind of the network that a complete commit came from, if it is known."""
        with translated("cannot read a working directory"):
            return (self.path / _COMPLETE / commit).read_text(encoding="ascii", errors="replace") or None

    def ref(self, name: str) -> str | None:
        """Return the id of one of our refs, which git wrote."""
        try:
            text = (self.path / REFS / name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return text if _ID.fullmatch(text) else None

    def bytes(self) -> int:
        """Return the size of the packs, the only files that grow."""
        total = 0
        with suppress(OSError), os.scandir(self.path / "objects" / "pack") as entries:
            for entry in entries:
                with suppress(OSError):  # git renames them when they are finished
                    total += entry.stat().st_size
        return total

    def wipe(self) -> None:
        """Remove everything, and prepare an empty store."""
        self._remove()
        self.prepare()
