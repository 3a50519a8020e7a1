"""Repositories and what they remember of manifests."""

from __future__ import annotations

import json
import threading

import pytest

from getmodules.testing.registry.store import IMAGE_INDEX, IMAGE_MANIFEST, Manifest, MemoryStore
from getmodules.util.digest import Digest

SUBJECT = Digest.of(b"subject")


def manifest(**members: object) -> bytes:
    return json.dumps(members).encode()


@pytest.mark.parametrize(
    ("data", "artifact_type"),
    [
        pytest.param(manifest(artifactType="a/b", config={"mediaType": "c/d"}), "a/b", id="its-own"),
        pytest.param(manifest(config={"mediaType": "c/d"}), "c/d", id="its-config's"),
        pytest.param(manifest(), None, id="none"),
        pytest.param(manifest(artifactType=5, config=[]), None, id="nonsense"),
        pytest.param(b"\xff", None, id="not-json"),
        pytest.param(b"[" * 100_000, None, id="deep"),
    ],
)
def test_the_artifact_type_of_a_manifest(data: bytes, artifact_type: str | None) -> None:
    assert Manifest.of(data, IMAGE_MANIFEST).artifact_type == artifact_type


def test_a_descriptor_says_everything_that_lists_show() -> None:
    data = manifest(artifactType="a/b", annotations={"k": "v", "odd": 5}, subject={"digest": str(SUBJECT)})
    found = Manifest.of(data, IMAGE_INDEX)
    assert found.subject == SUBJECT
    assert found.descriptor() == {
        "mediaType": IMAGE_INDEX,
        "digest": str(Digest.of(data)),
        "size": len(data),
        "artifactType": "a/b",
        "annotations": {"k": "v"},
    }


@pytest.mark.parametrize("subject", [None, "x", {}, {"digest": 5}, {"digest": "sha256:../.."}])
def test_a_subject_that_is_none_is_none(subject: object) -> None:
    assert Manifest.of(manifest(subject=subject), IMAGE_MANIFEST).subject is None


def test_tags_and_digests_lead_to_manifests_until_they_are_removed() -> None:
    repository = MemoryStore().create("a")
    data = manifest(a=1)
    stored = Manifest.of(data, IMAGE_MANIFEST)
    repository.add_manifest(data, stored, "1.0", "latest")
    assert repository.resolve("1.0") is repository.resolve(str(stored.digest)) is stored
    assert repository.manifest_bytes(stored) == data
    assert repository.resolve("2.0") is None
    assert repository.remove_tag("1.0")
    assert not repository.remove_tag("1.0")
    assert repository.resolve("latest") is stored
    assert repository.remove_manifest(stored.digest)
    assert not repository.remove_manifest(stored.digest)
    assert (repository.tags, repository.resolve("latest")) == ({}, None)


def test_one_repository_for_a_name_however_many_ask_at_once() -> None:
    store = MemoryStore()
    found = []
    barrier = threading.Barrier(8)

    def create() -> None:
        barrier.wait()
        found.append(store.create("a"))

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert store.repositories() == [store.find("a")]
