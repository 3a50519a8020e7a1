"""What is a module package: the peers' vectors, and what each other thing is called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from getmodules.errors import ContentError, CorruptArchiveError, UnsupportedContentError
from getmodules.getters.oci.artifact import (
    HELM_CONFIG,
    IMAGE_LAYERS,
    MAX_LAYERS,
    MODULE_TYPE,
    ImagePackage,
    ModulePackage,
    artifact_type,
    check_image_label,
    index_entries,
    judge,
    listed_manifest,
    parse,
    subject,
)
from getmodules.getters.oci.repository import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    MANIFEST_BYTES,
    OCI_INDEX,
    OCI_MANIFEST,
    RawManifest,
)
from getmodules.testing import (
    artifact as an_artifact,
    helm_chart,
    image_package,
    index_package,
    module_package,
    provider_package,
)
from tests.support.checkout import CASES
from tests.support.refusals import refusal

VECTORS = json.loads((CASES / "oci_manifests.json").read_text(encoding="utf-8"))
FORMATS = {"archive/zip": "zip"}
DIGEST = "sha256:" + "0a" * 32
IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
ZIP_LAYER = {"mediaType": "archive/zip", "digest": DIGEST, "size": 3}
CONFIG = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": DIGEST, "size": 2}
VALID = {
    "schemaVersion": 2,
    "mediaType": OCI_MANIFEST,
    "artifactType": MODULE_TYPE,
    "config": CONFIG,
    "layers": [ZIP_LAYER],
}
ABSENT: Any = object()


def raw(document: Any, media_type: str = OCI_MANIFEST) -> RawManifest:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return RawManifest(media_type=media_type, body=body)


def valid(**more: Any) -> RawManifest:
    """The valid manifest with these members instead."""
    return raw({name: value for name, value in {**VALID, **more}.items() if value is not ABSENT})


# --------------------------------------------------------------------------------------- the peers' vectors

#: Faults that lie in the digest or in the blob: the manifest itself is one of a module.
ELSEWHERE = {
    "manifest digest mismatch",
    "blob content altered, same length",
    "layer size wrong (smaller)",
    "blob is not a zip",
}


def of_vector(vector: dict[str, Any]) -> RawManifest:
    if "manifest" in vector:
        return raw(vector["manifest"], vector["resolved_media_type"])
    size = vector["manifest_padded_to_bytes"]
    body = json.dumps(VALID).encode()
    return raw(body + b" " * (size - len(body)), vector["resolved_media_type"])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_vector(vector: dict[str, Any]) -> None:
    manifest = of_vector(vector)
    if len(manifest.body) > MANIFEST_BYTES:  # the one place where ours differ: 4 MiB are 4 MiB
        assert "4,194,304" in refusal(CorruptArchiveError, "corrupt-archive", judge, manifest, FORMATS).message
    elif "error" in vector and vector["name"] not in ELSEWHERE:
        with pytest.raises(ContentError) as caught:
            judge(manifest, FORMATS)
        assert caught.value.exit_code == 3
    else:
        found = judge(manifest, FORMATS)
        assert isinstance(found, ModulePackage)
        assert found.format == "zip"


def test_a_manifest_of_exactly_the_largest_size() -> None:
    body = json.dumps(VALID).encode()
    assert judge(raw(body + b" " * (MANIFEST_BYTES - len(body))), FORMATS)
    refusal(CorruptArchiveError, "corrupt-archive", judge, raw(body + b" " * (MANIFEST_BYTES - len(body) + 1)), FORMATS)


# ------------------------------------------------------------------------------------------------- documents


@pytest.mark.parametrize(
    ("manifest", "kind", "said"),
    [
        pytest.param(raw(b"", ""), UnsupportedContentError, "without a content type", id="no content type"),
        pytest.param(raw(b"<html>", "text/html"), UnsupportedContentError, "text/html", id="a login page"),
        pytest.param(raw(b"<html>"), CorruptArchiveError, "not usable JSON", id="no JSON"),
        pytest.param(raw([]), CorruptArchiveError, "must be an object", id="a list"),
        pytest.param(raw(b'{"a":1,"a":1}'), CorruptArchiveError, "twice", id="a name twice"),
        pytest.param(raw(b'{"a":NaN}'), CorruptArchiveError, "NaN", id="NaN"),
        pytest.param(raw(b'{"a":' + b"[" * 100 + b"]" * 100 + b"}"), CorruptArchiveError, "nested", id="deep"),
        pytest.param(valid(schemaVersion=1), UnsupportedContentError, "schema version", id="schema version 1"),
        pytest.param(valid(schemaVersion=ABSENT), CorruptArchiveError, "schemaVersion", id="no schema version"),
        pytest.param(valid(schemaVersion="2"), CorruptArchiveError, "schemaVersion", id="a version as text"),
        pytest.param(valid(schemaVersion=True), CorruptArchiveError, "schemaVersion", id="a version that is true"),
        pytest.param(valid(mediaType=5), CorruptArchiveError, "mediaType", id="a media type that is a number"),
        pytest.param(valid(mediaType=OCI_INDEX), CorruptArchiveError, "says that it is", id="another media type"),
        pytest.param(valid(mediaType=DOCKER_MANIFEST), CorruptArchiveError, "says that it is", id="Docker's"),
        pytest.param(valid(manifests=[]), CorruptArchiveError, "at once", id="an image and an index"),
    ],
)
def test_a_document_that_is_no_manifest(manifest: RawManifest, kind: type[ContentError], said: str) -> None:
    for function in (parse, lambda each: judge(each, FORMATS)):
        error = refusal(kind, kind.base_code, function, manifest)
        assert said in error.message


def layer(**more: Any) -> dict[str, Any]:
    return {"layers": [{name: value for name, value in {**ZIP_LAYER, **more}.items() if value is not ABSENT}]}


@pytest.mark.parametrize(
    ("members", "said"),
    [
        pytest.param({"layers": ABSENT}, "no 'layers'", id="no layers"),
        pytest.param({"layers": {}}, "'layers' must be an array", id="layers that are an object"),
        pytest.param({"layers": ["x"]}, "must be an object", id="a layer that is text"),
        pytest.param({"config": []}, "'config' must be an object", id="a config that is a list"),
        pytest.param(
            {"artifactType": ABSENT, "config": {**CONFIG, "size": -1}},
            "config",
            id="an image's config of negative size",
        ),
        pytest.param(layer(digest=ABSENT), "layer 1 has no 'digest'", id="no digest"),
        pytest.param(layer(digest="../../etc/passwd"), "no usable digest", id="a digest that is a path"),
        pytest.param(layer(digest="sha256:../x"), "no usable digest", id="a digest with a path"),
        pytest.param(layer(digest=DIGEST.upper()), "no usable digest", id="capitals"),
        pytest.param(layer(digest=DIGEST[:-1]), "no usable digest", id="a short digest"),
        pytest.param(layer(digest="md5:" + "0" * 32), "too weak", id="md5"),
        pytest.param(layer(size=ABSENT), "no 'size'", id="no size"),
        pytest.param(layer(size=-1), "negative", id="a negative size"),
        pytest.param(layer(size="3"), "size", id="a size as text"),
        pytest.param(layer(size=3.0), "size", id="a size with a point"),
        pytest.param(layer(size=2**70), "64 bits", id="a size beyond all numbers"),
        pytest.param(layer(mediaType=ABSENT), "no 'mediaType'", id="a layer without a type"),
        pytest.param(layer(annotations=[]), "annotations", id="annotations that are a list"),
        pytest.param(layer(annotations={"a": 1}), "annotations", id="an annotation that is a number"),
        pytest.param({"artifactType": 5}, "artifactType", id="an artifact type that is a number"),
        pytest.param({"mediaType": ABSENT}, "names its own mediaType", id="a module without a mediaType"),
        pytest.param({"layers": [ZIP_LAYER] * (MAX_LAYERS + 1)}, "1,001 layers", id="too many layers"),
    ],
)
def test_a_manifest_that_is_broken(members: dict[str, Any], said: str) -> None:
    error = refusal(CorruptArchiveError, "corrupt-archive", judge, valid(**members), FORMATS)
    assert said in error.message


# --------------------------------------------------------------------------------------------------- modules


MODULE = module_package({"a": ""})


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(ABSENT, id="none"),
        pytest.param(None, id="null"),
        pytest.param({}, id="empty"),
        pytest.param({**CONFIG, "size": -1}, id="of negative size"),
        pytest.param({"mediaType": "x/y", "digest": "none"}, id="with a digest that is none"),
    ],
)
def test_the_config_of_a_module_package_is_not_read(config: Any) -> None:
    found = judge(valid(config=config), FORMATS)
    assert isinstance(found, ModulePackage)


def of(package: Any) -> RawManifest:
    return RawManifest(media_type=package.media_type, body=package.manifest)


def test_the_module_is_the_one_layer_that_some_unpacker_knows() -> None:
    layers = [
        {**ZIP_LAYER, "mediaType": "text/plain"},
        {**ZIP_LAYER, "annotations": {"a": "b"}},
        {**ZIP_LAYER, "mediaType": "x/y"},
    ]
    found = judge(valid(layers=layers), FORMATS)
    assert isinstance(found, ModulePackage)
    assert (found.layer.media_type, found.layer.size, str(found.layer.digest)) == ("archive/zip", 3, DIGEST)
    assert found.layer.annotations == {"a": "b"}


def test_the_preferred_media_type_is_taken() -> None:
    layers = [ZIP_LAYER, {**ZIP_LAYER, "mediaType": "archive/tar"}]
    for formats, expected in (
        ({"archive/tar": "tar", "archive/zip": "zip"}, "tar"),
        ({"archive/zip": "zip", "archive/tar": "tar"}, "zip"),
        ({"archive/7z": "7z", "archive/zip": "zip"}, "zip"),
    ):
        found = judge(valid(layers=layers), formats)
        assert isinstance(found, ModulePackage)
        assert found.format == expected


@pytest.mark.parametrize(
    ("manifest", "said", "hint"),
    [
        pytest.param(valid(layers=[ZIP_LAYER] * 2), "2 layers of the type archive/zip", "one zip", id="two zips"),
        pytest.param(valid(layers=[]), "its layers: none", "archive/zip", id="no layer"),
        pytest.param(
            valid(layers=[{**ZIP_LAYER, "mediaType": each} for each in ("b/\x1b", "a/a", "a/a")]),
            "its layers: a/a, b/\\x1b",
            "archive/zip",
            id="a zip by another name",
        ),
        pytest.param(of(index_package([MODULE])), "an index within an index", "digest", id="an index in another"),
        pytest.param(valid(artifactType=ABSENT, config=ABSENT), "does not say artifactType", "push", id="a bare zip"),
        pytest.param(
            valid(artifactType=ABSENT, config=ABSENT, layers=[]), "of the type (none)", "push", id="nothing at all"
        ),
        pytest.param(
            valid(artifactType="application/vnd.opentofu.provider-target"),
            "a provider package",
            "tofu init",
            id="a provider's target",
        ),
        pytest.param(of(helm_chart({"a": ""})), "a Helm chart", "helm pull", id="a Helm chart"),
        pytest.param(
            valid(artifactType=ABSENT, config={**CONFIG, "mediaType": IMAGE_CONFIG}, layers=[ZIP_LAYER]),
            "a container image",
            "push",
            id="an image whose layers are no tars",
        ),
        pytest.param(
            valid(artifactType=ABSENT, config={**CONFIG, "mediaType": IMAGE_CONFIG}, layers=[]),
            "a container image",
            "push",
            id="an image without layers",
        ),
        pytest.param(of(an_artifact(None, [("archive/zip", b"x")])), "does not say artifactType", "push", id="no type"),
        pytest.param(of(an_artifact("a/\x1b", [("x/y", b"x")])), "of the type a/\\x1b", "push", id="something else"),
        pytest.param(
            of(an_artifact(None, [("x/y", b"x")], config=("a/config", b"{}"))), "a/config", "push", id="by config"
        ),
    ],
)
def test_what_is_no_module_is_called_by_its_name(manifest: RawManifest, said: str, hint: str) -> None:
    error = refusal(UnsupportedContentError, "unsupported-content", judge, manifest, FORMATS)
    assert said in error.message
    assert hint in str(error.hint)


# ---------------------------------------------------------------------------------------------------- images


@pytest.mark.parametrize(("media_type", "name"), IMAGE_LAYERS.items())
def test_an_image_has_its_layers_in_their_order(media_type: str, name: str) -> None:
    config = {**CONFIG, "mediaType": IMAGE_CONFIG}
    layers = [{**ZIP_LAYER, "mediaType": media_type, "size": number} for number in (3, 1, 2)]
    found = judge(valid(artifactType=ABSENT, mediaType=ABSENT, config=config, layers=layers), FORMATS)
    assert isinstance(found, ImagePackage)
    assert [(each.size, how) for each, how in found.layers] == [(3, name), (1, name), (2, name)]
    assert found.config.media_type == IMAGE_CONFIG


def test_the_image_of_the_testing_package_is_one() -> None:
    assert isinstance(judge(of(image_package([{"a": ""}])), FORMATS), ImagePackage)


def labelled(labels: Any) -> bytes:
    return json.dumps({"config": {"Labels": labels}}).encode()


@pytest.mark.parametrize("label", ["module", "modules"])
def test_a_label_of_a_module(label: str) -> None:
    check_image_label(labelled({"org.opentofu.package-type": label, "other": "x"}))


@pytest.mark.parametrize(
    ("config", "kind", "said"),
    [
        pytest.param(b"{}", UnsupportedContentError, "not intended for OpenTofu", id="no config"),
        pytest.param(b'{"config":null}', UnsupportedContentError, "not intended for OpenTofu", id="null"),
        pytest.param(labelled(None), UnsupportedContentError, "not intended for OpenTofu", id="no labels"),
        pytest.param(labelled({"other": "x"}), UnsupportedContentError, "not intended for OpenTofu", id="other labels"),
        pytest.param(
            labelled({"org.opentofu.package-type": "provider"}),
            UnsupportedContentError,
            "an image with a provider, not a module",
            id="a provider",
        ),
        pytest.param(
            labelled({"org.opentofu.package-type": "theme\x1b"}),
            UnsupportedContentError,
            "a theme\\x1b, not a module",
            id="something else",
        ),
        pytest.param(labelled({"org.opentofu.package-type": 1}), CorruptArchiveError, "Labels", id="a number"),
        pytest.param(b'{"config":[]}', CorruptArchiveError, "config", id="a config that is a list"),
        pytest.param(b"nothing", CorruptArchiveError, "not usable JSON", id="no JSON"),
    ],
)
def test_a_label_of_something_else(config: bytes, kind: type[ContentError], said: str) -> None:
    assert said in refusal(kind, kind.base_code, check_image_label, config).message


# ---------------------------------------------------------------------------------------- indexes, referrers


ATTESTATION = {"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": DIGEST}
ENTRY = {"mediaType": OCI_MANIFEST, "digest": DIGEST, "size": 3}
OTHER = {**ENTRY, "digest": DIGEST.replace("0a", "0b")}


def index(*entries: dict[str, Any], media_type: str = OCI_INDEX) -> RawManifest:
    return raw({"schemaVersion": 2, "manifests": entries}, media_type)


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(index(ENTRY), id="alone"),
        pytest.param(index(ENTRY, media_type=DOCKER_LIST), id="alone in Docker's list"),
        pytest.param(index(ENTRY, {**OTHER, "annotations": ATTESTATION}), id="as docker buildx pushes it"),
        pytest.param(
            index({**OTHER, "annotations": ATTESTATION}, ENTRY, {**OTHER, "annotations": ATTESTATION}), id="amid"
        ),
        pytest.param(index({**ENTRY, "annotations": {"vnd.docker.reference.type": "x"}}), id="with another annotation"),
    ],
)
def test_the_one_manifest_of_an_index(manifest: RawManifest) -> None:
    found = listed_manifest(manifest)
    assert found is not None
    assert (str(found.digest), found.size, found.media_type) == (DIGEST, 3, OCI_MANIFEST)


def test_a_manifest_is_no_index() -> None:
    assert listed_manifest(valid()) is None


@pytest.mark.parametrize(
    ("manifest", "said", "hint"),
    [
        pytest.param(index(), "an index of 0 manifests", "digest", id="none"),
        pytest.param(index({**ENTRY, "annotations": ATTESTATION}), "0 manifests", "digest", id="only an attestation"),
        pytest.param(index(ENTRY, OTHER), "an index of 2 manifests", "one platform", id="two platforms"),
        pytest.param(raw({"schemaVersion": 2, "manifests": []}), "an index of 0", "digest", id="by its members"),
        pytest.param(of(provider_package({"a": ""})), "a provider package of OpenTofu", "tofu init", id="a provider"),
        pytest.param(of(provider_package({"a": ""})), "not a module", "oci_mirror", id="how OpenTofu takes it"),
    ],
)
def test_an_index_that_is_no_package(manifest: RawManifest, said: str, hint: str) -> None:
    error = refusal(UnsupportedContentError, "unsupported-content", listed_manifest, manifest)
    assert said in error.message
    assert hint in str(error.hint)


def test_the_entries_of_an_index() -> None:
    children = [module_package({"a": ""}), module_package({"b": ""})]
    entries = index_entries(of(index_package(children)))
    assert [(each.digest, each.size) for each in entries] == [(each.digest, len(each.manifest)) for each in children]


def test_an_index_of_nothing() -> None:
    assert index_entries(raw({"schemaVersion": 2, "manifests": None}, OCI_INDEX)) == ()


def test_an_index_with_a_broken_entry() -> None:
    broken = raw({"schemaVersion": 2, "manifests": [{"digest": DIGEST, "size": 1}]}, OCI_INDEX)
    error = refusal(CorruptArchiveError, "corrupt-archive", index_entries, broken)
    assert "entry 1 of the index" in error.message


def test_the_subject_of_a_manifest() -> None:
    package = module_package({"a": ""})
    assert subject(of(an_artifact("a/b", [], subject=package))) == package.digest
    assert subject(of(package)) is None
    refusal(CorruptArchiveError, "corrupt-archive", subject, valid(subject={"digest": "x"}))


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        pytest.param(valid(), MODULE_TYPE, id="its own"),
        pytest.param(of(helm_chart({"a": ""})), HELM_CONFIG, id="its config's"),
        pytest.param(raw({"schemaVersion": 2, "manifests": []}, OCI_INDEX), None, id="none"),
    ],
)
def test_the_type_of_an_artifact(manifest: RawManifest, expected: str | None) -> None:
    assert artifact_type(manifest) == expected


def test_a_type_that_is_no_text() -> None:
    refusal(CorruptArchiveError, "corrupt-archive", artifact_type, valid(artifactType=[]))
