"""Build a tree in a private directory beside its destination, and publish it with one rename.

Whatever happens, the destination is absent, as it was, or new. Nothing is written into it: a whole tree takes
its place, on the same file system, in one step. Everything else that was made on the way is removed when the module
is done, at the latest with the private directory at the end of the operation; what a killed process could not remove,
the next run does (:mod:`getmodules.files.private`).

Some directories are never replaced, however they are spelled (:class:`Destination`). They are compared by identity
(device and inode), never by the text of a path: ``..``, links in the parents and bind mounts give one directory many
names. The same check runs before any work, for a quick answer, and again right before publishing.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

from getmodules.errors import DestinationExistsError, InstallError
from getmodules.files.opening import DIRECTORY, NOFOLLOW
from getmodules.files.os_errors import install_error, translated
from getmodules.files.private import PrivateDirectories
from getmodules.files.removal import remove_entries, status_of
from getmodules.files.syscalls import exchange, sync_filesystem
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_FORCE = "--force replaces this directory"
_WORK_TREE_MARKS = (".git", ".hg", ".svn")
#: The depth to which work trees are looked for: against accidents, without searching a large module for minutes.
_DEPTH, _MOST_ENTRIES = 3, 10_000
_MOUNT_TABLE = Path("/proc/self/mountinfo")
_OCTAL_ESCAPE = re.compile(rb"\\([0-7]{3})")


@valueclass
class Destination:
    """The directory that a module is installed as. ``path`` is absolute, the links of its parents resolved."""

    path: Path
    shown: str
    force: bool
    source_root: Path | None

    @classmethod
    def from_path(
        cls, dest: Path, *, force: bool, source_root: Path | None, real: Callable[[Path], Path] | None = None
    ) -> Destination:
        """Return the destination at ``path``, relative to the current directory. ``real`` may remember real paths."""
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

    def check(self, *, may_be_full: bool = False) -> None:
        """Refuse a destination that is in use, or that must never be replaced.

        With ``may_be_full``, an ordinary directory is let through: it may be what is about to be installed.
        """
        try:
            status = status_of(self.path)
            self._check_source(status)
            if status is not None:
                self._check_occupant(status, may_be_full=may_be_full)
        except FileNotFoundError:
            return  # moved away since it was seen, by another run that replaces it: nothing is in the way now
        except OSError as error:
            raise install_error(error, f"cannot look at the destination {self.shown}") from error

    def check_source(self) -> None:
        """Refuse a destination inside of the source, or around it."""
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

    def _check_occupant(self, status: os.stat_result, *, may_be_full: bool) -> None:
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
                # Replacing it would leave every process that is in it in a removed directory.
                raise self._protected("the current directory", hint="cd .. and name it from there")
        else:
            reason = self._reason_to_keep(status)
            if not self.force and not (may_be_full and reason is None):
                raise DestinationExistsError(
                    f"the destination {self.shown} exists and is not empty",
                    hint="choose another destination" if reason else _FORCE,
                )
        if reason:
            raise self._protected(reason)

    def _reason_to_keep(self, status: os.stat_result) -> str | None:
        """Return why a directory is never replaced; ``None`` for an ordinary one."""
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

    def is_another_tree(self, difference: str) -> DestinationExistsError:
        return DestinationExistsError(
            f"the destination {self.shown} exists, and is not what would be installed: {difference}", hint=_FORCE
        )

    def replaced_by_something_else(self) -> InstallError:
        return self._protected("not a directory any more: it changed in this moment")

    def in_use(self) -> InstallError:
        return self._protected("a mount point, or in use by the system")


def real_path(directory: Path) -> Path:
    """Return the path of ``directory`` with all links resolved, whether it exists or not."""
    return Path(os.path.realpath(directory))


def is_real_directory(status: os.stat_result) -> bool:
    """Return whether ``path`` is a directory, not a link, nor a junction, a link of Windows that looks like one."""
    return stat.S_ISDIR(status.st_mode) and not getattr(status, "st_reparse_tag", 0)


def _kind(status: os.stat_result) -> str:
    if stat.S_ISREG(status.st_mode):
        return "a file"
    if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):  # a directory: what Windows calls a junction
        return "a symbolic link"
    return "a special file"


def _existing(path: Path) -> Iterator[os.stat_result]:
    """Yield ``path`` and all directories above it, as far as they exist and may be seen."""
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
    """Say in words that ``path`` is the root of a work tree, or has one not far below; ``None`` otherwise."""
    for mark in _WORK_TREE_MARKS:
        if os.path.lexists(path / mark):
            return f"the root of a work tree (it has a {mark})"
    for directory, name in islice(_entries_below(path), _MOST_ENTRIES):
        if name in _WORK_TREE_MARKS:
            return f"a directory with a work tree inside ({printable(directory)!r} has a {name})"
    return None


def _entries_below(path: Path) -> Iterator[tuple[str, str]]:
    """Yield directory and name of everything below, level by level, as deep as work trees are looked for."""
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
    """Say in words that something is mounted at ``path`` or below, since removing that would empty a file system."""
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


#: Returns in words how the directory at the second path differs from the one at the first; None if it does not.
Compare = Callable[[Path, Path], str | None]
_ATTEMPTS = 20
#: Errors of rename that say that something is at the destination already.
_OCCUPIED = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})


class Staging:
    """The staging of one module, in a ``with`` block: leaving it removes what was not published."""

    def __init__(self, destination: Destination, private: PrivateDirectories, compare: Compare | None) -> None:
        self._destination = destination
        self._compare = None if destination.force else compare
        self._parent = destination.path.parent
        self._private = private
        self._directory = Path()
        #: Distinguishes our names in the private directory from those of other modules.
        self._prefix = os.urandom(8).hex()
        self._names: set[str] = set()
        self._tree = Path()

    @classmethod
    def beside(
        cls,
        dest: Path,
        private: PrivateDirectories,
        *,
        force: bool,
        source_root: Path | None,
        compare: Compare | None = None,
    ) -> Staging:
        """Return a staging for ``dest``; nothing is touched before the ``with`` block.

        ``force`` may replace an ordinary directory. With ``compare``, one that is just what would be published is left
        alone; without either, it is refused before any work. ``source_root`` is what is copied or unpacked, where that
        lies on this machine. ``private`` belongs to the operation, and removes what is left at its end.
        """
        destination = Destination.from_path(dest, force=force, source_root=source_root, real=private.real)
        return cls(destination, private, compare)

    @property
    def tree(self) -> Path:
        """Return the directory that will be published, of mode 0755."""
        return self._tree

    def spare(self, name: str) -> Path:
        """Return a private path beside the tree, for a download or a working directory; removed with the staging."""
        own = f"{self._prefix}-{name}"
        self._names.add(own)
        return self._directory / own

    def open_tree(self) -> int:
        """Open :attr:`tree`; the caller closes the descriptor."""
        with translated(f"cannot open the private directory beside {self._destination.shown}"):
            return os.open(self.tree, DIRECTORY | NOFOLLOW)

    def __enter__(self) -> Self:
        self._destination.check(may_be_full=self._compare is not None)
        parent = printable(str(self._parent), 1000)
        with translated(f"cannot prepare {self._destination.shown} in the directory {parent}"):
            self._directory = self._private_directory()
            self._tree = self._make_tree()
        return self

    def __exit__(self, *_: object) -> None:
        self._discard()

    def publish(self) -> bool:
        """Bring the tree to the disk, put it in its place, and remove everything else.

        Returns False if just that tree is there already, which is then left alone.
        """
        shown = self._destination.shown
        with translated(f"cannot bring {shown} to the disk"):
            self._sync()
        with translated(f"cannot put {shown} in its place"):
            is_new = self._put_in_place()
        self._discard()
        return is_new

    # ------------------------------------------------------------------------------------------- preparing

    def _private_directory(self) -> Path:
        attempt = 0
        while True:
            try:
                return self._private.beside(self._parent, partial(self._private.make_parents, self._parent))
            except FileNotFoundError:
                # Another run failed and removed a parent that it had made, and that we had counted on.
                attempt += 1
                if attempt == _ATTEMPTS:
                    raise

    def _make_tree(self) -> Path:
        """Make a directory of mode 0755, whatever the umask; a group that is handed down (setgid) stays."""
        tree = self.spare("tree")
        os.mkdir(tree, 0o755)
        found = stat.S_IMODE(os.stat(tree).st_mode)
        if found & 0o777 != 0o755:
            os.chmod(tree, found & stat.S_ISGID | 0o755)
        return tree

    def _discard(self) -> None:
        """Remove what is ours; what resists is logged when the private directory itself is removed."""
        remove_entries(self._directory, self._names)
        self._names.clear()

    # ------------------------------------------------------------------------------------------ publishing

    def _sync(self) -> None:
        if sys.platform == "win32":
            return  # nothing there syncs a file system for people without privileges
        tree = self.open_tree()
        try:
            sync_filesystem(tree)
        finally:
            os.close(tree)

    def _put_in_place(self) -> bool:
        """Put the tree in its place. Others may do the same at this moment: the rename decides who was first."""
        for attempt in range(_ATTEMPTS):
            try:
                self._rename_to_destination()
                return True
            except OSError as error:
                if error.errno == errno.EBUSY:
                    raise self._destination.in_use() from error
                if error.errno not in _OCCUPIED or attempt == _ATTEMPTS - 1:
                    raise
            # Refuses whatever may not be replaced; else it is force, or may be the same tree, or is empty again.
            self._destination.check(may_be_full=self._compare is not None)
            if self._destination.force and self._replace():
                return True
            if self._compare is not None and self._is_there_already(self._compare):
                return False
        raise AssertionError("the last attempt raises or returns")

    def _is_there_already(self, compare: Compare) -> bool:
        """Return whether the tree is at the destination already, and False if nothing is there; raise if another is."""
        dest = self._destination.path
        with suppress(FileNotFoundError):
            if os.listdir(dest):
                difference = compare(self.tree, dest)
                if difference is not None:
                    raise self._destination.is_another_tree(difference)
                return True
        return False

    def _rename_to_destination(self) -> None:
        """Rename the tree, atomically. The kernel refuses anything at the destination but an empty directory."""
        dest = self._destination.path
        if sys.platform == "win32" and os.path.lexists(dest):
            self._destination.check(may_be_full=self._compare is not None)
            os.rmdir(dest)  # rename replaces nothing there; this refuses what is not empty
        os.rename(self.tree, dest)

    def _replace(self) -> bool:
        """Put the tree where a directory is. Return ``False`` if that is not there any more."""
        dest = self._destination.path
        try:
            if not exchange(self.tree, dest):
                return self._replace_in_two_steps()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._replace_error(error) from error
        if not is_real_directory(os.lstat(self.tree)):
            exchange(self.tree, dest)
            raise self._destination.replaced_by_something_else()
        return True

    def _replace_in_two_steps(self) -> bool:
        """Replace on file systems that cannot exchange: for a moment in between, the destination is absent."""
        dest, old = self._destination.path, self.spare(f"old-{os.urandom(4).hex()}")
        try:
            os.rename(dest, old)
            if not is_real_directory(os.lstat(old)):
                raise self._destination.replaced_by_something_else()
            os.rename(self.tree, dest)
        except BaseException as error:
            if not os.path.lexists(old) or not os.path.lexists(self.tree):
                raise
            if isinstance(error, OSError) and error.errno in _OCCUPIED and dest.is_dir():
                return False  # another run's tree came in between: now it is that one which is to be replaced
            self._put_back(old)
            raise
        return True

    def _put_back(self, old: Path) -> None:
        dest = self._destination.path
        try:
            os.rename(old, dest)
        except OSError as error:
            rescued = dest.with_name(f"{dest.name}.before-{os.urandom(4).hex()}")
            os.rename(old, rescued)
            raise InstallError(
                f"{self._destination.shown} was taken by another program while it was replaced",
                hint=f"what it was before is now {rescued.name}, beside it",
            ) from error

    def _replace_error(self, error: OSError) -> InstallError:
        if error.errno == errno.EBUSY:
            return self._destination.in_use()
        failure = install_error(error, f"cannot replace {self._destination.shown}")
        if error.errno == errno.EXDEV:
            # Overlay file systems cannot move a directory of a lower layer, such as one of a container's image.
            failure.hint = "this file system cannot move that directory: remove it by hand, then install again"
        return failure
