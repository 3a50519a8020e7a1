"""Publishing a directory as a module package.

The blob depends only on the directory's tree, the manifest on the blob and the annotations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from getmodules.addresses.types import PackageAddress
from getmodules.api.model import Kind, Member
from getmodules.api.ports import Context, Phase
from getmodules.errors import ConfigError, DigestMismatchError, NotFoundError
from getmodules.files.local import read_file
from getmodules.getters.oci.artifact import MODULE_TYPE, parse
from getmodules.getters.oci.pack import Packed, pack
from getmodules.getters.oci.reference import published_tag
from getmodules.getters.oci.repository import (
    MANIFEST_BYTES,
    OCI_MANIFEST,
    RawManifest,
    Repository,
    WritableRepository,
    occupied,
)
from getmodules.getters.oci.results import Pushed
from getmodules.getters.oci.worktree import PublishedFiles, apart_from, select
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

if TYPE_CHECKING:
    from getmodules.getters.oci.layout import Layout


LAYER_TYPE: Final = "archive/zip"
#: ``oras pull`` writes a layer under this name, and skips layers without one. It is always the same, so that a package
#: has the same digest in every repository.
_TITLE: Final = {"org.opencontainers.image.title": "module.zip"}
_EMPTY: Final = b"{}"
_EMPTY_DIGEST: Final = Digest("sha256", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
_EMPTY_CONFIG: Final = {
    "mediaType": "application/vnd.oci.empty.v1+json",
    "digest": str(_EMPTY_DIGEST),
    "size": len(_EMPTY),
    "data": "e30=",
}
_PREFIX: Final = "org.opencontainers.image."
_LICENSE_FILE = re.compile(r"(?:LICEN[CS]E|COPYING)(?:\.(?:md|txt|rst))?", re.IGNORECASE)
_SPDX = re.compile(rb"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() -]{1,200}?)[ \t]*(?:-->|\*/)?[ \t]*\r?(?:\n|\Z)")
_LICENSE_HEAD = 8_192
_LONGEST_KEY, _LONGEST_VALUE = 512, 64 << 10


def push(
    directory: Path,
    package: PackageAddress,
    repository: Repository,
    context: Context,
    *,
    annotations: Mapping[str, str],
    dry_run: bool,
    force: bool,
) -> Pushed:
    """Publish ``directory`` under the tag of ``package``; if the tag has it already, nothing is sent."""
    tag = published_tag(package)
    check_annotations(annotations)
    target = repository.for_publishing()
    selection = select(directory, context)
    layout = _as_layout(target)
    members = selection.members
    if layout is not None:  # it may be inside the published directory
        members = apart_from(layout.directory, directory, members, context)
    with context.workshop("push") as workshop:
        packed = pack(members, workshop / "package.zip", context)
        merged = {**_known_annotations(selection, tag), **annotations}
        manifest = build_manifest(packed, merged)
        published = _is_published(target, tag, packed, manifest, force, context)
        sent = 0
        if not dry_run:
            context.phase(Phase.PUBLISHING, 0 if published else packed.size + len(_EMPTY))
        if not (dry_run or published):
            sent = _publish(target, tag, packed, manifest, force, context)
    digest = manifest.digest()
    return Pushed(
        address=package.display(),
        pinned=package.with_arguments(package.arguments.without("tag").with_value("digest", str(digest))).display(),
        id=str(digest),
        digests={"manifest": str(digest), "layer": str(packed.digest)},
        annotations=dict(sorted(merged.items())),
        files=len(packed.names),
        size=packed.size,
        sent=sent,
        dry_run=dry_run,
        contents=packed.names,
    )


def _is_published(
    repository: WritableRepository, tag: str, packed: Packed, manifest: RawManifest, force: bool, context: Context
) -> bool:
    """Return whether the tag has this manifest already. Raise if it has another one, unless ``force`` is set.

    A registry has all blobs of its manifests. Files of a layout may be lost or damaged, and are written again.
    """
    context.phase(Phase.RESOLVING)
    layout = _as_layout(repository)
    try:
        found = repository.manifest(tag, context)
    except NotFoundError:
        return False
    except DigestMismatchError:
        if layout is None or not (force or layout.listed_as(tag, context) == manifest.digest()):
            raise
        return False
    if found.body == manifest.body:
        return layout is None or all(layout.has_blob(each, context) for each in (packed.digest, _EMPTY_DIGEST))
    if not force:
        if not found.body.lstrip().startswith(b"{"):
            parse(found)  # a login page is not the content of the tag
        raise occupied(tag, found.digest())
    return False


def _as_layout(repository: WritableRepository) -> Layout | None:
    """Return ``repository`` if it is a layout: only those are directories, whose files may be lost."""
    from getmodules.getters.oci.layout import Layout

    return repository if isinstance(repository, Layout) else None


def _publish(
    repository: WritableRepository, tag: str, packed: Packed, manifest: RawManifest, force: bool, context: Context
) -> int:
    """Send blobs first and then the manifest, which must not name a missing blob; return the bytes sent."""
    sent = _Counter(context)
    if not repository.has_blob(packed.digest, context):
        repository.put_blob(packed.digest, packed.size, lambda: sent.over(read_file(packed.path)), context)
    if not repository.has_blob(_EMPTY_DIGEST, context):
        repository.put_blob(_EMPTY_DIGEST, len(_EMPTY), lambda: sent.over(iter((_EMPTY,))), context)
    repository.put_manifest(tag, manifest, context, replace=force)
    return sent.total + len(manifest.body)


class _Counter:
    """Counter of the bytes sent, repetitions included."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.total = 0

    def over(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._context.checkpoint()
            yield piece
            self.total += len(piece)
            self._context.advance(len(piece))


# ---------------------------------------------------------------------------------------------- the manifest


def build_manifest(packed: Packed, annotations: Mapping[str, str]) -> RawManifest:
    """Return the manifest as ``oras push --artifact-type`` writes it, without the time, so that it is reproducible."""
    layer = {
        "mediaType": LAYER_TYPE,
        "digest": str(packed.digest),
        "size": packed.size,
        "annotations": _TITLE,
    }
    document: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": MODULE_TYPE,
        "config": _EMPTY_CONFIG,
        "layers": [layer],
    }
    if annotations:
        document["annotations"] = dict(sorted(annotations.items()))
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    if len(body) > MANIFEST_BYTES:
        raise ConfigError(f"with these annotations the manifest has more than {MANIFEST_BYTES:,} bytes")
    return RawManifest(media_type=OCI_MANIFEST, body=body)


