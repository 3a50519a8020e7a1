"""Addresses of ``oci:`` and ``oci-layout:`` (the vectors are in test_detection), and what is fetched for them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    AddressError,
    Blob,
    Context,
    DigestMismatchError,
    Gate,
    PackageAddress,
    UnsupportedContentError,
)
from getmodules.api.model import Layers
from getmodules.getters.oci.plugin import OciGetter, OciLayoutGetter, OciPlugin
from getmodules.getters.oci.repository import OCI_INDEX, Descriptor, RawManifest
from getmodules.testing import Package, image_package, module_package
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.sites import first_party

SHA256 = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    "source",
    [
        "oci://h.example/r",
        "oci://h.example:5000/a/b//sub?tag=1.0",
        f"oci://h.example/r?digest={SHA256}",
        "oci://127.0.0.1:5000/r",
        "oci://localhost/r",
        "oci-layout:///srv/layout?tag=1.0",
        f"oci-layout:///srv/layout//sub?digest={SHA256}",
    ],
)
def test_an_address(source: str) -> None:
    assert str(first_party().detect(source)) == source


@pytest.mark.parametrize(
    ("source", "word"),
    [
        pytest.param("oci://h/R", "repository", id="capitals"),
        pytest.param("oci://h/r/", "repository", id="a final slash"),
        pytest.param("oci://h//r", "no repository", id="two slashes"),
        pytest.param("oci:///r", "no registry", id="no host"),
        pytest.param("oci://u@h/r", "user name", id="a user name"),
        pytest.param("oci://h/r#x", "fragment", id="a fragment"),
        pytest.param("oci://h/r?tag=", "tag", id="an empty tag"),
        pytest.param("oci://h/r?digest=", "digest", id="an empty digest"),
        pytest.param(f"oci://h/r?tag=1&digest={SHA256}", "exclude", id="both"),
        pytest.param("oci://h/r?ref=x", "no argument", id="an unknown argument"),
        pytest.param("oci::https://h/r", "no other URL", id="another URL"),
        pytest.param("oci::h/r", "no URL", id="a bare name"),
        pytest.param("oci-layout://h/r", "path", id="a layout on a host"),
        pytest.param("oci-layout::https://h/r", "path", id="a layout by http"),
        pytest.param("oci-layout::./x?tag=a/b", "tag", id="a bad tag of a layout"),
    ],
)
def test_an_address_that_is_refused(source: str, word: str) -> None:
    assert word in refusal(AddressError, "address", first_party().detect, source, base="/b").message


# ------------------------------------------------------------------------------------------- what is fetched


class Shelf:
    """A repository that holds one package."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._blobs = {hashlib.sha256(blob).hexdigest(): blob for blob in package.blobs}
        self.asked: list[str] = []

    def manifest(self, reference: str, context: Context) -> RawManifest:
        self.asked.append(reference)
        return RawManifest(media_type=self._package.media_type, body=self._package.manifest)

    def blob(self, descriptor: Descriptor, context: Context) -> tuple[bytes, ...]:
        self.asked.append(descriptor.media_type)
        return (self._blobs[descriptor.digest.hex],)


def getter_of(shelf: Shelf, opened: list[tuple[str, str]] | None = None) -> OciGetter:
    def factory(registry: str, repository: str, context: Context) -> Any:
        if opened is not None:
            opened.append((registry, repository))
        return shelf

    return OciGetter(factory)


def package_of(source: str) -> PackageAddress:
    return first_party().detect(source).package


CONTEXT = a_context(layer_formats={"archive/zip": "zip"})
MODULE = module_package({"main.tf": "# main\n"})


