"""The port to one repository, wherever it is: a registry, an image layout on disk, a fake.

The getter, push, tags and inspect know this only. What an implementation returns is checked by them, digest by
digest; what it must do itself is bound its reading and raise the errors of :mod:`getmodules.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Protocol

from getmodules.addresses.types import PackageAddress
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
    """What a manifest says about a blob, valid by construction; whether it is true is found out later."""

    media_type: str
    digest: Digest
    size: int
    annotations: dict[str, str] = field(default_factory=dict, hash=False)
    artifact_type: str | None = None


@valueclass
class RawManifest:
    """The bytes of a manifest, as they came, and what they were said to be."""

    media_type: str
    body: bytes = field(repr=False)

    def digest(self, algorithm: str = "sha256") -> Digest:
        return Digest.of(self.body, algorithm)

    def packed(self) -> bytes:
        """Both as one, which the next run is handed back."""
        return self.media_type.encode() + b"\n" + self.body


class Repository(Protocol):
    """Reading. ``reference`` is a tag or a digest, as text."""

    def manifest(self, reference: str, context: Context) -> RawManifest:
        """At most :data:`MANIFEST_BYTES`; ``NotFoundError`` where there is none."""

    def blob(self, descriptor: Descriptor, context: Context) -> Iterable[bytes]:
        """The blob's bytes, resumed where the connection breaks; closed by the consumer."""

    def tags(self, context: Context) -> Iterator[str]:
        """All tags, in the order of the source."""

    def referrers(self, digest: Digest, context: Context) -> tuple[Descriptor, ...]:
        """What refers to a manifest: by the API, or by the fallback tag where there is no API."""

    def for_publishing(self) -> WritableRepository:
        """The same one to write into: registries grant that apart. Raises where there is only reading."""


class WritableRepository(Repository, Protocol):
    """Publishing."""

    def has_blob(self, digest: Digest, context: Context) -> bool: ...

    def put_blob(self, digest: Digest, size: int, chunks: Callable[[], Iterable[bytes]], context: Context) -> None:
        """``chunks`` can be called again where the upload must be repeated."""

    def put_manifest(self, reference: str, manifest: RawManifest, context: Context, *, replace: bool) -> None:
        """Without ``replace``, a tag that has another manifest by now keeps it, where that can be made sure.

        A layout looks and writes under one lock. Registries have no such step; who publishes looks before.
        """


class RepositoryGetter(Protocol):
    """A getter whose packages lie in repositories, which can be published to and inspected."""

    def repository(self, package: PackageAddress, context: Context) -> Repository | None:
        """Return the repository of a package, or ``None`` if it lies in none."""


#: From a registry (host and port; empty for a layout) and a repository's name (a path for a layout) to access.
RepositoryFactory = Callable[[str, str, Context], Repository]


def judged_manifest(
    repository: Repository, tag: str, wanted: Digest | None, context: Context
) -> tuple[RawManifest, Digest]:
    """The manifest under ``wanted``, or under ``tag``, and what its bytes hash to, whatever a registry says."""
    manifest = repository.manifest(str(wanted) if wanted else tag, context)
    digest = manifest.digest(wanted.algorithm if wanted else "sha256")
    if wanted is not None and digest != wanted:
        raise DigestMismatchError(
            f"the address names the manifest {wanted}, and what came for it is {digest}",
            hint="the registry, or something on the way, delivers something else than what it was asked for",
        )
    return manifest, digest


def proven_manifest(pin: Pin) -> RawManifest:
    """What ``resolve`` found, now or in an earlier run: it must still be what the pin says."""
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
    """The tag under which registries without a referrers API have the list of what refers to ``digest``."""
    return f"{digest.algorithm}-{digest.hex}"


def occupied(tag: str, digest: Digest) -> DestinationExistsError:
    return DestinationExistsError(
        f"the tag {printable(tag)!r} exists already, with another content: {digest}",
        hint="publish under a new tag, or move this one with --force",
    )


def read_blob(
    read: Callable[[Descriptor], Iterable[bytes]], descriptor: Descriptor, limit: int, context: Context
) -> bytes:
    """A small blob, verified: a config."""
    if descriptor.size > limit:
        raise LimitExceededError(
            f"a config of {descriptor.size:,} bytes; at most {limit:,} make sense",
            part="metadata",
            hint="this bound is fixed",
        )
    body = context.kept(descriptor.digest, lambda: _collected(read(descriptor), descriptor.size))
    if len(body) != descriptor.size or Digest.of(body, descriptor.digest.algorithm) != descriptor.digest:
        raise DigestMismatchError(f"the manifest names the blob {descriptor.digest}, and something else came for it")
    return body


def _collected(chunks: Iterable[bytes], size: int) -> bytes:
    """Hardly more than ``size`` bytes, whatever comes."""
    body = bytearray()
    with closing(closed_at_the_end(chunks)) as pieces:
        for piece in pieces:
            body += piece
            if len(body) > size:
                break
    return bytes(body)


def closed_at_the_end(chunks: Iterable[bytes]) -> Generator[bytes, None, None]:
    """The connection goes back wherever the reading ends."""
    try:
        yield from chunks
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
