"""What a registry knows: repositories, each with its manifests, tags and uploads.

One lock for each repository guards the tables; bytes are written before they are named in one, so whoever finds
a name finds the bytes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import BinaryIO, Protocol, Self

from getmodules.testing.registry.contents import Contents, MemoryContents, add, read
from getmodules.util.digest import Digest
from getmodules.util.values import field, valueclass

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
IMAGE_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFESTS = frozenset({IMAGE_MANIFEST, DOCKER_MANIFEST})
INDEXES = frozenset({IMAGE_INDEX, DOCKER_INDEX})


@valueclass(kw_only=False)
class Manifest:
    """What the registry remembers of a manifest beside its bytes."""

    digest: Digest
    size: int
    media_type: str
    artifact_type: str | None = None
    subject: Digest | None = None
    annotations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, data: bytes, media_type: str, digest: Digest | None = None) -> Self:
        """Lenient, because tests store what a client would never send; whoever takes requests checks before."""
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
    """The manifest's own; where it has none, the type of its config stands for it."""
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


@valueclass(kw_only=False, frozen=False)
class Upload:
    """Bytes of a blob that is being pushed in pieces."""

    spool: BinaryIO
    length: int = 0
    short_chunk: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@valueclass(kw_only=False, frozen=False)
class Repository:
    name: str
    contents: Contents
    manifests: dict[Digest, Manifest] = field(default_factory=dict)
    tags: dict[str, Digest] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def resolve(self, reference: str) -> Manifest | None:
        """A tag or a digest, as text."""
        with self.lock:
            digest = self.tags.get(reference)
            if digest is None:
                try:
                    digest = Digest.parse(reference)
                except ValueError:
                    return None
            return self.manifests.get(digest)

    def manifest_bytes(self, manifest: Manifest) -> bytes:
        return read(self.contents, manifest.digest)

    def add_blob(self, data: bytes, algorithm: str = "sha256") -> Digest:
        digest = Digest.of(data, algorithm)
        add(self.contents, data, digest)
        return digest

    def add_manifest(self, data: bytes, manifest: Manifest, *tags: str) -> None:
        add(self.contents, data, manifest.digest)
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


class Store(Protocol):
    """All repositories of a registry."""

    def find(self, name: str) -> Repository | None: ...

    def create(self, name: str) -> Repository:
        """The repository of this name, made where there is none."""

    def repositories(self) -> list[Repository]: ...

    def saved(self, repository: Repository) -> None:
        """Called after each change of a repository's tables."""


class MemoryStore:
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

    def saved(self, repository: Repository) -> None:
        """Memory is saved as it is."""
