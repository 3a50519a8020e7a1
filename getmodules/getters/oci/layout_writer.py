"""Writing into an image layout, which is consistent at any time, with any number of writers.

Blobs are written to a private directory, checked, and renamed to their digest. ``index.json`` is changed under a lock
and replaced by one rename. The lock is on the file ``oci-layout`` itself: it exists as long as the layout, no tool
replaces it, and a layout, which users copy and pack, gets no additional file.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from getmodules.api.ports import Context
from getmodules.errors import DigestMismatchError
from getmodules.files import durable, opening as openflags
from getmodules.files.locking import FileLock, try_lock
from getmodules.files.opening import directory_of
from getmodules.files.os_errors import install_error, translated
from getmodules.files.private import PrivateDirectory, Sweeper
from getmodules.getters.oci import artifact
from getmodules.getters.oci.layout_files import INDEX, INDEX_BYTES, MARK, DirectoryFiles, LayoutIndex, blob_name
from getmodules.getters.oci.repository import Descriptor, RawManifest, occupied
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

_MARK_CONTENT = b'{"imageLayoutVersion":"1.0.0"}'
#: On Windows a locked file cannot be read, so a file of its own is locked there.
_LOCK = MARK if sys.platform != "win32" else ".getmodules-lock"
_MODE = 0o644
_POLL_SECONDS = 0.02


class LayoutWriter:
    """Writer of the layout at ``path``, which it creates if there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shown = printable(str(path), 500)

    def put_blob(self, digest: Digest, size: int, chunks: Iterable[bytes], context: Context) -> None:
        self._make(context)
        with translated(f"cannot write into the layout {self._shown!r}"), self._workplace() as workplace:
            hasher, written = hashlib.new(digest.algorithm), 0
            with durable.new_file(workplace / "blob", _MODE) as stream:
                for chunk in chunks:
                    context.checkpoint()
                    hasher.update(chunk)
                    written += len(chunk)
                    stream.write(chunk)
            if written != size or hasher.hexdigest() != digest.hex:
                raise DigestMismatchError(f"what was to be written as the blob {digest} is something else")
            self._move(workplace / "blob", blob_name(digest))

    def put_manifest(self, reference: str, manifest: RawManifest, context: Context, *, replace: bool) -> None:
        digest, tag = manifest.digest(), reference
        if ":" in reference:
            digest, tag = manifest.digest(Digest.parse(reference).algorithm), ""
            if str(digest) != reference:
                raise DigestMismatchError(f"what was to be written as the manifest {reference} is {digest}")
        self.put_blob(digest, len(manifest.body), (manifest.body,), context)
        entry = Descriptor(
            media_type=manifest.media_type,
            digest=digest,
            size=len(manifest.body),
            artifact_type=artifact.artifact_type(manifest),
        )
        with self._locked(context):
            index = self._index()
            before = index.tagged(tag) if tag and not replace else None
            if before is not None and before.digest != digest:
                raise occupied(tag, before.digest)
            self._put_index(index.with_manifest(entry, tag or None))

    # ------------------------------------------------------------------------------------------ the layout

    def _make(self, context: Context) -> None:
        """Create an empty layout, if there is none or only an interrupted creation of one."""
        with translated(f"cannot make the layout {self._shown!r}"):
            self._path.mkdir(parents=True, exist_ok=True)
            if self._is_made():
                return
        with self._locked(context), translated(f"cannot make the layout {self._shown!r}"):
            if self._is_made():
                return
            (self._path / "blobs").mkdir(exist_ok=True)
            self._put_index(self._index())
            # Written last, because readers look at it first: now the directory is a layout.
            with open(self._path / MARK, "r+b" if _LOCK == MARK else "xb", buffering=0) as mark:
                mark.write(_MARK_CONTENT)
                os.fsync(mark.fileno())
            durable.sync_directory(self._path)

    def _is_made(self) -> bool:
        mark = self._path / MARK
        return mark.exists() and mark.stat().st_size > 0

    def _index(self) -> LayoutIndex:
        part = DirectoryFiles(self._path).open(INDEX)
        if part is None:
            return LayoutIndex.empty()
        with part:
            return LayoutIndex.parse(part.read(INDEX_BYTES))

    def _put_index(self, index: LayoutIndex) -> None:
        with translated(f"cannot write into the layout {self._shown!r}"), self._workplace() as workplace:
            with durable.new_file(workplace / INDEX, _MODE) as stream:
                stream.write(index.encoded())
            self._move(workplace / INDEX, INDEX)

    def _move(self, source: Path, name: str) -> None:
        """Rename the finished file to its name, and make that durable."""
        parents = name.split("/")[:-1]
        for depth in range(len(parents)):
            # Each level is opened below the one before, and never through a link.
            with directory_of(self._path, "/".join(parents[: depth + 1])) as (prefix, below):
                _make_directory(f"{prefix}{parents[depth]}", below)
        with directory_of(self._path, name) as (prefix, below):
            os.replace(source, f"{prefix}{name.rpartition('/')[2]}", dst_dir_fd=below)
            if below is not None:
                durable.sync_open_directory(below)

    @contextmanager
    def _workplace(self) -> Iterator[Path]:
        """Create a private directory on the layout's own file system; remove those of killed processes."""
        Sweeper().sweep(self._path)
        directory = PrivateDirectory(self._path)
        try:
            directory.create()
            yield directory.path
        finally:
            directory.remove()

    @contextmanager
    def _locked(self, context: Context) -> Iterator[None]:
        """Lock the layout against other processes, and other threads, since each opens the file for itself."""
        try:
            descriptor = os.open(self._path / _LOCK, openflags.LOCK, _MODE)
        except OSError as error:
            raise install_error(error, f"cannot lock the layout {self._shown!r}") from error
        try:
            waited = False
            while (lock := self._try_lock(descriptor)) is FileLock.BUSY:
                if not waited:
                    context.notice(f"waiting for another process that writes into {self._shown!r}")
                    waited = True
                context.cancelled.wait(_POLL_SECONDS)
                context.checkpoint()
            if lock is FileLock.UNSUPPORTED:
                context.notice(f"{self._shown!r} cannot be locked: others must not write into it at the same time")
            yield
        finally:
            os.close(descriptor)

    def _try_lock(self, descriptor: int) -> FileLock:
        with translated(f"cannot lock the layout {self._shown!r}"):
            return try_lock(descriptor)


def _make_directory(path: str, below: int | None) -> None:
    try:
        os.mkdir(path, dir_fd=below)
    except FileExistsError:
        return
    if below is not None:
        durable.sync_open_directory(below)
