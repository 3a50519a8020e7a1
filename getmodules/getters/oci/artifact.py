"""Classification of manifests: module packages, images, and everything else. Pure.

For everything that is not a module package, the error names what it is and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from getmodules.errors import ContentError, CorruptArchiveError, UnsupportedContentError
from getmodules.getters.oci.repository import (
    DOCKER_LIST,
    MANIFEST_BYTES,
    MANIFEST_TYPES,
    OCI_INDEX,
    Descriptor,
    RawManifest,
)
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.strict_json import (
    StrictJsonError,
    array_of,
    integer,
    loads,
    mapping,
    optional,
    required,
    size,
    string,
    table_of,
)
from getmodules.util.values import valueclass

MODULE_TYPE = "application/vnd.opentofu.modulepkg"
PROVIDER_TYPES = ("application/vnd.opentofu.provider", "application/vnd.opentofu.provider-target")
PACKAGE_LABEL = "org.opentofu.package-type"
MODULE_LABELS = ("module", "modules")
PROVIDER_LABELS = ("provider", "providers")
#: The annotation by which docker buildx says what in an index is no image but about one.
REFERENCE_TYPE = "vnd.docker.reference.type"
ATTESTATION = "attestation-manifest"
HELM_CONFIG = "application/vnd.cncf.helm.config.v1+json"
IMAGE_CONFIGS = ("application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json")
CONFIG_BYTES = MANIFEST_BYTES
MAX_LAYERS = 1_000

#: The layers of images, and the formats that unpack them; Docker's names are twins of OCI's.
IMAGE_LAYERS: Mapping[str, str] = {
    "application/vnd.oci.image.layer.v1.tar": "tar",
    "application/vnd.oci.image.layer.v1.tar+gzip": "tar.gz",
    "application/vnd.oci.image.layer.v1.tar+zstd": "tar.zst",
    "application/vnd.docker.image.rootfs.diff.tar": "tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip": "tar.gz",
    "application/vnd.docker.image.rootfs.diff.tar.zstd": "tar.zst",
}


@valueclass
class ModulePackage:
    """A manifest with one layer, which contains the module."""

    layer: Descriptor
    format: str


@valueclass
class ImagePackage:
    """An ordinary image; it is a module if a label in its config, which is not read yet, says so."""

    config: Descriptor
    layers: tuple[tuple[Descriptor, str], ...]


def parse(manifest: RawManifest) -> dict[str, Any]:
    """Return the document, which must be strict JSON and have the media type that it was sent as."""
    if manifest.media_type not in MANIFEST_TYPES:
        found = printable(manifest.media_type or "something without a content type")
        raise UnsupportedContentError(
            f"there is {found} where a manifest should be",
            hint="a login page, or a proxy's? Is this a registry at all?",
        )
    try:
        document = mapping(loads(manifest.body, "the manifest", MANIFEST_BYTES), "the manifest")
        if required(document, "schemaVersion", integer, "the manifest") != 2:
            raise UnsupportedContentError("the manifest is not of schema version 2")
        media_type = optional(document, "mediaType", string, "the manifest")
    except StrictJsonError as error:
        raise broken(error) from None
    if "layers" in document and "manifests" in document:
        raise CorruptArchiveError("the manifest is an image and an index at once")
    if media_type is not None and media_type != manifest.media_type:
        raise CorruptArchiveError(
            f"the manifest was sent as {printable(manifest.media_type)!r} and says that it is {printable(media_type)!r}"
        )
    return document


def listed_manifest(manifest: RawManifest) -> Descriptor | None:
    """Return the one entry of an index that is no attestation; ``None`` where ``manifest`` is no index."""
    document = parse(manifest)
    if not _is_index(manifest, document):
        return None
    if document.get("artifactType") in PROVIDER_TYPES:
        raise _provider()
    listed = [entry for entry in index_entries(manifest) if entry.annotations.get(REFERENCE_TYPE) != ATTESTATION]
    if len(listed) != 1:
        raise UnsupportedContentError(
            f"this is an index of {len(listed):,} manifests; a module package is one, the same on all platforms",
            hint="name the digest of the one that you want (see getmodules inspect), or build it for one platform",
        )
    return listed[0]


def _is_index(manifest: RawManifest, document: dict[str, Any]) -> bool:
    return manifest.media_type in (OCI_INDEX, DOCKER_LIST) or "manifests" in document


def judge(manifest: RawManifest, formats: Mapping[str, str]) -> ModulePackage | ImagePackage:
    """Return the module in ``manifest``. ``formats`` are unpackers by media type of layer, preferred ones first."""
    document = parse(manifest)
    if _is_index(manifest, document):
        raise UnsupportedContentError(
            "this is an index within an index, where a manifest should be",
            hint="name the digest of the manifest itself",
        )
    try:
        artifact_type = optional(document, "artifactType", string, "the manifest")
        about_config = optional(document, "config", mapping, "the manifest")
        layers = tuple(
            descriptor(layer, f"the manifest's layer {number}")
            for number, layer in enumerate(required(document, "layers", array_of(mapping), "the manifest"), start=1)
        )
    except StrictJsonError as error:
        raise broken(error) from None
    if len(layers) > MAX_LAYERS:
        raise CorruptArchiveError(f"the manifest has {len(layers):,} layers; at most {MAX_LAYERS:,} make sense")
    if artifact_type == MODULE_TYPE:
        if "mediaType" not in document:
            raise CorruptArchiveError("the manifest of a module package names its own mediaType, and this one does not")
        return _module(layers, formats)  # whatever its config is: nobody reads it, OpenTofu neither
    try:
        config = None if about_config is None else descriptor(about_config, "the manifest's config")
    except StrictJsonError as error:
        raise broken(error) from None
    is_image = artifact_type is None and config is not None and config.media_type in IMAGE_CONFIGS
    if config is not None and is_image and layers and all(layer.media_type in IMAGE_LAYERS for layer in layers):
        return ImagePackage(config=config, layers=tuple((each, IMAGE_LAYERS[each.media_type]) for each in layers))
    raise _something_else(artifact_type, "" if config is None else config.media_type, layers)


def _module(layers: tuple[Descriptor, ...], formats: Mapping[str, str]) -> ModulePackage:
    for media_type, format_name in formats.items():
        found = [layer for layer in layers if layer.media_type == media_type]
        if len(found) > 1:
            raise UnsupportedContentError(
                f"the package has {len(found)} layers of the type {media_type}; it must have exactly one",
                hint="publish it again with one zip: getmodules push does that",
            )
        if found:
            return ModulePackage(layer=found[0], format=format_name)
    types = ", ".join(sorted({printable(layer.media_type) for layer in layers})) or "none"
    hint = "push the zip with the media type archive/zip: oras push … module.zip:archive/zip"
    message = f"the module package has no layer of the type archive/zip; its layers: {types}"
    raise UnsupportedContentError(message, hint=hint)


def check_image_label(config: bytes) -> None:
    """Raise unless the image that ``config`` describes is labelled as an OpenTofu module."""
    try:
        document = mapping(loads(config, "the image's config", CONFIG_BYTES), "the image's config")
        settings = optional(document, "config", mapping, "the image's config") or {}
        labels = optional(settings, "Labels", table_of(string), "the image's config") or {}
    except StrictJsonError as error:
        raise broken(error) from None
    label = labels.get(PACKAGE_LABEL)
    if label is None:
        raise UnsupportedContentError(
            f"this is a container image that is not intended for OpenTofu: it has no label {PACKAGE_LABEL}",
            hint="a module package is published with getmodules push",
        )
    if label in PROVIDER_LABELS:
        raise UnsupportedContentError(
            "this is an image with a provider, not a module",
            hint=f"OpenTofu takes providers as artifacts of the type {PROVIDER_TYPES[0]}: published as one, tofu init "
            "installs it from an oci_mirror",
        )
    if label not in MODULE_LABELS:
        raise UnsupportedContentError(
            f"this package is a {printable(label)}, not a module",
            hint=f"a module's image has the label {PACKAGE_LABEL}=module",
        )


def descriptor(document: dict[str, Any], what: str) -> Descriptor:
    """Return a descriptor with every part checked; raise :class:`StrictJsonError` if one is invalid."""
    text = required(document, "digest", string, what)
    try:
        digest = Digest.parse(text)
    except ValueError as error:
        raise StrictJsonError(f"{what} has no usable digest: {error}") from None
    return Descriptor(
        media_type=required(document, "mediaType", string, what),
        digest=digest,
        size=required(document, "size", size, what),
        annotations=optional(document, "annotations", table_of(string), what) or {},
        artifact_type=optional(document, "artifactType", string, what),
    )


def entries(value: Any, what: str) -> list[dict[str, Any]]:
    """Return the list in an index; programs in Go write ``null`` for an empty one."""
    return [] if value is None else array_of(mapping)(value, what)


def index_entries(manifest: RawManifest) -> tuple[Descriptor, ...]:
    """Return the descriptors in an index."""
    document = parse(manifest)
    try:
        return tuple(
            descriptor(each, f"entry {number} of the index")
            for number, each in enumerate(required(document, "manifests", entries, "the index"), start=1)
        )
    except StrictJsonError as error:
        raise broken(error) from None


def subject(manifest: RawManifest) -> Digest | None:
    """Return the digest of the manifest that this one refers to, or ``None``."""
    try:
        found = optional(parse(manifest), "subject", mapping, "the manifest")
        return None if found is None else descriptor(found, "the manifest's subject").digest
    except StrictJsonError as error:
        raise broken(error) from None


def artifact_type(manifest: RawManifest) -> str | None:
    """Return the type of artifact in a manifest, or the media type of its config if there is none."""
    document = parse(manifest)
    try:
        named = optional(document, "artifactType", string, "the manifest")
        config = optional(document, "config", mapping, "the manifest")
        return named or (optional(config, "mediaType", string, "the manifest's config") if config else None)
    except StrictJsonError as error:
        raise broken(error) from None


def broken(error: StrictJsonError) -> CorruptArchiveError:
    """Return the error for a manifest that is not valid."""
    return CorruptArchiveError(str(error), hint="what was published is broken, or something on the way changed it")


def _provider() -> ContentError:
    return UnsupportedContentError(
        "this is a provider package of OpenTofu, not a module",
        hint="tofu init installs it, where required_providers names the provider and an oci_mirror in the CLI "
        "configuration (provider_installation) leads here",
    )


def _something_else(artifact_type: str | None, config_type: str, layers: tuple[Descriptor, ...]) -> ContentError:
    if artifact_type in PROVIDER_TYPES:
        return _provider()
    publish = "a module package is published with getmodules push, or oras push --artifact-type " + MODULE_TYPE
    if config_type == HELM_CONFIG:
        return UnsupportedContentError("this is a Helm chart, not a module", hint="helm pull gets it")
    if artifact_type is None and config_type in IMAGE_CONFIGS:
        return UnsupportedContentError("this is a container image, not a module", hint=publish)
    what = artifact_type or config_type or "(none)"
    message = f"this is an artifact of the type {printable(what)}, not a module ({MODULE_TYPE})"
    if artifact_type is None and any(layer.media_type == "archive/zip" for layer in layers):
        message = "there is a zip here, but its manifest does not say artifactType " + MODULE_TYPE
    return UnsupportedContentError(message, hint=publish)
