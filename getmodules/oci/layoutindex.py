"""``index.json`` of an image layout: its table of tags. Pure.

What other tools put there stays there: entries are found and added, everything else is carried along.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from getmodules.errors import ContentError, CorruptArchiveError, LimitExceededError, UnsafeContentError
from getmodules.oci import artifact
from getmodules.oci.reference import is_tag
from getmodules.oci.repository import OCI_INDEX, Descriptor
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.strict_json import StrictJsonError, integer, loads, mapping, required
from getmodules.util.values import valueclass

REF_NAME = "org.opencontainers.image.ref.name"
#: Some thirty thousand tags; parsed, still far below the memory that a package may take.
INDEX_BYTES = 8 << 20
_WHAT = "the layout's index.json"


@valueclass(kw_only=False)
class Index:
    """The document as it was found, and its entries in their order."""

    document: dict[str, Any]
    entries: tuple[Descriptor, ...]

    @classmethod
    def parse(cls, body: bytes) -> Index:
        try:
            document = mapping(loads(body, _WHAT, INDEX_BYTES), _WHAT)
            if required(document, "schemaVersion", integer, _WHAT) != 2:
                raise CorruptArchiveError(f"{_WHAT} is not of schema version 2")
            manifests = required(document, "manifests", artifact.entries, _WHAT)
            entries = tuple(
                artifact.descriptor(each, f"entry {number} of {_WHAT}")
                for number, each in enumerate(manifests, start=1)
            )
        except StrictJsonError as error:
            raise CorruptArchiveError(str(error)) from None
        return cls({**document, "manifests": manifests}, entries)

    @classmethod
    def empty(cls) -> Index:
        return cls({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}, ())

    def tagged(self, tag: str) -> Descriptor | None:
        """What ``tag`` names: by itself, or at the end of a full name (``host/repository:tag``, as containerd writes).

        A layout of one image that nobody gave a name (``skopeo copy … oci:DIRECTORY``) is its ``latest``: there
        is nothing else that could be meant.
        """
        found = [each for each in self.entries if ref_name(each) == tag]
        found = found or [each for each in self.entries if (ref_name(each) or "").endswith(f":{tag}")]
        if not found and tag == "latest" and len(self.entries) == 1 and ref_name(self.entries[0]) is None:
            found = list(self.entries)
        if len({each.digest for each in found}) > 1:
            raise _ambiguous(tag, found)
        return found[0] if found else None

    def of_digest(self, digest: Digest) -> Descriptor | None:
        return next((each for each in self.entries if each.digest == digest), None)

    def tags(self) -> Iterator[str]:
        """Each tag once, as :meth:`tagged` understands them."""
        names = (ref_name(each) or "" for each in self.entries)
        tags = (name if is_tag(name) else name.rpartition(":")[2] for name in names)
        return iter(dict.fromkeys(tag for tag in tags if is_tag(tag)))

    def with_manifest(self, manifest: Descriptor, tag: str | None) -> Index:
        """The index that lists ``manifest``, under ``tag`` and no other one under it.

        What had the tag before is still listed, without a name: a lock may pin it, and a collector of garbage
        keeps only what is listed.
        """
        if tag is None and self.of_digest(manifest.digest) is not None:
            return self
        pairs = list(zip(self.document["manifests"], self.entries, strict=True))
        listed = {manifest.digest, *(known.digest for _, known in pairs if ref_name(known) != tag)}
        manifests: list[dict[str, Any]] = []
        for entry, known in pairs:
            if ref_name(known) is None and known.digest == manifest.digest:
                continue
            if tag is not None and ref_name(known) == tag:
                if known.digest in listed:
                    continue
                listed.add(known.digest)
                entry = _without_name(entry)
            manifests.append(entry)
        manifests.append(_entry(manifest, tag))
        return Index.parse(json.dumps({**self.document, "manifests": manifests}).encode())

    def encoded(self) -> bytes:
        body = json.dumps(self.document, indent=2, ensure_ascii=False).encode() + b"\n"
        if len(body) > INDEX_BYTES:
            raise LimitExceededError(
                f"{_WHAT} would have more than {INDEX_BYTES:,} bytes", part="metadata", hint="this bound is fixed"
            )
        return body


def ref_name(entry: Descriptor) -> str | None:
    return entry.annotations.get(REF_NAME)


def _entry(manifest: Descriptor, tag: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "mediaType": manifest.media_type,
        "digest": str(manifest.digest),
        "size": manifest.size,
    }
    if manifest.artifact_type is not None:
        entry["artifactType"] = manifest.artifact_type
    if tag is not None:
        entry["annotations"] = {REF_NAME: tag}
    return entry


def _without_name(entry: dict[str, Any]) -> dict[str, Any]:
    annotations = {name: value for name, value in entry["annotations"].items() if name != REF_NAME}
    rest = {name: value for name, value in entry.items() if name != "annotations"}
    return {**rest, "annotations": annotations} if annotations else rest


def _ambiguous(tag: str, found: list[Descriptor]) -> ContentError:
    digests = ", ".join(dict.fromkeys(str(each.digest) for each in found))
    names = ", ".join(dict.fromkeys(printable(ref_name(each) or "") for each in found))
    return UnsafeContentError(
        f"the layout has several manifests under the tag {printable(tag)!r} ({names}): {digests}",
        part="ambiguous-archive",
        hint="name the one that you want with digest=",
    )
