"""The files of an image layout, in a directory or in a tar, and its ``index.json``, the table of tags.

Only regular files are read, and none through a link. The path of the layout itself may have links, since it is from the
user; its content may be from anybody. Entries of the index are found and added, and everything that other tools put
there is preserved.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol, Self

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.model import Archive, Kind
from getmodules.api.ports import Context
from getmodules.archive.names import member_path
from getmodules.archive.source import FORMATS, HEAD_BYTES, looks_like, opened
from getmodules.archive.tar import read_offsets
from getmodules.errors import ContentError, CorruptArchiveError, FetchError, LimitExceededError, UnsafeContentError
from getmodules.files.local import CHUNK, unreadable
from getmodules.files.opening import READ_NO_LINK, directory_of, is_in_the_way
from getmodules.getters.oci import artifact
from getmodules.getters.oci.reference import is_tag
from getmodules.getters.oci.repository import OCI_INDEX, Descriptor
from getmodules.util.digest import STRONG, Digest
from getmodules.util.redact import printable
from getmodules.util.strict_json import StrictJsonError, integer, loads, mapping, required
from getmodules.util.values import valueclass

MARK = "oci-layout"
INDEX = "index.json"
#: The names of a layout's files. All others are skipped, and their names, of any length, are not kept.
_OF_A_LAYOUT = re.compile(
    "|".join([re.escape(MARK), re.escape(INDEX), *(f"blobs/{name}/[0-9a-f]{{{n}}}" for name, n in STRONG.items())])
)
#: Roughly the memory for one file, besides its name.
_ENTRY_BYTES = 256


class LayoutFiles(Protocol):
    """The files of a layout, to read; ``name`` is a path below it, made by us."""

    def open(self, name: str) -> LayoutFile | None:
        """Return the file, or ``None`` if it does not exist."""


class LayoutFile:
    """An open file of a layout, perhaps inside a tar. The caller must close it."""

    def __init__(self, file: IO[bytes], size: int, shown: str) -> None:
        self._file = file
        self._shown = shown
        self.size = size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def pieces(self) -> Iterator[bytes]:
        """Yield the content, exactly as many bytes as the file had when it was opened."""
        left = self.size
        while left:
            try:
                piece = self._file.read(min(CHUNK, left))
            except OSError as error:
                raise unreadable(Path(self._shown), error) from error
            if not piece:
                raise FetchError(f"{self._shown!r} changed while it was being read", part="changed", hint="try again")
            left -= len(piece)
            yield piece

    def read(self, limit: int) -> bytes:
        if self.size > limit:
            raise metadata_exceeded(f"{self._shown!r} with {self.size:,} bytes", limit)
        return b"".join(self.pieces())


class DirectoryFiles:
    """The files of a layout in a directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def open(self, name: str) -> LayoutFile | None:
        shown = printable(str(self._root / name), 500)
        try:
            with directory_of(self._root, name) as (prefix, below):
                descriptor = os.open(f"{prefix}{name.rpartition('/')[2]}", READ_NO_LINK, dir_fd=below)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _not_opened(shown, error) from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise _irregular(shown)
        return LayoutFile(os.fdopen(descriptor, "rb", buffering=0), status.st_size, shown)


class TarFiles:
    """The files of a layout in a tar, whose offsets are read in one pass over the headers."""

    def __init__(self, path: Path, context: Context) -> None:
        self._path = path
        self._offsets = _offsets(path, context)

    def open(self, name: str) -> LayoutFile | None:
        found = self._offsets.get(name)
        if found is None:
            return None
        offset, size = found
        shown = f"{printable(str(self._path), 500)}: {name}"
        try:
            file = self._path.open("rb", buffering=0)
            file.seek(offset)
        except OSError as error:
            raise unreadable(self._path, error) from error
        return LayoutFile(file, size, shown)


