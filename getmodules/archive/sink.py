"""One file on its way to disk: hashed as it is written, large ones beside the work that produces them."""

from __future__ import annotations

import hashlib
import os
import threading
from queue import Queue
from typing import Protocol

from getmodules.archive.ground import write_all
from getmodules.oserrors import install_error
from getmodules.redact import printable
from getmodules.syscalls import share_blocks

#: Hashing and writing move to a thread of their own after this much: a thread costs as much as a small file.
LARGE_BYTES = 1 << 20
#: Pieces in flight between the two threads: enough to smooth both, little enough to be no memory.
_IN_FLIGHT = 4


class Sink(Protocol):
    def put(self, chunk: bytes) -> None: ...


class FileSink:
    """The same bytes into every descriptor, and through sha256 once. It owns the descriptors."""

    __slots__ = ("_descriptors", "_hash", "_path")

    def __init__(self, path: str, descriptors: list[int]) -> None:
        self._path = path
        self._descriptors = descriptors
        self._hash = hashlib.sha256()

    def put(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        try:
            for descriptor in self._descriptors:
                write_all(descriptor, chunk)
        except OSError as error:
            raise install_error(error, f"cannot write {printable(self._path)!r}") from error

    def share(self, source: int) -> bool:
        """Let every file share the blocks of ``source``. ``False``: not possible here, and nothing happened."""
        try:
            if all(share_blocks(source, descriptor) for descriptor in self._descriptors):
                return True
            for descriptor in self._descriptors:  # on different file systems some may have succeeded
                os.ftruncate(descriptor, 0)
            return False
        except OSError as error:
            raise install_error(error, f"cannot write {printable(self._path)!r}") from error

    def hash(self, chunk: bytes) -> None:
        """Hash what is in the files already."""
        self._hash.update(chunk)

    def digest(self) -> bytes:
        return self._hash.digest()

    def close(self) -> None:
        """Close all descriptors, and report what only closing reveals (NFS, quotas)."""
        failed: OSError | None = None
        for descriptor in self._descriptors:
            try:
                os.close(descriptor)
            except OSError as error:
                failed = error
        self._descriptors = []
        if failed is not None:
            raise install_error(failed, f"cannot write {printable(self._path)!r}") from failed


class Beside:
    """A sink fed from a thread: hashing and writing let go of the interpreter, so inflating goes on meanwhile.

    After a failure the thread goes on emptying the queue, so that whoever fills it never waits for nobody.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._queue: Queue[bytes | None] = Queue(_IN_FLIGHT)
        self._failure: BaseException | None = None
        self._abandoned = False
        self._thread = threading.Thread(target=self._run, name="getmodules-write", daemon=True)
        self._thread.start()

    def put(self, chunk: bytes) -> None:
        if self._failure is not None:
            raise self._failure
        self._queue.put(chunk)

    def finish(self) -> None:
        """Wait until everything is written."""
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def abandon(self) -> None:
        """Stop without writing what is still in flight; harmless after :meth:`finish`."""
        self._abandoned = True
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (chunk := self._queue.get()) is not None:
            if self._failure is None and not self._abandoned:
                try:
                    self._sink.put(chunk)
                except BaseException as error:  # noqa: BLE001 -- raised by the thread that fills the queue
                    self._failure = error
