"""What work on one project is done with: where it is, what its addresses mean, and the means of fetching.

Writes a project's files: in one step, and on the disk before anybody is told that it was done.

What this checkout remembers of its own: which trees we put where, so that an update can tell them from edited ones.

The lock says what should be there; after it was updated (``git pull``, ``lock --upgrade``) it does not know any more
what was there before. ``.getmodules/installed.json`` does: the h1 of each tree as we installed it, written before that
is done, since nothing can be written by a run that is killed; of a tree that was to be replaced, a list of the old one
and the new one then. It is a help and never a proof: where it is missing, or wrong, a tree counts as edited, and
nothing is overwritten.
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
from getmodules.cache.locks import locked
from getmodules.errors import ConfigError, InstallError
from getmodules.files import durable
from getmodules.files.durable import shown_path
from getmodules.files.os_errors import translated
from getmodules.files.private import PrivateDirectory, Sweeper
from getmodules.pipeline.batch import Pace
from getmodules.pipeline.detect import detect
from getmodules.pipeline.operation import Means
from getmodules.project.lockfile import Lock, format_lock, read_lock
from getmodules.project.manifest import Manifest, Place
from getmodules.project.names import STATE_DIRECTORY, check_dest
from getmodules.project.toml import nearest_hint, read_text
from getmodules.util.redact import printable
from getmodules.util.values import valueclass


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
            durable.replace_file(fresh, target)
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


_INSTALLED, _BUSY, _IGNORE = "installed.json", "busy", ".gitignore"
_ATTEMPTS = 20
_READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_log = logging.getLogger("getmodules")


class State:
    """Of the project in ``directory``."""

    def __init__(self, directory: Path, sweeper: Sweeper) -> None:
        self._root = directory / STATE_DIRECTORY
        self._sweeper = sweeper

    def installed(self) -> dict[str, frozenset[str]]:
        """By destination, the h1 of what we last installed there; of several, where a run was ended."""
        try:
            found = json.loads(read_text(self._root / _INSTALLED) or "{}")
        except (ConfigError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict):
            return {}
        listed = {dest: [h1s] if isinstance(h1s, str) else h1s for dest, h1s in found.items()}
        return {
            dest: frozenset(h1s)
            for dest, h1s in listed.items()
            if isinstance(h1s, list) and all(isinstance(h1, str) for h1 in h1s)
        }

    def remember(self, trees: Mapping[str, frozenset[str]], *, matters: bool = True) -> None:
        """Of ``trees`` this is what may lie there, nothing being nothing of ours; what was known of others stays.

        Whether it ``matters`` says whether somebody is told that it cannot be written.
        """
        known = self.installed()
        now = {dest: h1s for dest, h1s in {**known, **trees}.items() if h1s}
        if now == known or not self._root.is_dir():  # a checkout that is only read has none, and needs none
            return
        try:
            if now:
                listed = {dest: next(iter(h1s)) if len(h1s) == 1 else sorted(h1s) for dest, h1s in now.items()}
                write_file(self._root / _INSTALLED, json.dumps(listed, indent=0, sort_keys=True) + "\n", self._sweeper)
            else:
                with translated(f"cannot remove {_INSTALLED}"):
                    os.unlink(self._root / _INSTALLED)
        except InstallError as error:  # everything is in its place; the next update has to ask for --force
            _log.log(logging.WARNING if matters else logging.DEBUG, "%s", error.message)

    @contextmanager
    def alone(self, progress: Progress, checkpoint: Callable[[], None]) -> Iterator[None]:
        """One run at a time works in a project; another one waits, and then finds what this one did."""

        def waiting(first: bool) -> None:
            if first:
                progress.notice("", "waiting for another getmodules that works in this project")
            checkpoint()

        for directory in (self._root.parent, self._root):
            self._sweeper.sweep(directory)
        turn, made = self._turn(waiting)
        try:
            yield
        finally:
            turn.__exit__(None, None, None)
            if made:
                self._remove_if_unused()

    def _turn(self, waiting: Callable[[bool], None]) -> tuple[AbstractContextManager[None], bool]:
        """Ours; and whether we made the directory, which is then ours to remove."""
        with translated("cannot take our turn in this project"):
            for attempt in range(_ATTEMPTS):
                turn: AbstractContextManager[None] = locked(self._root / _BUSY, waiting)
                try:
                    made = self._make()
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
                    # A checkout that is only read: perhaps all is in its place, or modules go to where one may write.
                    if error.errno not in _READ_ONLY:
                        raise
                    return nullcontext(), False
        raise AssertionError("the loop ends with a turn or an error")

    def _make(self) -> bool:
        """Whether it was not there."""
        try:
            os.mkdir(self._root)
        except FileExistsError:
            if stat.S_ISDIR(os.lstat(self._root).st_mode):
                return False
            # Whoever made this project may have put a link here, through which we would write elsewhere.
            raise InstallError(
                f"{STATE_DIRECTORY} beside the lock is no directory", part="protected", hint="remove it"
            ) from None
        # So that nobody adds it to version control by accident.
        (self._root / _IGNORE).write_text("*\n", encoding="ascii")
        return True

    def _remove_if_unused(self) -> None:
        """A run that installed nothing leaves nothing."""
        with suppress(OSError):
            if os.listdir(self._root) == [_IGNORE]:
                os.unlink(self._root / _IGNORE)
                os.rmdir(self._root)


@valueclass
class Bench:
    place: Place
    means: Means
    pace: Pace
    #: Reads the manifest; ``None`` where it is not to be read.
    read: Callable[[Path], Manifest] | None = None
    #: In which registry ``namespace/name/system`` is a module.
    registry: str | None = None

    def detect(self, source: str) -> ModuleAddress:
        """Relative sources start where the manifest and the lock are, wherever that is today.

        Really: of a project that is reached through a link, ``..`` is not what is above the link.
        """
        return detect(source, self.means.catalog, base=self.real(""), registry=self.registry).address

    def checkpoint(self) -> None:
        self.means.checkpoint()

    def turn(self) -> AbstractContextManager[None]:
        """Alone in the project until the block ends; nobody waits for that longer than for all the rest."""
        deadline = Deadline.after(self.means.limits.seconds)

        def checkpoint() -> None:
            self.checkpoint()
            deadline.check()

        return self.state.alone(self.means.progress, checkpoint)

    @property
    def state(self) -> State:
        return State(self.place.directory, self.means.sweeper)

    def manifest(self) -> Manifest:
        """What it says at this moment: whoever waited for its turn finds what the others have made of it."""
        assert self.read is not None, "this work leaves the manifest unread"
        return self.read(self.place.manifest)

    def lock(self) -> Lock | None:
        return read_lock(self.place.lock)

    def write_lock(self, lock: Lock) -> bool:
        """Whether there was anything to write."""
        text = format_lock(lock)
        try:
            unchanged = self.place.lock.read_bytes() == text.encode()
        except OSError:
            unchanged = False
        if not unchanged:
            write_file(self.place.lock, text, self.means.sweeper)
        return not unchanged

    def dest(self, dest: str) -> Path:
        """Where a module goes; never through a link to somewhere where none may be, such as ``.git`` or outside."""
        root, real = self.real(""), self.real_dest(dest)
        start = os.path.join(root, "")
        try:
            inner = real.removeprefix(start) if real.startswith(start) else os.path.relpath(real, root)
            check_dest(inner.replace(os.sep, "/"))
        except (ConfigError, ValueError) as error:  # on Windows, there is no way from one drive to another
            raise InstallError(
                f"the destination {printable(dest, 500)} lies behind a link to a place where no module may be",
                part="protected",
                hint="replace the link by a directory, or give the module another dest",
            ) from error
        return self.place.directory / dest

    def real_dest(self, dest: str) -> str:
        """Where that is, without a link in its parents. If it is one itself, then it is the link that is meant."""
        parent, _, name = dest.rpartition("/")
        return os.path.join(self.real(parent), name)

    def real(self, directory: str) -> str:
        """Looked up once: most modules lie in one directory. Staging looks again, at the time when that counts."""
        path = self.place.directory / directory
        found: str = self.means.memo.once(("the real path", path), partial(os.path.realpath, path), self.checkpoint)
        return found


def chosen(names: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """``names``, each of which must be known; where there are none, all of them."""
    known = tuple(known)
    wanted = tuple(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            raise ConfigError(f"there is no module {printable(name, 80)!r}", hint=nearest_hint(name, known))
    return wanted or known


@contextmanager
def private_directory(bench: Bench) -> Iterator[Path]:
    """A private directory for modules that are not to be seen; removed at the end, by the next run if need be.

    It lies beside the manifest, on a disk that holds modules anyway; for a checkout that is only read, elsewhere.
    """
    private = PrivateDirectory(bench.place.directory)
    try:
        try:
            _create(private, bench.place.directory, bench)
        except InstallError as error:
            if error.part != "denied":
                raise
            import tempfile

            with translated("cannot find a temporary directory"):
                elsewhere = Path(tempfile.gettempdir())
            private = PrivateDirectory(elsewhere)
            _create(private, elsewhere, bench)
        yield private.path
    finally:
        private.remove()


def _create(private: PrivateDirectory, parent: Path, bench: Bench) -> None:
    bench.means.sweeper.sweep(parent)
    with translated(f"cannot make a private directory in {shown_path(parent)}"):
        private.create()
