"""Repositories, each with its manifests, tags and uploads, and with its blobs in memory or in an OCI image layout.

A lock for each repository guards its tables. Bytes are written before a table names them, so that a name which is found
has its bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Protocol, Self

from getmodules.testing.registry.wire import PIECE, Body
from getmodules.util.digest import Digest
from getmodules.util.values import field, valueclass

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
IMAGE_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFESTS = frozenset({IMAGE_MANIFEST, DOCKER_MANIFEST})
INDEXES = frozenset({IMAGE_INDEX, DOCKER_INDEX})


class Store(Protocol):
    """All repositories of a registry."""

    def find(self, name: str) -> Repository | None: ...

    def create(self, name: str) -> Repository:
        """Return the repository of this name, which is made if it does not exist."""

    def repositories(self) -> list[Repository]: ...

    def save(self, repository: Repository) -> None:
        """Save a repository; called after each change of its tables."""


class MemoryStore:
    """Repositories in memory."""

    def __init__(self) -> None:
        self._repositories: dict[str, Repository] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> Repository | None:
        with self._lock:
            return self._repositories.get(name)

    def create(self, name: str) -> Repository:
        with self._lock:
            return self._repositories.setdefault(name, Repository(name, MemoryContents()))

    def repositories(self) -> list[Repository]:
        with self._lock:
            return list(self._repositories.values())

    def save(self, repository: Repository) -> None:
        """Do nothing: memory needs no saving."""


@valueclass(kw_only=False, frozen=False)
class Repository:
    """One repository with its tables."""

    name: str
    contents: Contents
    manifests: dict[Digest, Manifest] = field(default_factory=dict)
    tags: dict[str, Digest] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def resolve(self, reference: str) -> Manifest | None:
        """Find a manifest by tag or digest."""
        with self.lock:
            digest = self.tags.get(reference)
            if digest is None:
                try:
                    digest = Digest.parse(reference)
                except ValueError:
                    return None
            return self.manifests.get(digest)

    def manifest_bytes(self, manifest: Manifest) -> bytes:
        return read_bytes(self.contents, manifest.digest)

    def add_blob(self, data: bytes, algorithm: str = "sha256") -> Digest:
        digest = Digest.of(data, algorithm)
        add_bytes(self.contents, data, digest)
        return digest

    def add_manifest(self, data: bytes, manifest: Manifest, *tags: str) -> None:
        add_bytes(self.contents, data, manifest.digest)
        with self.lock:
            self.manifests[manifest.digest] = manifest
            self.tags.update(dict.fromkeys(tags, manifest.digest))

    def remove_tag(self, tag: str) -> bool:
        with self.lock:
            return self.tags.pop(tag, None) is not None

    def remove_manifest(self, digest: Digest) -> bool:
        with self.lock:
            if self.manifests.pop(digest, None) is None:
                return False
            self.tags = {tag: target for tag, target in self.tags.items() if target != digest}
            self.contents.remove(digest)
            return True

    def referrers(self, subject: Digest) -> list[Manifest]:
        with self.lock:
            found = [manifest for manifest in self.manifests.values() if manifest.subject == subject]
        return sorted(found, key=lambda manifest: manifest.digest)

    def drop_uploads(self) -> None:
        with self.lock:
            for upload in self.uploads.values():
                upload.spool.close()
            self.uploads.clear()


@valueclass(kw_only=False, frozen=False)
class Upload:
    """The bytes of a blob that is being pushed in pieces."""

    spool: BinaryIO
    length: int = 0
    short_chunk: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@valueclass(kw_only=False)
class Manifest:
    """The fields of a manifest that the registry needs without its bytes."""

    digest: Digest
    size: int
    media_type: str
    artifact_type: str | None = None
    subject: Digest | None = None
    annotations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, data: bytes, media_type: str, digest: Digest | None = None) -> Self:
        """Read a manifest leniently, since tests store broken ones; requests are checked before."""
        digest = digest or Digest.of(data)
        fields = _fields(data)
        return cls(digest, len(data), media_type, _artifact_type(fields), _subject(fields), _annotations(fields))

    def descriptor(self) -> dict[str, object]:
        described: dict[str, object] = {
            "mediaType": self.media_type,
            "digest": str(self.digest),
            "size": self.size,
        }
        if self.artifact_type:
            described["artifactType"] = self.artifact_type
        if self.annotations:
            described["annotations"] = dict(self.annotations)
        return described


def _fields(data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _artifact_type(fields: Mapping[str, object]) -> str | None:
    """Return the artifact type, for which the type of the config stands if there is none."""
    config = fields.get("config")
    found = fields.get("artifactType") or (config.get("mediaType") if isinstance(config, dict) else None)
    return found if isinstance(found, str) else None


def _subject(fields: Mapping[str, object]) -> Digest | None:
    subject = fields.get("subject")
    text = subject.get("digest") if isinstance(subject, dict) else None
    try:
        return Digest.parse(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _annotations(fields: Mapping[str, object]) -> Mapping[str, str]:
    found = fields.get("annotations")
    if not isinstance(found, dict):
        return MappingProxyType({})
    return MappingProxyType({key: value for key, value in found.items() if isinstance(value, str)})


# --------------------------------------------------------------------------------------------------------------- bytes


class Contents(Protocol):
    """The bytes of one repository, by digest. Digests are valid by construction, so they are safe in paths."""

    def size(self, digest: Digest) -> int | None:
        """Return the number of bytes, or None if they are not here."""

    def body(self, digest: Digest, start: int, stop: int) -> Body: ...

    def spool(self) -> BinaryIO:
        """Return a file for bytes that come in. Closing it drops them."""

    def keep(self, spool: BinaryIO, digest: Digest) -> None:
        """Keep the bytes of a spool whose digest was checked, and close it."""

    def remove(self, digest: Digest) -> None: ...

    def share(self, digest: Digest, other: Contents) -> None:
        """Give ``other`` these bytes, too, for a mount."""


class MemoryContents:
    """Bytes in memory."""

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
        add_bytes(other, self._bytes[digest], digest)


class LayoutContents:
    """Bytes in ``blobs/<algorithm>/<hex>`` below a layout's directory."""

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
    """A file that is removed when it is closed, unless it became a blob before."""

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


def spool_digest(spool: BinaryIO, algorithm: str) -> Digest:
    """Return the digest of the bytes of a spool."""
    hasher = hashlib.new(algorithm)
    spool.seek(0)
    while piece := spool.read(PIECE):
        hasher.update(piece)
    return Digest(algorithm, hasher.hexdigest())


def add_bytes(contents: Contents, data: bytes, digest: Digest) -> None:
    """Keep ``data`` under its digest."""
    spool = contents.spool()
    spool.write(data)
    contents.keep(spool, digest)


def read_bytes(contents: Contents, digest: Digest) -> bytes:
    """Return all bytes of a blob."""
    size = contents.size(digest)
    assert size is not None, f"{digest} is not in this repository"
    return contents.body(digest, 0, size).read()
