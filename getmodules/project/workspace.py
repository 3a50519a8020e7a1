"""A workspace is a project with the means to work on it: its files, its addresses, its state on this machine.

Files are replaced in one step, and are on the disk before success is reported.

The state remembers which trees we installed, so that an update can tell them from edited ones. The lock says what
should be there; after it was updated (``git pull``, ``lock --upgrade``) it does not know any more what was there
before. ``.getmodules/installed.json`` does: it has the h1 and the t1 of each tree as we installed it. It is written
before the tree is installed, since a run that is killed can write nothing; for a tree that is to be replaced it then
lists the old and the new hashes. It is a help and never a proof: if it is missing or wrong, a tree counts as edited,
and nothing is overwritten.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from getmodules.addresses.types import ModuleAddress
from getmodules.api.limits import Deadline
from getmodules.api.ports import Progress
from getmodules.archive.tree_hash import TreeHashes
from getmodules.cache.locks import locked
from getmodules.errors import ConfigError, InstallError
from getmodules.files import durable
from getmodules.files.durable import shown_path
from getmodules.files.os_errors import translated
from getmodules.files.private import PrivateDirectory, Sweeper
from getmodules.pipeline.batch import Pace
from getmodules.pipeline.detect import detect
from getmodules.pipeline.operation import Operation
from getmodules.project.lockfile import Lock, format_lock, read_lock
from getmodules.project.manifest import Manifest, ProjectFiles
from getmodules.project.names import STATE_DIRECTORY, check_dest
from getmodules.project.toml import nearest_hint, read_text
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_INSTALLED, _BUSY, _IGNORE = "installed.json", "busy", ".gitignore"
_ATTEMPTS = 20
_READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_log = logging.getLogger("getmodules")


@valueclass
class Workspace:
    """One project, and the services of one operation on it."""

    files: ProjectFiles
    operation: Operation
    pace: Pace
    #: Reads the manifest; None if it is not to be read.
    read: Callable[[Path], Manifest] | None = None
    #: The registry in which ``namespace/name/system`` is a module.
    registry: str | None = None

    def detect(self, source: str) -> ModuleAddress:
        """Return the address of ``source``; relative ones start at the directory of the manifest.

        That is its real path: in a project that is reached through a link, ``..`` is not what is above the link.
        """
        return detect(source, self.operation.catalog, base=self.real_path(""), registry=self.registry).address

    def checkpoint(self) -> None:
        self.operation.checkpoint()

    def exclusive(self) -> AbstractContextManager[None]:
        """Lock the project until the block ends, waiting for other runs at most as long as an operation may take."""
        deadline = Deadline.after(self.operation.limits.seconds)

        def checkpoint() -> None:
            self.checkpoint()
            deadline.check()

        return self.state.exclusive(self.operation.progress, checkpoint)

    @property
    def state(self) -> ProjectState:
        return ProjectState(self.files.directory, self.operation.sweeper)

    def manifest(self) -> Manifest:
        """Read the manifest as it is now: other runs may have changed it while this one waited for them."""
        assert self.read is not None, "this work leaves the manifest unread"
        return self.read(self.files.manifest)

    def lock(self) -> Lock | None:
        return read_lock(self.files.lock)

    def write_lock(self, lock: Lock) -> bool:
        """Write the lock; return whether its text has changed."""
        text = format_lock(lock)
        if self.has_lock_text(text):
            return False
        write_file(self.files.lock, text, self.operation.sweeper)
        return True

    def has_lock_text(self, text: str) -> bool:
        """Return whether the file of the lock has just this text."""
        try:
            return self.files.lock.read_bytes() == text.encode()
        except OSError:
            return False

    def dest(self, dest: str) -> Path:
        """Return the path of a destination; refuse one behind a link to where modules must not be, such as ``.git``."""
        root, real = self.real_path(""), self.real_dest(dest)
        start = os.path.join(root, "")
        try:
            inner = real.removeprefix(start) if real.startswith(start) else os.path.relpath(real, root)
            check_dest(inner.replace(os.sep, "/"))
        except (ConfigError, ValueError) as error:  # on Windows, there is no way from one drive to another
            raise InstallError(
                f"the destination {self.place_of(dest)} lies behind a link to a place where no module may be",
                part="protected",
                hint="replace the link by a directory, or give the module another dest",
            ) from error
        return self.files.directory / dest

    def place_of(self, dest: str) -> str:
        """Return the path of a destination for messages."""
        return printable(f"{self.files.prefix}{dest}", 1000)

    def real_dest(self, dest: str) -> str:
        """Return a destination with the links among its parents resolved; if it is a link itself, that is kept."""
        parent, _, name = dest.rpartition("/")
        return os.path.join(self.real_path(parent), name)

    def real_path(self, directory: str) -> str:
        """Return the real path of a directory; cached, since most modules lie in one. Staging looks again later."""
        path = self.files.directory / directory
        found: str = self.operation.memo.once(("the real path", path), partial(os.path.realpath, path), self.checkpoint)
        return found


def choose_modules(names: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return ``names``, each of which must be known; or all known ones without any."""
    known = tuple(known)
    wanted = tuple(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            raise ConfigError(f"there is no module {printable(name, 80)!r}", hint=nearest_hint(name, known))
    return wanted or known


@contextmanager
def private_directory(workspace: Workspace) -> Iterator[Path]:
    """Make a private directory, which is removed at the end, by the next run if need be.

    It lies beside the manifest, on a disk that holds modules anyway; for a checkout that is only read, it is a
    temporary directory.
    """
    private = PrivateDirectory(workspace.files.directory)
    try:
        try:
            _create(private, workspace.files.directory, workspace)
        except InstallError as error:
            if error.part != "denied":
                raise
            import tempfile

            with translated("cannot find a temporary directory"):
                elsewhere = Path(tempfile.gettempdir())
            private = PrivateDirectory(elsewhere)
            _create(private, elsewhere, workspace)
        yield private.path
    finally:
        private.remove()


def _create(private: PrivateDirectory, parent: Path, workspace: Workspace) -> None:
    workspace.operation.sweeper.sweep(parent)
    with translated(f"cannot make a private directory in {shown_path(parent)}"):
        private.create()


# ------------------------------------------------------------------------------------------- what a checkout remembers


class ProjectState:
    """The state of the project in ``directory``: which trees we installed, and the lock between runs."""

    def __init__(self, directory: Path, sweeper: Sweeper) -> None:
        self._root = directory / STATE_DIRECTORY
        self._sweeper = sweeper

    def installed(self) -> dict[str, frozenset[TreeHashes]]:
        """Return the hashes of trees that we installed, by destination; several for one where a run was killed."""
        try:
            found = json.loads(read_text(self._root / _INSTALLED) or "{}")
        except (ConfigError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict):
            return {}
        read = {dest: _read_hashes(listed) for dest, listed in found.items()}
        return {dest: frozenset(hashes) for dest, hashes in read.items() if hashes is not None}

    def remember(self, trees: Mapping[str, frozenset[TreeHashes]], *, matters: bool = True) -> None:
        """Write down the hashes of ``trees``, by destination; without any, a destination is forgotten. Others stay.

        A failure to write is a warning if it ``matters``, and else a message for debugging.
        """
        known = self.installed()
        now = {dest: hashes for dest, hashes in {**known, **trees}.items() if hashes}
        if now == known or not self._root.is_dir():  # a checkout that is only read has no state
            return
        try:
            if now:
                listed = {dest: _listed_hashes(hashes) for dest, hashes in now.items()}
                write_file(self._root / _INSTALLED, json.dumps(listed, indent=0, sort_keys=True) + "\n", self._sweeper)
            else:
                with translated(f"cannot remove {_INSTALLED}"):
                    os.unlink(self._root / _INSTALLED)
        except InstallError as error:  # all is installed; but the next update needs --force
            _log.log(logging.WARNING if matters else logging.DEBUG, "%s", error.message)

    @contextmanager
    def exclusive(self, progress: Progress, checkpoint: Callable[[], None]) -> Iterator[None]:
        """Lock the project until the block ends; another run waits, and then finds what this one did."""

        def waiting(first: bool) -> None:
            if first:
                progress.notice("", "waiting for another getmodules that works in this project")
            checkpoint()

        for directory in (self._root.parent, self._root):
            self._sweeper.sweep(directory)
        turn, made = self._claim(waiting)
        try:
            yield
        finally:
            turn.__exit__(None, None, None)
            if made:
                self._remove_if_unused()

    def _claim(self, waiting: Callable[[bool], None]) -> tuple[AbstractContextManager[None], bool]:
        """Take the lock; return it, and whether the directory was made for it."""
        with translated("cannot take our turn in this project"):
            for attempt in range(_ATTEMPTS):
                turn: AbstractContextManager[None] = locked(self._root / _BUSY, waiting)
                try:
                    made = self._create_root()
                    turn.__enter__()
                    return turn, made
                except FileNotFoundError:
                    if not self._root.parent.is_dir():
                        what = f"there is no directory {shown_path(self._root.parent)}"
                        raise ConfigError(what, hint="make it, or name another one") from None
                    # Another run made the directory, failed, and has removed it again.
                    if attempt == _ATTEMPTS - 1:
                        raise
                except OSError as error:
                    # A read-only checkout: all may be installed already, or modules go to another, writable directory.
                    if error.errno not in _READ_ONLY:
                        raise
                    return nullcontext(), False
        raise AssertionError("the loop ends with a turn or an error")

    def _create_root(self) -> bool:
        """Create the directory of the state; return False if it was there."""
        try:
            os.mkdir(self._root)
        except FileExistsError:
            if stat.S_ISDIR(os.lstat(self._root).st_mode):
                return False
            # A hostile project may have a link here, through which we would write elsewhere.
            raise InstallError(
                f"{STATE_DIRECTORY} beside the lock is no directory", part="protected", hint="remove it"
            ) from None
        # Keeps the directory out of version control.
        (self._root / _IGNORE).write_text("*\n", encoding="ascii")
        return True

    def _remove_if_unused(self) -> None:
        """Remove the directory of the state, if nothing was installed."""
        with suppress(OSError):
            if os.listdir(self._root) == [_IGNORE]:
                os.unlink(self._root / _IGNORE)
                os.rmdir(self._root)


def _read_hashes(listed: object) -> list[TreeHashes] | None:
    """Return the hashes that were written for one destination; None if they were not written by us."""
    found: list[TreeHashes] = []
    for each in listed if isinstance(listed, list) else [listed]:
        # A string is an h1 without a t1.
        hashes = {"h1": each} if isinstance(each, str) else each
        if not isinstance(hashes, dict) or not isinstance(hashes.get("h1"), str):
            return None
        t1 = hashes.get("t1")
        if not (t1 is None or isinstance(t1, str)):
            return None
        found.append(TreeHashes(hashes["h1"], t1))
    return found


def _listed_hashes(hashes: frozenset[TreeHashes]) -> object:
    ordered = sorted(hashes, key=lambda each: (each.h1, each.t1 or ""))
    listed = [each.h1 if each.t1 is None else {"h1": each.h1, "t1": each.t1} for each in ordered]
    return listed[0] if len(listed) == 1 else listed


# ------------------------------------------------------------------------------------------------------------- writing


def write_file(path: Path, text: str, sweeper: Sweeper) -> None:
    """Replace the file at ``path``, or leave it as it was. A link to a file beside it stays a link."""
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
            durable.replace_file(fresh, target)
        finally:
            private.remove()


def target_of(path: Path) -> Path:
    """Return the file that ``path`` means, following a link within its directory.

    A link out of it is refused: somebody else may have made the project.
    """
    what = f"cannot write {shown_path(path)}"
    target = Path(os.path.realpath(path))
    if target.parent != Path(os.path.realpath(path.parent)):
        raise InstallError(
            f"{what}: it is a link to somewhere else", part="protected", hint="replace the link by the file"
        )
    if target.exists() and not target.is_file():
        raise InstallError(f"{what}: it is not a file")
    return target
