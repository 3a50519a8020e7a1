"""What every access to a repository has in common: manifests and small blobs that are what they should be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from getmodules.errors import DestinationExistsError, DigestMismatchError, LimitExceededError
from getmodules.getters.oci.repository import (
    OCI_MANIFEST,
    Descriptor,
    RawManifest,
    judged_manifest,
    occupied,
    read_small_blob,
    referrers_tag,
)
from getmodules.util.digest import Digest
from tests.support.contexts import a_context
from tests.support.refusals import refusal

BODY = b'{"schemaVersion":2}'


class Chunks:
    """A body in pieces of three bytes, that notes how much was read, and whether it was closed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.read = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for at in range(0, len(self._data), 3):
            self.read += 3
            yield self._data[at : at + 3]

    def close(self) -> None:
        self.closed = True


class Shelf:
    """A repository with one manifest and one blob, whatever it is asked for."""

    def __init__(self, content: bytes, chunks: Any = None) -> None:
        self.content = content
        self.chunks = Chunks(content) if chunks is None else chunks
        self.asked: list[str] = []

    def manifest(self, reference: str, context: Any) -> RawManifest:
        self.asked.append(reference)
        return RawManifest(media_type=OCI_MANIFEST, body=self.content)

    def blob(self, descriptor: Descriptor, context: Any) -> Any:
        return self.chunks


def judged(shelf: Any, tag: str, wanted: Digest | None) -> tuple[RawManifest, Digest]:
    return judged_manifest(shelf, tag, wanted, a_context())


def read(shelf: Any, data: bytes, *, size: int | None = None, limit: int = 1000) -> bytes:
    descriptor = Descriptor(media_type="x/y", digest=Digest.of(data), size=len(data) if size is None else size)
    context = a_context()
    return read_small_blob(lambda wanted: shelf.blob(wanted, context), descriptor, "config", limit, context)


def test_a_manifest_does_not_print_its_bytes() -> None:
    assert "schemaVersion" not in repr(RawManifest(media_type=OCI_MANIFEST, body=BODY))


def test_descriptors_can_be_in_sets() -> None:
    one = Descriptor(media_type="x/y", digest=Digest.of(BODY), size=1, annotations={"a": "b"})
    assert len({one, Descriptor(media_type="x/y", digest=Digest.of(BODY), size=1, annotations={"a": "b"})}) == 1


def test_a_tag_means_what_its_bytes_hash_to() -> None:
    shelf = Shelf(BODY)
    manifest, digest = judged(shelf, "1.0", None)
    assert (manifest.body, digest, shelf.asked) == (BODY, Digest.of(BODY), ["1.0"])


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_a_digest_is_held_in_its_own_algorithm(algorithm: str) -> None:
    wanted = Digest.of(BODY, algorithm)
    shelf = Shelf(BODY)
    assert judged(shelf, "ignored", wanted)[1] == wanted
    assert shelf.asked == [str(wanted)]


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_another_manifest_than_the_wanted_one(algorithm: str) -> None:
    wanted = Digest.of(b"another", algorithm)
    error = refusal(DigestMismatchError, "digest-mismatch", judged, Shelf(BODY), "1.0", wanted)
    assert str(wanted) in error.message
    assert str(Digest.of(BODY, algorithm)) in error.message
    assert error.hint


def test_a_small_blob_is_read_and_closed() -> None:
    shelf = Shelf(b"config")
    assert read(shelf, b"config") == b"config"
    assert shelf.chunks.closed


def test_a_small_blob_may_come_from_what_has_no_end_to_close() -> None:
    assert read(Shelf(b"", chunks=[b"con", b"fig"]), b"config") == b"config"


def test_an_empty_blob_is_a_blob() -> None:
    assert read(Shelf(b""), b"") == b""


@pytest.mark.parametrize(
    ("content", "wanted", "size"),
    [
        pytest.param(b"confiG", b"config", 6, id="other bytes"),
        pytest.param(b"conf", b"config", 6, id="too short"),
        pytest.param(b"config-and-more", b"config", 6, id="too long"),
        pytest.param(b"config", b"config", 5, id="right bytes, wrong size"),
        pytest.param(b"config", b"config", 7, id="right bytes, size too large"),
    ],
)
def test_a_small_blob_that_is_not_what_the_manifest_says(content: bytes, wanted: bytes, size: int) -> None:
    shelf = Shelf(content)
    refusal(DigestMismatchError, "digest-mismatch", read, shelf, wanted, size=size)
    assert shelf.chunks.closed


def test_what_is_too_long_is_not_read_to_its_end() -> None:
    shelf = Shelf(b"x" * 1_000_000)
    refusal(DigestMismatchError, "digest-mismatch", read, shelf, b"config")
    assert shelf.chunks.read < 20


def test_what_is_too_large_is_not_asked_for() -> None:
    shelf = Shelf(b"x" * 2000)
    refusal(LimitExceededError, "limit-exceeded/metadata", read, shelf, b"x" * 2000)
    assert shelf.chunks.read == 0


def test_the_fallback_tag_of_a_digest_is_a_tag() -> None:
    assert referrers_tag(Digest.of(b"")) == "sha256-" + hashlib.sha256(b"").hexdigest()


def test_a_tag_that_is_taken() -> None:
    error = occupied("1.0\x1b[2J", Digest.of(BODY))
    assert (type(error), error.code) == (DestinationExistsError, "destination-exists")
    assert str(Digest.of(BODY)) in error.message
    assert "\x1b" not in error.message
    assert "--force" in str(error.typed_hint)
