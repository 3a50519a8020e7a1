"""The bytes of one repository by their digest: in memory, or as the blobs of an OCI image layout."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, Protocol

from getmodules.testing.registry.wire import PIECE, Body
from getmodules.util.digest import Digest


class Contents(Protocol):
    """Where one repository's bytes are. Digests are valid by construction, so they are safe to make paths of."""

    def size(self, digest: Digest) -> int | None:
        """``None``: not here."""

    def body(self, digest: Digest, start: int, stop: int) -> Body: ...

    def spool(self) -> BinaryIO:
        """A place for bytes on their way in. Closing it drops them."""

    def keep(self, spool: BinaryIO, digest: Digest) -> None:
        """The bytes of a spool whose digest was checked; takes the spool over."""

    def remove(self, digest: Digest) -> None: ...

    def share(self, digest: Digest, other: Contents) -> None:
        """Let ``other`` have these bytes too (a mount)."""


def spool_digest(spool: BinaryIO, algorithm: str) -> Digest:
    hasher = hashlib.new(algorithm)
    spool.seek(0)
    while piece := spool.read(PIECE):
        hasher.update(piece)
    return Digest(algorithm, hasher.hexdigest())


def add(contents: Contents, data: bytes, digest: Digest) -> None:
    spool = contents.spool()
    spool.write(data)
    contents.keep(spool, digest)


def read(contents: Contents, digest: Digest) -> bytes:
    size = contents.size(digest)
    assert size is not None, f"{digest} is not in this repository"
    return contents.body(digest, 0, size).read()


class MemoryContents:
    def __init__(self) -> None:
        self._bytes: dict[Digest, bytes] = {}

    def size(self, digest: Digest) -> int | None:
        data = self._bytes.get(digest)
        return None if data is None else len(data)

    def body(self, digest: Digest, start: int, stop: int) -> Body:
        return Body.of(self._bytes[digest], start, stop)

    def spool(self) -> BinaryIO:
        return io.BytesIO()

    def keep(self, spool: BinaryIO, digest: Digest) -> None:
        spool.seek(0)
        self._bytes[digest] = spool.read()
        spool.close()

    def remove(self, digest: Digest) -> None:
        self._bytes.pop(digest, None)

    def share(self, digest: Digest, other: Contents) -> None:
        add(other, self._bytes[digest], digest)


class LayoutContents:
    """``blobs/<algorithm>/<hex>`` below a layout's directory."""

    def __init__(self, layout: Path) -> None:
        self._layout = layout

    def _path(self, digest: Digest) -> Path:
        return self._layout / "blobs" / digest.algorithm / digest.hex

    def size(self, digest: Digest) -> int | None:
        path = self._path(digest)
        return path.stat().st_size if path.is_file() and not path.is_symlink() else None

    def body(self, digest: Digest, start: int, stop: int) -> Body:
        return Body.of_file(self._path(digest), start, stop)

    def spool(self) -> BinaryIO:
        (self._layout / "blobs").mkdir(parents=True, exist_ok=True)
        return _NamedSpool(self._layout / "blobs")

    def keep(self, spool: BinaryIO, digest: Digest) -> None:
        assert isinstance(spool, _NamedSpool), "a spool comes from the contents that keep it"
        path = self._path(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        spool.become(path)

    def remove(self, digest: Digest) -> None:
        self._path(digest).unlink(missing_ok=True)

    def share(self, digest: Digest, other: Contents) -> None:
        spool = other.spool()
        with self._path(digest).open("rb") as source:
            while piece := source.read(PIECE):
                spool.write(piece)
        other.keep(spool, digest)


class _NamedSpool(io.FileIO):
    """A file that is gone when it is closed, unless it became a blob before."""

    def __init__(self, directory: Path) -> None:
        descriptor, name = tempfile.mkstemp(prefix=".upload-", dir=directory)
        self._path: Path | None = Path(name)
        super().__init__(descriptor, "r+b")

    def become(self, path: Path) -> None:
        assert self._path is not None, "a spool becomes one blob"
        self._path.chmod(0o644)
        source, self._path = self._path, None
        self.close()
        source.replace(path)

    def close(self) -> None:
        super().close()
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
            self._path = None
