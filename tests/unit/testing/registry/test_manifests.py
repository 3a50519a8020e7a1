"""Manifests over the wire."""

from __future__ import annotations

import json

import pytest

from getmodules.testing import Behaviour, Package, Registry, artifact, image_package, index_package, module_package
from getmodules.testing.registry.store import IMAGE_INDEX, IMAGE_MANIFEST
from tests.support.registryclient import Reply, ask, push_blob, sha

MODULE = module_package({"main.tf": "x"})
MANIFEST = {"Content-Type": IMAGE_MANIFEST}


def push(registry: Registry, package: Package, *references: str, name: str = "a") -> Reply:
    """By the protocol alone; by digest where no reference is given."""
    for child in package.children:
        push(registry, child, name=name)
    for blob in package.blobs:
        push_blob(registry, name, blob)
    for reference in references or (str(package.digest),):
        headers = {"Content-Type": package.media_type}
        reply = ask(registry, "PUT", f"/v2/{name}/manifests/{reference}", package.manifest, headers)
        assert reply.status == 201, reply.body
    return reply


# --------------------------------------------------------------------------------------------- what is pushed


@pytest.mark.parametrize(
    "package",
    [
        pytest.param(MODULE, id="artifact"),
        pytest.param(image_package([{"a": "b"}]), id="image"),
        pytest.param(index_package([MODULE, image_package([{"a": "b"}])]), id="index"),
        pytest.param(index_package([index_package([MODULE])]), id="nested-index"),
        pytest.param(index_package([]), id="empty-index"),
        pytest.param(artifact("a/b", []), id="no-layers"),
        pytest.param(artifact("a/b", [], annotations={"k": "x" * (4_000_000)}), id="almost-4-MiB"),
        pytest.param(artifact("a/b", [], subject=module_package({"not": "pushed"})), id="missing-subject"),
    ],
)
def test_it_comes_back_as_it_was(registry: Registry, package: Package) -> None:
    reply = push(registry, package, "1.0")
    assert reply.header("Location") == f"/v2/a/manifests/{package.digest}"
    assert reply.header("Docker-Content-Digest") == str(package.digest)
    for reference in ("1.0", str(package.digest)):
        for method, body in (("GET", package.manifest), ("HEAD", b"")):
            found = ask(registry, method, f"/v2/a/manifests/{reference}")
            assert (found.status, found.body) == (200, body)
            assert found.header("Content-Type") == package.media_type
            assert found.header("Content-Length") == str(len(package.manifest))
            assert found.header("Docker-Content-Digest") == str(package.digest)


@pytest.mark.parametrize("algorithm", ["sha384", "sha512"])
def test_a_manifest_under_another_algorithm(registry: Registry, algorithm: str) -> None:
    for blob in MODULE.blobs:
        push_blob(registry, "a", blob)
    digest = sha(MODULE.manifest, algorithm)
    reply = ask(registry, "PUT", f"/v2/a/manifests/{digest}?tag=1.0", MODULE.manifest, MANIFEST)
    assert (reply.status, reply.header("Docker-Content-Digest")) == (201, digest)
    assert ask(registry, "GET", f"/v2/a/manifests/{digest}").body == MODULE.manifest
    assert ask(registry, "GET", "/v2/a/manifests/1.0").header("Docker-Content-Digest") == digest
    assert ask(registry, "DELETE", f"/v2/a/manifests/{digest}").status == 202


def test_a_tag_moves(registry: Registry) -> None:
    other = module_package({"main.tf": "y"})
    push(registry, MODULE, "latest")
    push(registry, other, "latest")
    assert ask(registry, "GET", "/v2/a/manifests/latest").body == other.manifest
    assert ask(registry, "GET", f"/v2/a/manifests/{MODULE.digest}").body == MODULE.manifest


def test_tags_beside_a_digest(registry: Registry) -> None:
    for blob in MODULE.blobs:
        push_blob(registry, "a", blob)
    target = f"/v2/a/manifests/{MODULE.digest}?tag=1.0&tag=latest"
    reply = ask(registry, "PUT", target, MODULE.manifest, MANIFEST)
    assert reply.headers.get_all("OCI-Tag") == ["1.0", "latest"]
    assert ask(registry, "GET", "/v2/a/tags/list").json()["tags"] == ["1.0", "latest"]
    assert ask(registry, "PUT", f"/v2/a/manifests/{MODULE.digest}?tag=-", MODULE.manifest, MANIFEST).status == 400


