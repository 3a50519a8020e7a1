"""Packages of every shape that a registry may hold, as manifests and blobs; nothing is sent yet."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping, Sequence

from getmodules.testing.registry.store import IMAGE_INDEX, IMAGE_MANIFEST
from getmodules.util.digest import Digest
from getmodules.util.values import valueclass

MODULE_TYPE = "application/vnd.opentofu.modulepkg"
PROVIDER_TYPE = "application/vnd.opentofu.provider"
PROVIDER_TARGET_TYPE = "application/vnd.opentofu.provider-target"
ZIP = "archive/zip"
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
EMPTY = b"{}"
IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
TAR_GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"
HELM_CONFIG = "application/vnd.cncf.helm.config.v1+json"
HELM_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
PACKAGE_TYPE_LABEL = "org.opentofu.package-type"

Files = Mapping[str, str | bytes]
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


@valueclass(kw_only=False)
class Package:
    """A manifest with everything that it refers to."""

    manifest: bytes
    media_type: str
    blobs: tuple[bytes, ...] = ()
    children: tuple[Package, ...] = ()

    @property
    def digest(self) -> Digest:
        return Digest.of(self.manifest)

    def descriptor(self, **more: object) -> dict[str, object]:
        return descriptor(self.media_type, self.manifest) | more


def descriptor(media_type: str, data: bytes, **more: object) -> dict[str, object]:
    """Return the descriptor of ``data``."""
    return {"mediaType": media_type, "digest": str(Digest.of(data)), "size": len(data), **more}


# --------------------------------------------------------------------------------------------- archives


def zip_of(files: Files) -> bytes:
    """Return a zip of these files; those whose name ends with ``.sh`` are executable."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name, _ZIP_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3  # Unix: the upper half of the attributes is a mode
            member.external_attr = (0o100755 if name.endswith(".sh") else 0o100644) << 16
            archive.writestr(member, content)
    return buffer.getvalue()


def tar_of(files: Files) -> bytes:
    """Return a tar of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


# --------------------------------------------------------------------------------------------- packages


def artifact(
    artifact_type: str | None,
    layers: Sequence[tuple[str, bytes]],
    *,
    config: tuple[str, bytes] = (EMPTY_TYPE, EMPTY),
    annotations: Mapping[str, str] | None = None,
    subject: Package | None = None,
) -> Package:
    """Make an image manifest with these layers, each of a media type and bytes."""
    fields: dict[str, object] = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST}
    if artifact_type is not None:
        fields["artifactType"] = artifact_type
    fields["config"] = descriptor(*config)
    fields["layers"] = [descriptor(media_type, data) for media_type, data in layers]
    if subject is not None:
        fields["subject"] = subject.descriptor()
    if annotations:
        fields["annotations"] = dict(annotations)
    blobs = (config[1], *(data for _, data in layers))
    return Package(_json(fields), IMAGE_MANIFEST, blobs)


def module_package(files: Files, *, annotations: Mapping[str, str] | None = None, layer_type: str = ZIP) -> Package:
    """Make what ``oras push --artifact-type application/vnd.opentofu.modulepkg … pkg.zip:archive/zip`` pushes."""
    return artifact(MODULE_TYPE, [(layer_type, zip_of(files))], annotations=annotations)


def image_package(
    layers: Sequence[Files], *, package_type: str | None = "module", media_type: str = TAR_GZIP
) -> Package:
    """Make an image ``FROM scratch``; ``package_type`` is its label; without one it is a container image."""
    tars = [tar_of(files) for files in layers]
    labels = {} if package_type is None else {PACKAGE_TYPE_LABEL: package_type}
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [str(Digest.of(data)) for data in tars]},
    }
    packed = [gzip.compress(data, mtime=0) if media_type.endswith("gzip") else data for data in tars]
    return artifact(None, [(media_type, data) for data in packed], config=(IMAGE_CONFIG, _json(config)))


def index_package(children: Sequence[Package], *, artifact_type: str | None = None) -> Package:
    """Make an index of packages, one for each of some platforms."""
    fields: dict[str, object] = {"schemaVersion": 2, "mediaType": IMAGE_INDEX}
    if artifact_type is not None:
        fields["artifactType"] = artifact_type
    systems = ("linux", "darwin", "windows")
    fields["manifests"] = [
        child.descriptor(platform={"os": systems[number % 3], "architecture": "amd64"})
        for number, child in enumerate(children)
    ]
    return Package(_json(fields), IMAGE_INDEX, (), tuple(children))


def provider_package(files: Files) -> Package:
    """Make a provider as OpenTofu publishes it: an index, with a package for each platform."""
    targets = [
        artifact(PROVIDER_TARGET_TYPE, [(ZIP, zip_of({**files, "PLATFORM": name}))]) for name in ("linux", "darwin")
    ]
    return index_package(targets, artifact_type=PROVIDER_TYPE)


def helm_chart(files: Files) -> Package:
    """Make a Helm chart, which is not a module."""
    chart = gzip.compress(tar_of(files), mtime=0)
    return artifact(None, [(HELM_CHART, chart)], config=(HELM_CONFIG, _json({"name": "chart", "version": "1.0.0"})))


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