def _check_head(archive: Archive, path: Path) -> None:
    """Raise unless the tar is uncompressed: a compressed one would be decompressed as a whole for each file."""
    with opened(archive) as file:
        looks = looks_like(file.read(HEAD_BYTES))
    if looks not in (None, "tar"):
        raise CorruptArchiveError(
            f"{printable(str(path), 500)} is no tar of a layout: it looks like {looks}",
            hint="a layout is a directory or a plain tar: decompress it" if looks in FORMATS else None,
        )


def _offsets(path: Path, context: Context) -> dict[str, tuple[int, int]]:
    """Return offset and size of every file of the layout by its name, within the limits on entries and memory."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise _irregular(printable(str(path), 500))
    archive = Archive(path=path, size=status.st_size, digests={})
    _check_head(archive, path)
    offsets: dict[str, tuple[int, int]] = {}
    remembered = 0
    for number, (member, offset) in enumerate(read_offsets(archive, context), start=1):
        if number > context.limits.entries:
            raise context.limits.exceeded("entries", "the files in the tar of the layout")
        if member.kind is not Kind.FILE:
            continue
        name = member_path(member.name)
        if not _OF_A_LAYOUT.fullmatch(name):
            continue
        if name in offsets:
            raise UnsafeContentError(f"the tar has two files of the name {printable(name)!r}", part="ambiguous-archive")
        remembered += len(name) + _ENTRY_BYTES
        if remembered > METADATA_BYTES:
            raise metadata_exceeded("the names in the tar of the layout")
        offsets[name] = (offset, member.size or 0)
    return offsets


def _not_opened(shown: str, error: OSError) -> FetchError:
    if is_in_the_way(error):
        return _irregular(shown)
    return FetchError(f"cannot read {shown!r}: {error.strerror}", part="unreadable")


def _irregular(shown: str) -> FetchError:
    return FetchError(
        f"{shown!r} is no regular file, or lies behind a link",
        part="unreadable",
        hint="nothing in a layout is read through links",
    )


def blob_name(digest: Digest) -> str:
    """Return the name of a blob's file, which is safe, since a digest is always valid."""
    return f"blobs/{digest.algorithm}/{digest.hex}"


# --------------------------------------------------------------------------------------------------------- index.json


REF_NAME = "org.opencontainers.image.ref.name"
#: Enough for thirty thousand tags; parsed, they take far less memory than a package may.
INDEX_BYTES = 8 << 20
_WHAT = "the layout's index.json"


@valueclass(kw_only=False)
class LayoutIndex:
    """The document as it was read, and its entries in order."""

    document: dict[str, Any]
    entries: tuple[Descriptor, ...]

    @classmethod
    def parse(cls, body: bytes) -> LayoutIndex:
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
    def empty(cls) -> LayoutIndex:
        return cls({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}, ())

    def tagged(self, tag: str) -> Descriptor | None:
        """Return the entry for ``tag``, alone or at the end of a full name (``host/repository:tag``, from containerd).

        In a layout with a single image and no name (``skopeo copy … oci:DIRECTORY``), that image is ``latest``.
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
        """Return each tag once, in the form that :meth:`tagged` takes."""
        names = (ref_name(each) or "" for each in self.entries)
        tags = (name if is_tag(name) else name.rpartition(":")[2] for name in names)
        return iter(dict.fromkeys(tag for tag in tags if is_tag(tag)))

    def with_manifest(self, manifest: Descriptor, tag: str | None) -> LayoutIndex:
        """Return the index with ``manifest`` under ``tag``, and no other entry under that tag.

        The entry that had the tag before is still listed, without a name: a lock may pin it, and garbage collectors
        keep only what is listed.
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
        return LayoutIndex.parse(json.dumps({**self.document, "manifests": manifests}).encode())

    def encoded(self) -> bytes:
        body = json.dumps(self.document, indent=2, ensure_ascii=False).encode() + b"\n"
        if len(body) > INDEX_BYTES:
            raise LimitExceededError(
                f"{_WHAT} would have more than {INDEX_BYTES:,} bytes", part="metadata", hint="this bound is fixed"
            )
        return body


def ref_name(entry: Descriptor) -> str | None:
    """Return the name that an entry of the index has: a tag, or a full name that ends with one."""
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