def test_a_subject_is_acknowledged(registry: Registry) -> None:
    signature = artifact("a/b", [], subject=MODULE)
    assert push(registry, signature).header("OCI-Subject") == str(MODULE.digest)


def test_a_subject_is_not_acknowledged_without_the_api() -> None:
    with Registry(behaviour=Behaviour(referrers_api=False)) as registry:
        assert push(registry, artifact("a/b", [], subject=MODULE)).headers["OCI-Subject"] is None


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("application/vnd.docker.distribution.manifest.v1+prettyjws", b'{"schemaVersion":1}'),
        ("application/vnd.example+json", b'{"mediaType":"application/vnd.example+json","layers":5}'),
        ("text/plain", b"not JSON at all"),
    ],
)
def test_any_media_type(registry: Registry, media_type: str, data: bytes) -> None:
    reply = ask(registry, "PUT", "/v2/a/manifests/x", data, {"Content-Type": media_type + "; charset=utf-8"})
    assert reply.status == 201
    found = ask(registry, "GET", "/v2/a/manifests/x")
    assert (found.body, found.header("Content-Type")) == (data, media_type)


def test_the_media_type_may_be_the_manifests_own(registry: Registry) -> None:
    data = b'{"mediaType":"application/vnd.example+json"}'
    assert ask(registry, "PUT", "/v2/a/manifests/x", data).status == 201
    assert ask(registry, "GET", "/v2/a/manifests/x").header("Content-Type") == "application/vnd.example+json"


# --------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("data", "headers", "status", "code"),
    [
        pytest.param(b"{", MANIFEST, 400, "MANIFEST_INVALID", id="not-json"),
        pytest.param(b"[" * 100_000, MANIFEST, 400, "MANIFEST_INVALID", id="deep"),
        pytest.param(b"[]", MANIFEST, 400, "MANIFEST_INVALID", id="list"),
        pytest.param(b"{}", MANIFEST, 400, "MANIFEST_INVALID", id="no-config"),
        pytest.param(b'{"config":{"digest":5}}', MANIFEST, 400, "MANIFEST_INVALID", id="digest-is-a-number"),
        pytest.param(b'{"config":{"digest":"sha256:../x"}}', MANIFEST, 400, "DIGEST_INVALID", id="digest-is-a-path"),
        pytest.param(b'{"layers":5,"config":{}}', MANIFEST, 400, "MANIFEST_INVALID", id="layers-are-a-number"),
        pytest.param(b"{}", {}, 400, "MANIFEST_INVALID", id="no-type"),
        pytest.param(b"x", {}, 400, "MANIFEST_INVALID", id="no-type-and-not-json"),
        pytest.param(MODULE.manifest, {"Content-Type": IMAGE_INDEX}, 400, "MANIFEST_INVALID", id="other-type"),
        pytest.param(MODULE.manifest, MANIFEST, 404, "MANIFEST_BLOB_UNKNOWN", id="missing-blobs"),
        pytest.param(b" " * ((4 << 20) + 1), MANIFEST, 413, "SIZE_INVALID", id="too-large"),
    ],
)
def test_it_is_refused(registry: Registry, data: bytes, headers: dict[str, str], status: int, code: str) -> None:
    reply = ask(registry, "PUT", "/v2/a/manifests/1.0", data, headers)
    assert (reply.status, reply.code) == (status, code)
    assert ask(registry, "GET", "/v2/a/manifests/1.0").status == 404


def test_an_index_of_what_is_not_there_is_refused(registry: Registry) -> None:
    index = index_package([MODULE])
    reply = ask(registry, "PUT", "/v2/a/manifests/1.0", index.manifest, {"Content-Type": IMAGE_INDEX})
    assert (reply.status, reply.code) == (404, "MANIFEST_BLOB_UNKNOWN")


def test_a_registry_may_take_manifests_of_what_is_not_there() -> None:
    index = index_package([MODULE])
    with Registry(behaviour=Behaviour(sparse=True)) as registry:
        for package, media_type in ((MODULE, IMAGE_MANIFEST), (index, IMAGE_INDEX)):
            target = f"/v2/a/manifests/{package.digest}"
            assert ask(registry, "PUT", target, package.manifest, {"Content-Type": media_type}).status == 201
            assert ask(registry, "GET", target).body == package.manifest
        reply = ask(registry, "PUT", "/v2/a/manifests/1.0", b'{"config":{"digest":"sha256:../x"}}', MANIFEST)
        assert (reply.status, reply.code) == (400, "DIGEST_INVALID")


