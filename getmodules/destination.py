"""What may become a module, and what never may, however it is spelled.

Everything is compared by identity (device and inode), never by the text of a path: ``..``, links in the
parents and bind mounts give one directory many names. The same check runs before any work, for a quick answer,
and again at publishing, where only the kernel's own refusals are faster.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from getmodules.errors import DestinationExistsError, InstallError
from getmodules.oserrors import install_error, translated
from getmodules.removal import status_of
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_WORK_TREE_MARKS = (".git", ".hg", ".svn")
#: How far below work trees are looked for: an accident is prevented, and a large module not searched for minutes.
_DEPTH, _MOST_ENTRIES = 3, 10_000
_MOUNT_TABLE = Path("/proc/self/mountinfo")
_OCTAL_ESCAPE = re.compile(rb"\\([0-7]{3})")


@valueclass
class Destination:
    """Where a module goes. ``path`` is where that really is: absolute, the links of its parents resolved."""

    path: Path
    shown: str
    force: bool
    source_root: Path | None

    @classmethod
    def at(
        cls, dest: Path, *, force: bool, source_root: Path | None, real: Callable[[Path], Path] | None = None
    ) -> Destination:
        """Relative paths are those of the current directory, now. ``real`` may know already where a directory is."""
        shown = printable(str(dest), 1000)
        try:
            # The last component is not resolved: if it is a link, then it is the link that stands in the way.
            if b"\0" in os.fsencode(dest):
                raise ValueError("a path cannot contain NUL")
            if dest.name in ("", ".."):
                path = Path(os.path.realpath(dest))
            else:
                path = (real or real_path)(dest.parent) / dest.name
        except (OSError, ValueError) as error:
            raise InstallError(f"{shown} cannot be a destination: {error}") from error
        return cls(path=path, shown=shown, force=force, source_root=source_root)

    def check(self) -> None:
        """Refuse a destination that is in use, or that must never be replaced."""
        try:
            status = status_of(self.path)
            self._check_source(status)
            if status is not None:
                self._check_occupant(status)
        except FileNotFoundError:
            return  # moved away since it was seen, by another run that replaces it: nothing is in the way now
        except OSError as error:
            raise install_error(error, f"cannot look at the destination {self.shown}") from error

    def check_source(self) -> None:
        """Refuse one that has to do with what goes there."""
        with translated(f"cannot look at the destination {self.shown}"):
            self._check_source(status_of(self.path))

    def _check_source(self, status: os.stat_result | None) -> None:
        if self.source_root is None:
            return
        try:
            source = os.stat(self.source_root)
        except OSError:
            return  # the getter will say so, and knows better why
        relation = None
        if status is not None and os.path.samestat(status, source):
            relation = "is the source itself"
        elif any(os.path.samestat(above, source) for above in _existing(self.path.parent)):
            relation = f"lies inside the source {printable(str(self.source_root), 1000)}"
        elif status is not None and _is_or_contains(status, self.source_root):
            relation = f"contains the source {printable(str(self.source_root), 1000)}"
        if relation:
            raise InstallError(
                f"the destination {self.shown} {relation}",
                part="inside-source",
                hint="choose a destination that has nothing to do with the source",
            )

    def _check_occupant(self, status: os.stat_result) -> None:
        if not is_real_directory(status):
            kind = _kind(status)
            if self.force:
                raise self._protected(kind)
            raise DestinationExistsError(
                f"the destination {self.shown} exists: it is {kind}", hint="choose another destination"
            )
        with os.scandir(self.path) as entries:
            empty = next(entries, None) is None
        if empty:
            reason = _mount_at(self.path)
            if reason is None and _is_current(status):
                # Replaced, it would leave whoever is in it in a directory that is not there any more.
                raise self._protected("the current directory", hint="cd .. and name it from there")
        else:
            reason = self._reason_to_keep(status)
            if not self.force:
                raise DestinationExistsError(
                    f"the destination {self.shown} exists and is not empty",
                    hint="choose another destination" if reason else "--force replaces this directory",
                )
        if reason:
            raise self._protected(reason)

    def _reason_to_keep(self, status: os.stat_result) -> str | None:
        """What makes a directory one that is never replaced, ``None`` for an ordinary one."""
        if self.path == self.path.parent:
            return "the root of the file system"
        if mount := _mount_at(self.path):
            return mount
        if work_tree := _work_tree_at(self.path):
            return work_tree
        for name, directory in _where_people_live():
            if _is_or_contains(status, directory):
                return f"{name}, or a directory above it"
        return None

    def _protected(
        self, reason: str, hint: str = "choose another destination: --force replaces ordinary directories only"
    ) -> InstallError:
        return InstallError(f"the destination {self.shown} is {reason}", part="protected", hint=hint)

    def replaced_by_something_else(self) -> InstallError:
        return self._protected("not a directory any more: it changed in this moment")

    def in_use(self) -> InstallError:
        return self._protected("a mount point, or in use by the system")


def real_path(directory: Path) -> Path:
    """Where ``directory`` is, all links resolved, whether it is there or not."""
    return Path(os.path.realpath(directory))


def is_real_directory(status: os.stat_result) -> bool:
    """Not a link, nor a junction, which is a link of Windows that looks like a directory."""
    return stat.S_ISDIR(status.st_mode) and not getattr(status, "st_reparse_tag", 0)


def _kind(status: os.stat_result) -> str:
    if stat.S_ISREG(status.st_mode):
        return "a file"
    if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):  # a directory: what Windows calls a junction
        return "a symbolic link"
    return "a special file"


def _existing(path: Path) -> Iterator[os.stat_result]:
    """``path`` and all above it, as far as they exist and may be seen."""
    for directory in (path, *path.parents):
        try:
            yield os.stat(directory)
        except OSError:
            continue


def _is_or_contains(status: os.stat_result, path: Path) -> bool:
    return any(os.path.samestat(status, above) for above in _existing(Path(os.path.realpath(path))))


def _where_people_live() -> Iterator[tuple[str, Path]]:
    yield "the home directory", Path(os.path.expanduser("~"))
    if sys.platform != "win32":
        import pwd

        try:
            yield "the home directory", Path(pwd.getpwuid(os.geteuid()).pw_dir)  # HOME may say anything
        except KeyError:
            pass  # a user without an entry, as containers have
    try:
        yield "the current directory", Path.cwd()
    except FileNotFoundError:
        pass  # it was removed


def _is_current(status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, os.stat(os.curdir))
    except FileNotFoundError:
        return False  # it was removed


def _work_tree_at(path: Path) -> str | None:
    """Whether ``path`` is the root of a work tree, or has one not far below, in words."""
    for mark in _WORK_TREE_MARKS:
        if os.path.lexists(path / mark):
            return f"the root of a work tree (it has a {mark})"
    for directory, name in islice(_entries_below(path), _MOST_ENTRIES):
        if name in _WORK_TREE_MARKS:
            return f"a directory with a work tree inside ({printable(directory)!r} has a {name})"
    return None


def _entries_below(path: Path) -> Iterator[tuple[str, str]]:
    """Directory and name of what lies below, level by level, as deep as work trees are looked for."""
    level = [""]
    for _ in range(_DEPTH + 1):
        below: list[str] = []
        for directory in level:
            try:
                with os.scandir(path / directory) as entries:
                    for entry in entries:
                        yield directory, entry.name
                        if entry.is_dir(follow_symlinks=False):
                            below.append(f"{directory}/{entry.name}".lstrip("/"))
            except OSError:
                continue  # it is closed to us, or gone: removing it will say so
        level = below


def _mount_at(path: Path) -> str | None:
    """Whether something is mounted at ``path`` or below, in words: removing that would empty a file system."""
    if os.path.ismount(path):
        return "a mount point"
    try:
        table = _MOUNT_TABLE.read_bytes()
    except OSError:
        return None
    # ismount() compares devices, which a bind mount does not change; and what is mounted below is the kernel's
    # own spelling of a real path, so that here text may be compared.
    wanted = os.fsencode(path)
    for line in table.splitlines():
        mounted = _OCTAL_ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), line.split(b" ")[4])
        if mounted == wanted:
            return "a mount point"
        if mounted.startswith(wanted + b"/"):
            return f"a directory with a mount point inside ({printable(os.fsdecode(mounted))})"
    return None
