"""The protocol of a repository, be it in a registry, in an image layout on disk, or a fake.

The getter, push, tags and inspect use nothing else. They verify the digest of everything that an implementation
returns. The implementation itself must limit what it reads, and raise the errors of :mod:`getmodules.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Protocol

from getmodules.api.model import Pin
from getmodules.api.ports import Context
from getmodules.errors import DestinationExistsError, DigestMismatchError, LimitExceededError
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import field, valueclass

MANIFEST_BYTES = 4 << 20

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFEST_TYPES = (OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST)


@valueclass
class Descriptor:
    """A manifest's description of a blob: well-formed, and verified when the blob is read."""

    media_type: str
    digest: Digest
    size: int
    annotations: dict[str, str] = field(default_factory=dict, hash=False)
    artifact_type: str | None = None


@valueclass
class RawManifest:
    """The bytes of a manifest as they were sent, and their media type."""

    media_type: str
    body: bytes = field(repr=False)

    def digest(self, algorithm: str = "sha256") -> Digest:
        return Digest.of(self.body, algorithm)

    def packed(self) -> bytes:
        """Return both as one, for the proof of a pin."""
        return self.media_type.encode() + b"\n" + self.body


class Repository(Protocol):
    """A repository to read. ``reference`` is a tag or a digest, as text."""

    def manifest(self, reference: str, context: Context) -> RawManifest:
        """Return a manifest of at most :data:`MANIFEST_BYTES`; raise ``NotFoundError`` if there is none."""

    def blob(self, descriptor: Descriptor, context: Context) -> Iterable[bytes]:
        """Return the blob's bytes, resumed where the connection breaks; the consumer closes them."""

    def rest_of_blob(self, descriptor: Descriptor, start: int, context: Context) -> Iterable[bytes] | None:
        """Return the blob's bytes from ``start`` on; ``None`` where only all of them can be had."""

    def tags(self, context: Context, *, pages: int | None = None) -> Iterator[str]:
        """Return all tags, in the repository's order, or those of the first ``pages`` of its list."""

    def referrers(self, digest: Digest, context: Context) -> tuple[Descriptor, ...]:
        """Return the manifests that refer to a manifest, from the API, or from the fallback tag if there is no API."""

    def for_publishing(self) -> WritableRepository:
        """Return the same repository for writing, for which registries have other grants; raise if it is read-only."""


class WritableRepository(Repository, Protocol):
    """A repository to publish to."""

    def has_blob(self, digest: Digest, context: Context) -> bool: ...

    def put_blob(self, digest: Digest, size: int, chunks: Callable[[], Iterable[bytes]], context: Context) -> None:
        """Store a blob; ``chunks`` is called again if the upload must be repeated."""

    def put_manifest(self, reference: str, manifest: RawManifest, context: Context, *, replace: bool) -> None:
        """Store a manifest. Without ``replace``, a tag that has another manifest by now keeps it, if possible.

        A layout checks and writes under one lock. Registries have no such operation, so push checks before.
        """


#: Returns the repository for a registry (host and port; empty for a layout) and a name (a path for a layout).
RepositoryFactory = Callable[[str, str, Context], Repository]


def judged_manifest(
    repository: Repository, tag: str, wanted: Digest | None, context: Context
) -> tuple[RawManifest, Digest]:
    """Return the manifest with the digest ``wanted``, or under ``tag``, and the digest of its bytes."""
    manifest = repository.manifest(str(wanted) if wanted else tag, context)
    digest = manifest.digest(wanted.algorithm if wanted else "sha256")
    if wanted is not None and digest != wanted:
        raise DigestMismatchError(
            f"the address names the manifest {wanted}, and what came for it is {digest}",
            hint="the registry, or something on the way, delivers something else than what it was asked for",
        )
    return manifest, digest


def proven_manifest(pin: Pin) -> RawManifest:
    """Return the manifest in a pin's proof, perhaps from an earlier run, after comparing it with the pin's id."""
    assert pin.id is not None
    media_type, _, body = pin.proof.partition(b"\n") if isinstance(pin.proof, bytes) else (b"", b"", b"")
    manifest = RawManifest(media_type=media_type.decode("ascii", "replace"), body=body)
    wanted = Digest.parse(pin.id)
    if manifest.digest(wanted.algorithm) != wanted:
        raise DigestMismatchError(
            f"the manifest in the cache is not {wanted}", hint="getmodules cache clean; then again"
        )
    return manifest


def referrers_tag(digest: Digest) -> str:
    """Return the tag of the list of referrers of ``digest`` in registries without a referrers API."""
    return f"{digest.algorithm}-{digest.hex}"


def occupied(tag: str, digest: Digest) -> DestinationExistsError:
    """Return the error for a tag that has another manifest."""
    return DestinationExistsError(
        f"the tag {printable(tag)!r} exists already, with another content: {digest}",
        hint="publish under a new tag, or move this one with --force",
    )


def read_small_blob(
    read: Callable[[Descriptor], Iterable[bytes]], descriptor: Descriptor, what: str, limit: int, context: Context
) -> bytes:
    """Return a small blob (a config, or a manifest of an index), verified."""
    if descriptor.size > limit:
        raise LimitExceededError(
            f"a {what} of {descriptor.size:,} bytes; at most {limit:,} make sense",
            part="metadata",
            hint="this bound is fixed",
        )
    body = context.kept(descriptor.digest, lambda: _collected(read(descriptor), descriptor.size))
    if len(body) != descriptor.size or Digest.of(body, descriptor.digest.algorithm) != descriptor.digest:
        raise DigestMismatchError(f"the {what} {descriptor.digest} is named, and something else came for it")
    return body


def _collected(chunks: Iterable[bytes], size: int) -> bytes:
    """Return the bytes; stop soon after ``size`` bytes."""
    body = bytearray()
    with closing(closed_at_the_end(chunks)) as pieces:
        for piece in pieces:
            body += piece
            if len(body) > size:
                break
    return bytes(body)


def closed_at_the_end(chunks: Iterable[bytes]) -> Generator[bytes, None, None]:
    """Yield ``chunks``, and close them at any end, so that their connection is returned."""
    try:
        yield from chunks
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