def check_annotations(annotations: Mapping[str, str]) -> None:
    """Raise :class:`ConfigError` unless all names and values can be published."""
    for key, value in annotations.items():
        if not key or len(key) > _LONGEST_KEY or not key.isprintable() or any(c.isspace() for c in key):
            raise ConfigError(
                f"{printable(key)!r} is no name for an annotation", hint="such as org.opencontainers.image.description"
            )
        plain = value.replace("\n", "").replace("\t", "")
        if len(value) > _LONGEST_VALUE or not plain.isprintable():
            raise ConfigError(
                f"the annotation {printable(key)!r} has control characters, or more than {_LONGEST_VALUE:,} characters"
            )


def _known_annotations(selection: PublishedFiles, tag: str) -> dict[str, str]:
    """Return the annotations that are known without the user: version, commit, source, licence."""
    known = {f"{_PREFIX}version": tag}
    if selection.revision is not None:
        known[f"{_PREFIX}revision"] = selection.revision.commit
        if selection.revision.source is not None:
            known[f"{_PREFIX}source"] = selection.revision.source
    licenses = _licenses(selection.members)
    return {**known, f"{_PREFIX}licenses": licenses} if licenses else known


def _licenses(members: tuple[Member, ...]) -> str | None:
    """Return the licence in the SPDX line of a licence file. Texts of licences are not recognised."""
    found = set()
    for member in members:
        if member.kind is Kind.FILE and _LICENSE_FILE.fullmatch(member.name):
            head = b""
            for piece in member.open():
                head += piece
                if len(head) >= _LICENSE_HEAD:
                    break
            found |= {match[1].decode() for match in _SPDX.finditer(head[:_LICENSE_HEAD])}
    return found.pop() if len(found) == 1 else None
