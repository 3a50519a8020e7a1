"""Packages: the manifest says of each blob what the blob is."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from typing import Any

import pytest

from getmodules.testing import (
    Package,
    artifact,
    helm_chart,
    image_package,
    index_package,
    module_package,
    provider_package,
    tar_of,
    zip_of,
)
from tests.support.registryclient import sha

FILES = {"main.tf": "# main\n", "scripts/run.sh": b"#!/bin/sh\n"}


def fields(package: Package) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(package.manifest)
    return loaded


EVERY = [
    pytest.param(module_package(FILES), id="module"),
    pytest.param(module_package(FILES, annotations={"a": "b"}), id="module-with-annotations"),
    pytest.param(image_package([FILES, {"b.tf": "b"}]), id="image-style"),
    pytest.param(helm_chart(FILES), id="helm"),
    pytest.param(artifact("application/x", [("text/plain", b"hello")]), id="artifact"),
]


@pytest.mark.parametrize("package", EVERY)
def test_every_descriptor_is_true(package: Package) -> None:
    described = [fields(package)["config"], *fields(package)["layers"]]
    assert [(d["digest"], d["size"]) for d in described] == [(sha(blob), len(blob)) for blob in package.blobs]
    assert fields(package)["mediaType"] == package.media_type
    assert str(package.digest) == sha(package.manifest)


def test_a_module_package_is_as_oras_pushes_it() -> None:
    package = module_package(FILES, annotations={"org.opencontainers.image.version": "1.0.0"})
    found = fields(package)
    assert found["artifactType"] == "application/vnd.opentofu.modulepkg"
    assert found["config"]["mediaType"] == "application/vnd.oci.empty.v1+json"
    assert [layer["mediaType"] for layer in found["layers"]] == ["archive/zip"]
    assert found["annotations"] == {"org.opencontainers.image.version": "1.0.0"}
    with zipfile.ZipFile(io.BytesIO(package.blobs[1])) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "main.tf": "# main\n",
            "scripts/run.sh": "#!/bin/sh\n",
        }
        assert archive.getinfo("scripts/run.sh").external_attr >> 16 == 0o100755
        assert archive.getinfo("main.tf").external_attr >> 16 == 0o100644


def test_the_same_files_are_the_same_bytes() -> None:
    turned = dict(reversed(FILES.items()))
    assert zip_of(FILES) == zip_of(turned)
    assert tar_of(FILES) == tar_of(turned)
    assert image_package([FILES]) == image_package([turned])


def test_an_image_style_package_names_its_type_and_what_its_layers_unpack_to() -> None:
    package = image_package([FILES, {"b.tf": "b"}], package_type="modules")
    config = json.loads(package.blobs[0])
    assert config["config"]["Labels"] == {"org.opentofu.package-type": "modules"}
    with tarfile.open(fileobj=io.BytesIO(package.blobs[1])) as layer:
        assert sorted(layer.getnames()) == sorted(FILES)
    assert config["rootfs"]["diff_ids"] == [sha(tar_of(FILES)), sha(tar_of({"b.tf": "b"}))]


def test_a_container_image_has_no_label() -> None:
    assert json.loads(image_package([FILES], package_type=None).blobs[0])["config"]["Labels"] == {}


def test_layers_may_be_plain() -> None:
    package = image_package([FILES], media_type="application/vnd.oci.image.layer.v1.tar")
    assert package.blobs[1] == tar_of(FILES)


def test_an_index_refers_to_its_children() -> None:
    children = [module_package({"a": "1"}), module_package({"b": "2"})]
    package = index_package(children)
    listed = fields(package)["manifests"]
    assert [(entry["digest"], entry["size"]) for entry in listed] == [
        (str(child.digest), len(child.manifest)) for child in children
    ]
    assert len({entry["platform"]["os"] for entry in listed}) == 2


def test_a_provider_is_an_index_of_targets() -> None:
    package = provider_package({"terraform-provider-x": b"\x7fELF"})
    assert fields(package)["artifactType"] == "application/vnd.opentofu.provider"
    assert {fields(child)["artifactType"] for child in package.children} == {"application/vnd.opentofu.provider-target"}


def test_a_package_may_refer_to_another() -> None:
    subject = module_package(FILES)
    package = artifact("application/x-signature", [], subject=subject)
    assert fields(package)["subject"] == subject.descriptor()
