"""One file on its way to disk, hashed as it is written."""

from __future__ import annotations

import hashlib
import os

from getmodules.files.durable import write_all
from getmodules.files.os_errors import install_error
from getmodules.files.syscalls import share_blocks
from getmodules.util.redact import printable


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
