"""Keep blobs by their digest; each is hashed again before it is used, from the descriptor that is used."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from getmodules.api.model import FEW_BYTES
from getmodules.cache.location import listing, move_into_cache
from getmodules.files.locking import FileLock, try_lock
from getmodules.files.opening import READ_NO_LINK, directory_of
from getmodules.util.digest import STRONG, Digest
from getmodules.util.values import field, valueclass

_CHUNK = 1 << 20
_log = logging.getLogger("getmodules")


@valueclass
class Held:
    """A verified blob. As long as ``descriptor`` is open, it is not pruned."""

    path: Path
    descriptor: int
    size: int
    digests: dict[str, Digest]
    content: bytes | None = field(default=None, repr=False)


class Blobs:
    def __init__(self, root: Path) -> None:
        self._root = root
        #: Blobs that did not have their digest when they were opened.
        self.damaged: list[Digest] = []

    def path(self, digest: Digest) -> Path:
        return self._root / _name(digest)

    def open(self, digest: Digest, algorithms: Iterable[str] = ()) -> Held | None:
        """Return the blob if it is there, with this digest. A damaged one is dropped.

        Its digests by ``algorithms`` are found out on the way. The caller closes the descriptor.
        """
        descriptor = self._open(digest)
        if descriptor is None:
            return None
        try:
            held = self._verified(descriptor, digest, algorithms)
        except BaseException:
            os.close(descriptor)
            raise
        if held is None:
            os.close(descriptor)
        return held

    def _verified(self, descriptor: int, digest: Digest, algorithms: Iterable[str]) -> Held | None:
        try:
            # Shared, and never waited for: who removes blobs takes it alone.
            if not _shared(descriptor) or os.fstat(descriptor).st_nlink == 0:
                return None
            content, size, digests = _hashed(descriptor, {digest.algorithm, *algorithms})
        except OSError as error:
            self._drop(descriptor, digest, error.strerror or "unreadable")
            return None
        if digests[digest.algorithm] != digest:
            self._drop(descriptor, digest, "damaged")
            return None
        with suppress(OSError):  # so that what is used is pruned last; a read-only cache has no such order
            os.utime(descriptor)
        return Held(path=self.path(digest), descriptor=descriptor, size=size, digests=digests, content=content)

    def _drop(self, descriptor: int, digest: Digest, reason: str) -> None:
        """Remove a damaged blob, unless another process has replaced it meanwhile; it is not used either way."""
        self.damaged.append(digest)
        became = "was dropped"
        try:
            if os.path.samestat(os.lstat(self.path(digest)), os.fstat(descriptor)):
                os.unlink(self.path(digest))
        except FileNotFoundError:
            pass  # another process was faster
        except OSError:
            became = "stays, since it cannot be removed"
        _log.warning("the cache's copy of %s is of no use, and %s: %s", digest, became, reason)

    def _open(self, digest: Digest) -> int | None:
        try:
            with directory_of(self._root, _name(digest)) as (prefix, directory):
                descriptor = os.open(f"{prefix}{digest.hex}", READ_NO_LINK, dir_fd=directory)
        except OSError:
            return None
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
        os.close(descriptor)
        return None

    def keep(self, fresh: Path, digest: Digest) -> Path:
        """Add a file in the cache that was hashed while it was written. Raises ``OSError``."""
        return move_into_cache(self._root, _name(digest), fresh)

    def all(self) -> Iterator[Digest]:
        for algorithm in STRONG:
            for prefix in listing(self._root, f"blobs/{algorithm}"):
                for name in listing(self._root, f"blobs/{algorithm}/{prefix}"):
                    with suppress(ValueError):
                        digest = Digest(algorithm, name)
                        if digest.hex.startswith(prefix):
                            yield digest


def _shared(descriptor: int) -> bool:
    try:
        return try_lock(descriptor, shared=True) is not FileLock.BUSY
    except OSError:
        return False


def _name(digest: Digest) -> str:
    return f"blobs/{digest.algorithm}/{digest.hex[:2]}/{digest.hex}"


def _hashed(descriptor: int, algorithms: Iterable[str]) -> tuple[bytes | None, int, dict[str, Digest]]:
    """Hash a blob; return its bytes as well where they are few, so that they need not be read again."""
    hashers = {name: hashlib.new(name) for name in algorithms}
    # A little more than there is: allocating a megabyte takes longer than reading a small blob.
    head = os.read(descriptor, min(os.fstat(descriptor).st_size + 1, FEW_BYTES))
    chunk, size = head, 0
    while chunk:
        size += len(chunk)
        for hasher in hashers.values():
            hasher.update(chunk)
        chunk = os.read(descriptor, 1 if size == len(head) < FEW_BYTES else _CHUNK)
    digests = {name: Digest(name, hasher.hexdigest()) for name, hasher in hashers.items()}
    return head if size == len(head) else None, size, digests
