"""Working directories of getters: a private one for each key, one user at a time.

In the store they stay, for the next run; where there is none they live as long as the operation they were made for.

The store as one operation uses it. Whatever cannot be kept is not kept, and the operation goes on.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Self

from getmodules.api.model import Archive
from getmodules.api.ports import Context
from getmodules.cache.blobs import Blobs
from getmodules.cache.location import CacheLocation, private_folder
from getmodules.cache.locks import lock_name, locked
from getmodules.cache.records import PinRecord, Records, RefRecord
from getmodules.errors import InstallError, OfflineError
from getmodules.files.download_file import DownloadFile
from getmodules.files.locking import try_lock
from getmodules.files.opening import DIRECTORY
from getmodules.files.os_errors import ANOTHER_TMPDIR, translated
from getmodules.files.private import PrivateDirectories
from getmodules.files.removal import remove_entries
from getmodules.files.syscalls import sync_filesystem
from getmodules.util.digest import Digest
from getmodules.util.values import replace

_log = logging.getLogger("getmodules")


class Trouble:
    """Whether the store could not be written to, in one operation: once is enough, and is told once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._met = False

    @property
    def met(self) -> bool:
        return self._met

    def report(self, error: OSError) -> None:
        with self._guard:
            first, self._met = not self._met, True
        if first:
            _log.warning("the cache cannot be written to (%s): going on without", error.strerror or error)