@pytest.mark.parametrize(
    ("source", "reference"),
    [
        pytest.param("oci://[::1]:5000/a/b?tag=1.0", "1.0", id="a tag"),
        pytest.param("oci://[::1]:5000/a/b", "latest", id="nothing"),
        pytest.param(f"oci://[::1]:5000/a/b?digest={MODULE.digest}", str(MODULE.digest), id="a digest"),
    ],
)
def test_a_module_is_one_manifest_and_one_blob(source: str, reference: str) -> None:
    shelf, opened = Shelf(MODULE), []  # type: ignore[var-annotated]
    getter = getter_of(shelf, opened)
    pin = getter.resolve(package_of(source), CONTEXT)
    assert (pin.id, pin.digests) == (str(MODULE.digest), {"manifest": str(MODULE.digest)})
    assert str(pin.package) == f"oci://[::1]:5000/a/b?digest={MODULE.digest}"
    blob = getter.fetch(pin, (), CONTEXT)
    assert isinstance(blob, Blob)
    assert (tuple(blob.chunks), blob.size, blob.format) == (MODULE.blobs[1:], len(MODULE.blobs[1]), "zip")
    assert [digest.hex for digest in blob.digests] == [hashlib.sha256(MODULE.blobs[1]).hexdigest()]
    assert shelf.asked == [reference, "archive/zip"]
    assert set(opened) == {("[::1]:5000", "a/b")}


def test_another_manifest_than_the_wanted_one_is_refused() -> None:
    package = package_of(f"oci://h.example/r?digest={SHA256}")
    refusal(DigestMismatchError, "digest-mismatch", getter_of(Shelf(MODULE)).resolve, package, CONTEXT)


@pytest.mark.parametrize("by", ["?tag=1.0", "?digest="])
def test_a_web_page_is_not_pinned(by: str) -> None:
    page = Package(manifest=b"<html>sign in</html>", media_type="text/html")
    package = package_of(f"oci://h.example/r{by}{page.digest if by.endswith('=') else ''}")
    error = refusal(UnsupportedContentError, "unsupported-content", getter_of(Shelf(page)).resolve, package, CONTEXT)
    assert "there is text/html where a manifest should be" in error.message


def test_an_index_is_pinned() -> None:
    """Whether it is a module is judged when it is fetched."""
    index = Package(manifest=b'{"schemaVersion":2,"manifests":[]}', media_type=OCI_INDEX)
    pin = getter_of(Shelf(index)).resolve(package_of("oci://h.example/r?tag=1"), CONTEXT)
    assert pin.id == str(index.digest)


def test_a_digest_is_a_demand_on_the_pin() -> None:
    getter = getter_of(Shelf(MODULE))
    (demand,) = getter.demands(package_of(f"oci://h.example/r?digest={SHA256}"))
    assert (demand.gate, demand.check, demand.value) == (Gate.PIN, "digest", SHA256)
    assert getter.demands(package_of("oci://h.example/r?tag=1")) == ()


def test_an_image_is_its_config_and_then_its_layers() -> None:
    shelf = Shelf(image_package([{"a": "1"}, {"b": "2"}]))
    getter = getter_of(shelf)
    layers = getter.fetch(getter.resolve(package_of("oci://h.example/r?tag=1"), CONTEXT), (), CONTEXT)
    assert isinstance(layers, Layers)
    assert [blob.format for blob in layers.blobs] == ["tar.gz", "tar.gz"]
    assert shelf.asked[1].endswith("config.v1+json")


def test_a_layout_is_found_by_its_path(tmp_path: Path) -> None:
    opened: list[tuple[str, str]] = []

    def factory(registry: str, repository: str, context: Context) -> Any:
        opened.append((registry, repository))
        return Shelf(MODULE)

    OciLayoutGetter(factory).resolve(package_of(f"oci-layout://{tmp_path}/layout?tag=1.0"), CONTEXT)
    assert opened == [("", f"{tmp_path}/layout")]


def test_an_embedding_program_brings_its_own_access() -> None:
    shelf = Shelf(MODULE)
    oci, layout = OciPlugin(lambda registry, repository, context: shelf).getmodules_getters()  # type: ignore[arg-type, return-value]
    assert (tuple(oci.schemes), tuple(layout.schemes)) == (("oci",), ("oci-layout",))
    assert oci.resolve(package_of("oci://h.example/r?tag=1"), CONTEXT).id == str(MODULE.digest)  # type: ignore[attr-defined]


def test_the_versions_of_a_repository_are_its_tags(tmp_path: Path) -> None:
    client = first_party()
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text("")
    for tag in ("1.0.0", "latest"):
        client.push(tmp_path / "m", f"oci-layout::{tmp_path}/layout?tag={tag}")
    package = client.detect(f"oci-layout::{tmp_path}/layout").package
    getter = client.catalog.getter("oci-layout")
    assert getter.version_argument == "tag"
    assert set(getter.versions(package, a_context())) == {"1.0.0", "latest"}
