"""The cache as one package's run uses it: blobs, records, locks, and working directories for getters.

An operation goes on without whatever the cache cannot do: what cannot be kept is not kept.
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
from getmodules.cache.partials import Partial, open_partial
from getmodules.cache.records import PinRecord, Records, RefRecord
from getmodules.errors import ContentError, InstallError, OfflineError, VerificationError
from getmodules.files.download_file import DownloadFile
from getmodules.files.locking import try_lock
from getmodules.files.opening import DIRECTORY
from getmodules.files.os_errors import ANOTHER_TMPDIR, naming_full_disk, translated
from getmodules.files.private import PrivateDirectories
from getmodules.files.removal import remove_entries
from getmodules.files.syscalls import sync_filesystem
from getmodules.util.digest import Digest
from getmodules.util.values import replace

#: Gives a path of this name for something that goes with the operation.
Spare = Callable[[str], Path]

_TICK_SECONDS = 0.1
_log = logging.getLogger("getmodules")


class WriteTrouble:
    """Remembers whether the cache could be written to in one operation: a failure is told once, and ends writing."""

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


class CacheSession:
    """The cache during one run; a session without a cache finds and keeps nothing.

    Reading needs no directory. What is downloaded lies in a private directory, and goes with the session unless it is
    kept. ``spare`` gives the paths of what the cache does not take.
    """

    def __init__(
        self, home: CacheLocation | None, private: PrivateDirectories, spare: Spare, trouble: WriteTrouble | None = None
    ) -> None:
        self._home = home
        self._private = private
        self._spare = spare
        self._trouble = trouble or WriteTrouble()
        self._stack = ExitStack()
        self._ingest: Path | None = None
        self._downloads: list[str] = []
        #: Those that were not made blobs.
        self._partials: dict[Path, Partial] = {}
        self._blobs = None if home is None else Blobs(home.root)
        self._records = None if home is None else Records(home.root, self._fresh_path)
        self._workshop_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, ContentError | VerificationError):
            # What went on to the end was kept as a blob; this is what must not be gone on with.
            for part in self._partials.values():
                part.drop()
        self._stack.close()

    @property
    def _writable(self) -> bool:
        return self._home is not None and self._home.writable and not self._trouble.met

    @contextmanager
    def _tolerated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._trouble.report(error)

    # ------------------------------------------------------------------------------------------------ blobs

    def find(self, digest: Digest, algorithms: Iterable[str] = ()) -> Archive | None:
        """Return the blob with this digest, verified and open as long as the session lasts, or None."""
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

    def missing(self, what: str) -> OfflineError:
        """Return the error that says, offline, that ``what`` is not in the cache."""
        if self._blobs is not None and self._blobs.damaged:
            damaged = self._blobs.damaged[-1]
            return OfflineError(
                f"{what} cannot be had from the cache: its {damaged} was damaged", hint="run it once without --offline"
            )
        return OfflineError(
            f"{what} is not in the cache",
            hint="run it once without --offline; a pinned address is then there as long as the cache is",
        )

    def download_file(self, name: str, identity: str | None = None) -> DownloadFile:
        """Make a file for a download, open as long as the session lasts: in the cache while that works, else spare.

        With an ``identity`` it has what an earlier run brought of the same, and stays if this one ends early.
        """
        spare = partial(self._spare, name)
        part = None if identity is None else self._partial(identity)
        if part is not None:
            file = DownloadFile(spare, failed=self._trouble.report, part=part)
            self._stack.callback(file.close)
            return file
        file = DownloadFile(spare, self._fresh_path, self._trouble.report) if self._writable else DownloadFile(spare)
        self._stack.callback(file.close)
        with suppress(OSError):  # so that nobody prunes it when it is a blob, and is being unpacked
            try_lock(file.descriptor, shared=True)
        return file

    def _partial(self, identity: str) -> Partial | None:
        found: Partial | None = None
        if self._writable and self._home is not None:
            with self._tolerated():
                found = open_partial(self._home.root, identity)
        if found is not None:
            self._partials[found.path] = found
        return found

    def keep(self, archive: Archive, digest: Digest) -> Archive:
        """Make a downloaded file a blob of the cache; its writer has hashed it."""
        part = self._partials.get(archive.path)
        if self._blobs is None or (part is None and archive.path.parent != self._ingest):
            return archive
        if part is not None and not part.is_still_there():
            return archive  # somebody removed the cache, and perhaps began the same anew
        try:
            kept = replace(archive, path=self._blobs.keep(archive.path, digest))
        except OSError as error:
            self._trouble.report(error)
            return archive
        if part is not None:
            del self._partials[part.path]
            part.forget_note()
            if archive.descriptor is not None:
                with suppress(OSError):  # whoever finds the blob shares its lock
                    try_lock(archive.descriptor, shared=True)
        return kept

    def keep_bytes(self, content: bytes, digest: Digest) -> None:
        if self._writable and self._blobs is not None:
            with self._tolerated():
                fresh = self._fresh_path()
                fresh.write_bytes(content)
                self._blobs.keep(fresh, digest)

    def small_blob(self, digest: Digest, bring: Callable[[], bytes]) -> bytes:
        """Return small content from the cache, or else from ``bring()``, kept if its digest is right.

        The caller checks what it gets.
        """
        archive = self.find(digest)
        if archive is not None:
            with translated("cannot read the cache"), archive.open() as file:
                return file.read()
        content = bring()
        if Digest.of(content, digest.algorithm) == digest:
            self.keep_bytes(content, digest)
        return content

    def sync(self, beside: Path) -> None:
        """Bring what was kept to the disk, unless publishing the tree at ``beside`` does so anyway.

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

    def _fresh_path(self) -> Path:
        """Return a new path in the cache's own private directory. Raises ``OSError``."""
        if self._ingest is None:
            assert self._home is not None
            root = self._home.root
            try:
                self._ingest = self._private.beside(root / "ingest", partial(private_folder, root, "ingest"))
            except InstallError as error:
                raise OSError(errno.EBUSY, error.message) from error
            self._stack.callback(remove_entries, self._ingest, self._downloads)
        name = os.urandom(8).hex()
        self._downloads.append(name)
        return self._ingest / name

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

    # ------------------------------------------------------------------------------------------------ locks

    @contextmanager
    def locked(self, key: str, context: Context) -> Iterator[None]:
        """Hold ``key`` alone among all threads and processes that share the cache; without a cache, hold nothing."""
        with ExitStack() as stack:
            if self._writable:
                with self._tolerated():
                    stack.enter_context(self._lock(key, context))
            yield

    def _lock(self, key: str, context: Context) -> AbstractContextManager[None]:
        assert self._home is not None
        return locked(private_folder(self._home.root, "locks") / lock_name(key), _waiting(context))

    # -------------------------------------------------------------------------------------------- workshops

    @contextmanager
    def workshop(self, key: str, context: Context) -> Iterator[Path]:
        """Open a getter's working directory for ``key``, for one user at a time.

        In the cache it stays for the next run; elsewhere it lives as long as the operation.
        """
        with self._lasting_workshop(key, context) as lasting:
            if lasting is not None:
                with naming_full_disk(lasting):
                    yield lasting
                return
            with self._temporary_workshop(key, context) as directory, naming_full_disk(directory):
                with translated("cannot make a working directory"):
                    self._copy_lasting(key, directory)
                yield directory

    @contextmanager
    def _lasting_workshop(self, key: str, context: Context) -> Iterator[Path | None]:
        """Yield the cache's directory, or None where the cache cannot be written to or has turned out too small."""
        lasting: Path | None = None
        with ExitStack() as stack:
            if self._writable and self._home is not None:
                with self._tolerated():
                    key = _workshop_key(key)
                    stack.enter_context(self._lock(key, context))
                    made = private_folder(self._home.root, f"workshops/{lock_name(key)}")
                    os.utime(made)
                    lasting = made
            try:
                yield lasting
            except InstallError as error:
                if lasting is not None and error.part == "no-space":
                    self._trouble.report(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
                raise

    @contextmanager
    def _temporary_workshop(self, key: str, context: Context) -> Iterator[Path]:
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        lock = self._workshop_locks[name]
        while not lock.acquire(timeout=_TICK_SECONDS):
            context.checkpoint()
        try:
            directory = self._spare(name)
            with translated("cannot make a working directory"):
                directory.mkdir(mode=0o700, exist_ok=True)
            yield directory
        finally:
            lock.release()

    def _copy_lasting(self, key: str, directory: Path) -> None:
        """Copy into an empty directory what a cache that is read-only has for ``key``."""
        if self._home is None or self._home.writable or any(directory.iterdir()):
            return
        import shutil

        lasting = self._home.root / "workshops" / lock_name(_workshop_key(key))
        # Files and directories alone, and not their modes: what is ours is to be written to. Who works there copes with
        # any state of it.
        with suppress(OSError):
            for folder, _, files in os.walk(lasting):
                here = directory / os.path.relpath(folder, lasting)
                here.mkdir(mode=0o700, exist_ok=True)
                for name in files:
                    source = Path(folder, name)
                    if source.is_file() and not source.is_symlink():
                        shutil.copyfile(source, here / name)


@contextmanager
def temporary_directory() -> Iterator[Spare]:
    """Give out paths in a temporary directory, which is made when the first one is asked for."""
    import tempfile

    with ExitStack() as stack:

        @cache
        def root() -> Path:
            with translated("cannot make a temporary directory", ANOTHER_TMPDIR):
                return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="getmodules-")))

        yield lambda name: root() / name


def _workshop_key(key: str) -> str:
    return f"workshop\0{key}"


def _waiting(context: Context) -> Callable[[bool], None]:
    def wait(first: bool) -> None:
        if first:
            context.notice("waiting for somebody else who fetches the same, or from the same place")
        context.checkpoint()

    return wait