class Visit:
    """Reading needs nothing; what arrives lies in a private directory, and goes with the visit if it is not kept."""

    def __init__(self, home: CacheLocation | None, private: PrivateDirectories, trouble: Trouble | None = None) -> None:
        self._home = home
        self._private = private
        self._trouble = trouble or Trouble()
        self._stack = ExitStack()
        self._ingest: Path | None = None
        self._arrived: list[str] = []
        self._blobs = None if home is None else Blobs(home.root)
        self._records = None if home is None else Records(home.root, self._fresh)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def _writable(self) -> bool:
        return self._home is not None and self._home.writable and not self._trouble.met

    # ------------------------------------------------------------------------------------------------ blobs

    def missing(self, what: str) -> OfflineError:
        """How to say, offline, that ``what`` is not here."""
        if self._blobs is not None and self._blobs.damaged:
            damaged = self._blobs.damaged[-1]
            return OfflineError(
                f"{what} cannot be had from the cache: its {damaged} was damaged", hint="run it once without --offline"
            )
        return OfflineError(
            f"{what} is not in the cache",
            hint="run it once without --offline; a pinned address is then there as long as the cache is",
        )

    def held(self, digest: Digest, algorithms: Iterable[str] = ()) -> Archive | None:
        """The blob, verified, as long as the visit lasts."""
        found = None if self._blobs is None else self._blobs.open(digest, algorithms)
        if found is None:
            return None
        self._stack.callback(os.close, found.descriptor)
        return Archive(
            path=found.path,
            size=found.size,
            digests=found.digests,
            descriptor=found.descriptor,
            content=found.content,
        )

    def arriving(self, spare: Callable[[], Path]) -> DownloadFile:
        """A new file, open as long as the visit lasts: in the store as long as that works, else at ``spare()``."""
        arriving = DownloadFile(spare, self._fresh, self._trouble.report) if self._writable else DownloadFile(spare)
        self._stack.callback(arriving.close)
        with suppress(OSError):  # so that nobody prunes it when it is a blob, and is being unpacked
            try_lock(arriving.descriptor, shared=True)
        return arriving

    def keep(self, archive: Archive, digest: Digest) -> Archive:
        """Take in what arrived here, hashed by whoever wrote it."""
        if self._blobs is None or archive.path.parent != self._ingest:
            return archive
        try:
            return replace(archive, path=self._blobs.keep(archive.path, digest))
        except OSError as error:
            self._trouble.report(error)
            return archive

    def keep_bytes(self, content: bytes, digest: Digest) -> None:
        if self._writable and self._blobs is not None:
            with self._tolerated():
                fresh = self._fresh()
                fresh.write_bytes(content)
                self._blobs.keep(fresh, digest)

    def kept(self, digest: Digest, bring: Callable[[], bytes]) -> bytes:
        """Small content: from the store, or brought now and kept if it is what it should be; the caller checks it."""
        archive = self.held(digest)
        if archive is not None:
            with translated("cannot read the cache"), archive.open() as file:
                return file.read()
        content = bring()
        if Digest.of(content, digest.algorithm) == digest:
            self.keep_bytes(content, digest)
        return content

    # ---------------------------------------------------------------------------------------------- records

    def pin(self, address: str) -> PinRecord | None:
        return None if self._records is None else self._records.pin(address)

    def ref(self, address: str) -> RefRecord | None:
        return None if self._records is None else self._records.ref(address)

    def keep_pin(self, address: str, record: PinRecord) -> None:
        if self._writable and self._records is not None:
            with self._tolerated():
                self._records.keep_pin(address, record)

    def keep_ref(self, address: str, record: RefRecord) -> None:
        if self._writable and self._records is not None:
            with self._tolerated():
                self._records.keep_ref(address, record)

    # ------------------------------------------------------------------------------------- one at a time

    @contextmanager
    def claim(self, key: str, context: Context) -> Iterator[None]:
        """Alone with ``key`` among all threads and processes, where there is a store to meet in."""
        with ExitStack() as stack:
            if self._writable:
                with self._tolerated():
                    stack.enter_context(self._claimed(key, context))
            yield

    @contextmanager
    def workshop(self, key: str, context: Context) -> Iterator[Path | None]:
        """A room that stays, alone in it; ``None`` where there is none, or has turned out to be too small."""
        lasting: Path | None = None
        with ExitStack() as stack:
            if self._writable and self._home is not None:
                with self._tolerated():
                    key = _workshop(key)
                    stack.enter_context(self._claimed(key, context))
                    made = private_folder(self._home.root, f"workshops/{lock_name(key)}")
                    os.utime(made)
                    lasting = made
            try:
                yield lasting
            except InstallError as error:
                if lasting is not None and error.part == "no-space":
                    self._trouble.report(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
                raise

    def furnish(self, key: str, place: Path) -> None:
        """Copy into an empty ``place`` what a store that is read-only has in the room for ``key``."""
        if self._home is None or self._home.writable or any(place.iterdir()):
            return
        import shutil

        lasting = self._home.root / "workshops" / lock_name(_workshop(key))
        # Files and directories alone, and not their modes: what is ours is to be written to. Who works there copes with
        # any state of it.
        with suppress(OSError):
            for directory, _, files in os.walk(lasting):
                here = place / os.path.relpath(directory, lasting)
                here.mkdir(mode=0o700, exist_ok=True)
                for name in files:
                    source = Path(directory, name)
                    if source.is_file() and not source.is_symlink():
                        shutil.copyfile(source, here / name)

    def _claimed(self, key: str, context: Context) -> AbstractContextManager[None]:
        assert self._home is not None
        return locked(private_folder(self._home.root, "locks") / lock_name(key), _waiting(context))

    def settle(self, beside: Path) -> None:
        """Bring what was kept to the disk, unless that happens anyway when what is at ``beside`` is published.

        No file is synced by itself: that takes longer than all the rest, and a file that a crash cut short is found
        out when it is read.
        """
        if self._ingest is None or self._home is None or sys.platform == "win32":
            return
        with self._tolerated():
            if os.stat(beside).st_dev != os.stat(self._home.root).st_dev:
                root = os.open(self._home.root, DIRECTORY)
                try:
                    sync_filesystem(root)
                finally:
                    os.close(root)

    # ------------------------------------------------------------------------------------------ what arrives

    def _fresh(self) -> Path:
        """A path of our own in the store. Raises ``OSError``."""
        if self._ingest is None:
            assert self._home is not None
            root = self._home.root
            try:
                self._ingest = self._private.beside(root / "ingest", partial(private_folder, root, "ingest"))
            except InstallError as error:
                raise OSError(errno.EBUSY, error.message) from error
            self._stack.callback(remove_entries, self._ingest, self._arrived)
        name = os.urandom(8).hex()
        self._arrived.append(name)
        return self._ingest / name

    @contextmanager
    def _tolerated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._trouble.report(error)


def _workshop(key: str) -> str:
    return f"workshop\0{key}"


def _waiting(context: Context) -> Callable[[bool], None]:
    def wait(first: bool) -> None:
        if first:
            context.notice("waiting for somebody else who fetches the same, or from the same place")
        context.checkpoint()

    return wait


_TICK_SECONDS = 0.1


class Workshops:
    def __init__(self, place: Callable[[str], Path], visit: Visit) -> None:
        self._place = place
        self.visit = visit
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def open(self, key: str, context: Context) -> Iterator[Path]:
        with self.visit.workshop(key, context) as lasting:
            if lasting is not None:
                yield lasting
                return
            with self.alone(key, context) as path:
                with translated("cannot make a working directory"):
                    self.visit.furnish(key, path)
                yield path

    @contextmanager
    def alone(self, key: str, context: Context) -> Iterator[Path]:
        """Give out a working directory that lives as long as the operation."""
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        with self._taken(self._locks[name], context):
            path = self._place(name)
            with translated("cannot make a working directory"):
                path.mkdir(mode=0o700, exist_ok=True)
            yield path

    @contextmanager
    def _taken(self, lock: threading.Lock, context: Context) -> Iterator[None]:
        while not lock.acquire(timeout=_TICK_SECONDS):
            context.checkpoint()
        try:
            yield
        finally:
            lock.release()


@contextmanager
def temporary_workshops(visit: Visit) -> Iterator[Workshops]:
    """Workshops for an operation without a destination; no directory is made before one is asked for."""
    import tempfile

    with ExitStack() as stack:

        @cache
        def root() -> Path:
            with translated("cannot make a temporary directory", ANOTHER_TMPDIR):
                return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="getmodules-")))

        yield Workshops(lambda name: root() / name, visit)
