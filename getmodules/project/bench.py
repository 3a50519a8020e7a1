"""What work on one project is done with: where it is, what its addresses mean, and the means of fetching."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from getmodules.addresses.types import ModuleAddress
from getmodules.api.limits import Deadline
from getmodules.errors import ConfigError, InstallError
from getmodules.files.durable import shown_path
from getmodules.files.os_errors import translated
from getmodules.files.private import PrivateDirectory
from getmodules.pipeline.batch import Pace
from getmodules.pipeline.detect import detect
from getmodules.pipeline.operation import Means
from getmodules.project.document import nearest_hint
from getmodules.project.files import write_file
from getmodules.project.lockfile import Lock, format_lock, read_lock
from getmodules.project.manifest import Manifest, Place
from getmodules.project.names import check_dest
from getmodules.project.state import State
from getmodules.util.redact import printable
from getmodules.util.values import valueclass


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