def test_a_layer_that_is_to_be_had_elsewhere_need_not_be_there(registry: Registry) -> None:
    fields = json.loads(MODULE.manifest)
    fields["layers"][0]["urls"] = ["https://example.com/blob"]
    push_blob(registry, "a", MODULE.blobs[0])
    assert ask(registry, "PUT", "/v2/a/manifests/1.0", json.dumps(fields).encode(), MANIFEST).status == 201


@pytest.mark.parametrize(
    ("reference", "code"),
    [("sha256:baddigeststring", "DIGEST_INVALID"), (sha(b"other"), "DIGEST_INVALID"), (".x", "TAG_INVALID")],
)
def test_a_reference_that_does_not_fit(registry: Registry, reference: str, code: str) -> None:
    reply = ask(registry, "PUT", f"/v2/a/manifests/{reference}", b"{}", {"Content-Type": "text/plain"})
    assert (reply.status, reply.code) == (400, code)


# --------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("name", "reference", "status", "code"),
    [
        ("a", "2.0", 404, "MANIFEST_UNKNOWN"),
        ("a", ".INVALID", 404, "MANIFEST_UNKNOWN"),
        ("a", sha(b"other"), 404, "MANIFEST_UNKNOWN"),
        ("a", "sha256:x", 400, "DIGEST_INVALID"),
        ("b", "1.0", 404, "NAME_UNKNOWN"),
        ("A", "1.0", 400, "NAME_INVALID"),
    ],
)
def test_what_is_not_there(registry: Registry, name: str, reference: str, status: int, code: str) -> None:
    registry.push("a", MODULE, "1.0")
    reply = ask(registry, "GET", f"/v2/{name}/manifests/{reference}")
    assert (reply.status, reply.code) == (status, code)


def test_a_blob_is_no_manifest(registry: Registry) -> None:
    digest = push_blob(registry, "a", MODULE.manifest)
    assert ask(registry, "GET", f"/v2/a/manifests/{digest}").code == "MANIFEST_UNKNOWN"


def test_a_manifest_that_is_known_is_not_sent(registry: Registry) -> None:
    registry.push("a", MODULE, "1.0")
    for condition in (f'"{MODULE.digest}"', str(MODULE.digest)):
        reply = ask(registry, "GET", "/v2/a/manifests/1.0", headers={"If-None-Match": condition})
        assert (reply.status, reply.body) == (304, b"")
        assert reply.header("Docker-Content-Digest") == str(MODULE.digest)
    assert ask(registry, "GET", "/v2/a/manifests/1.0", headers={"If-None-Match": '"x"'}).status == 200


# --------------------------------------------------------------------------------------------- what is deleted


def test_a_tag_is_deleted_alone(registry: Registry) -> None:
    registry.push("a", MODULE, "1.0", "latest")
    assert ask(registry, "DELETE", "/v2/a/manifests/1.0").status == 202
    assert ask(registry, "GET", "/v2/a/manifests/1.0").status == 404
    assert ask(registry, "GET", "/v2/a/manifests/latest").status == 200
    assert ask(registry, "DELETE", "/v2/a/manifests/1.0").code == "MANIFEST_UNKNOWN"


def test_a_manifest_is_deleted_with_its_tags(registry: Registry) -> None:
    registry.push("a", MODULE, "1.0", "latest")
    assert ask(registry, "DELETE", f"/v2/a/manifests/{MODULE.digest}").status == 202
    assert ask(registry, "GET", "/v2/a/tags/list").json() == {"name": "a", "tags": []}
    assert ask(registry, "DELETE", f"/v2/a/manifests/{MODULE.digest}").code == "MANIFEST_UNKNOWN"


def test_deletes_may_be_disabled() -> None:
    with Registry(behaviour=Behaviour(deletes=False)) as registry:
        registry.push("a", MODULE, "1.0")
        reply = ask(registry, "DELETE", "/v2/a/manifests/1.0")
        assert (reply.status, reply.code) == (405, "UNSUPPORTED")


def test_other_methods_are_not_supported(registry: Registry) -> None:
    assert ask(registry, "POST", "/v2/a/manifests/1.0").code == "UNSUPPORTED"
