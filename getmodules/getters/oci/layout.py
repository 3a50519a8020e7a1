"""OCI image layouts on disk as repositories, which need no server.

A directory can be read and written, a ``.tar`` of one only read. Layouts of skopeo, umoci, oras and others can be read
as they are, and everything that they put into ``index.json`` is preserved when we write.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from getmodules.api.ports import Context
from getmodules.errors import (
    CorruptArchiveError,
    DigestMismatchError,
    InstallError,
    NotFoundError,
    UnsupportedContentError,
)
from getmodules.files.local import unreadable
from getmodules.getters.oci import artifact
from getmodules.getters.oci.layout_files import (
    INDEX,
    INDEX_BYTES,
    MARK,
    DirectoryFiles,
    LayoutFile,
    LayoutFiles,
    LayoutIndex,
    TarFiles,
    blob_name,
)
from getmodules.getters.oci.layout_writer import LayoutWriter
from getmodules.getters.oci.repository import (
    MANIFEST_BYTES,
    MANIFEST_TYPES,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    RawManifest,
    referrers_tag,
)
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.strict_json import StrictJsonError, array_of, loads, mapping, optional, required, string

VERSION = "1.0.0"
_MARK_BYTES = 4_096
#: How many manifests are read to find the referrers of one.
_MOST_LOOKED_AT = 10_000
_SHOWN_TAGS = 10
_PACK = "push to a directory, and pack that"


class Layout:
    """One layout, which is one repository. Threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shown = printable(str(path), 500)
        self._files: LayoutFiles | None = None

    @property
    def directory(self) -> Path:
        return self._path

    # -------------------------------------------------------------------------------------------- reading

    def manifest(self, reference: str, context: Context) -> RawManifest:
        index = self._index(context)
        if ":" in reference:
            return self._manifest_of(Digest.parse(reference), index, context)
        found = index.tagged(reference)
        if found is None:
            raise NotFoundError(
                f"the layout {self._shown!r} has no tag {printable(reference)!r}", hint=_known_tags(index)
            )
        return self._read_listed(found, context)

    def blob(self, descriptor: Descriptor, context: Context) -> Iterable[bytes]:
        """Yield the blob's bytes. The file is opened when the first piece is read; the consumer checks the digest."""
        with self._open_blob(descriptor, context) as part:
            yield from part.pieces()

    def rest_of_blob(self, descriptor: Descriptor, start: int, context: Context) -> None:
        return None  # it lies on this machine

    def tags(self, context: Context, *, pages: int | None = None) -> Iterator[str]:
        return self._index(context).tags()

    def referrers(self, digest: Digest, context: Context) -> tuple[Descriptor, ...]:
        """Return the listed manifests whose subject is this one, and those under the fallback tag."""
        index = self._index(context)
        found: dict[Digest, Descriptor] = {}
        for entry in index.entries[:_MOST_LOOKED_AT]:
            context.checkpoint()
            if entry.media_type in MANIFEST_TYPES and entry.size <= MANIFEST_BYTES:
                body = self._body(entry.digest, context)
                # Most manifests do not contain the digest at all, and need not be parsed.
                if body is not None and str(digest).encode() in body:
                    manifest = RawManifest(media_type=entry.media_type, body=body)
                    if artifact.subject(manifest) == digest:
                        found[entry.digest] = entry
        fallback = index.tagged(referrers_tag(digest))
        if fallback is not None and fallback.media_type == OCI_INDEX:
            for each in artifact.index_entries(self._read_listed(fallback, context)):
                found.setdefault(each.digest, each)
        return tuple(found.values())

    def listed_as(self, tag: str, context: Context) -> Digest | None:
        """Return the digest that ``tag`` names, whether its manifest exists and is intact or not."""
        found = self._index(context).tagged(tag)
        return None if found is None else found.digest

    def _read_listed(self, entry: Descriptor, context: Context) -> RawManifest:
        with self._open_blob(entry, context) as part:
            body = part.read(MANIFEST_BYTES)
        manifest = RawManifest(media_type=entry.media_type, body=body)
        if manifest.digest(entry.digest.algorithm) != entry.digest:
            raise DigestMismatchError(
                f"the layout lists the manifest {entry.digest}, and its file holds something else",
                hint="it was changed or damaged: copy or push it again",
            )
        return manifest

    @contextmanager
    def _open_blob(self, descriptor: Descriptor, context: Context) -> Iterator[LayoutFile]:
        """Open the blob's file; raise if it does not exist or has another size."""
        part = self._checked_files(context).open(blob_name(descriptor.digest))
        if part is None:
            raise self._incomplete(descriptor.digest)
        with part:
            if part.size != descriptor.size:
                raise _wrong_size(descriptor, part.size)
            yield part

    def _manifest_of(self, digest: Digest, index: LayoutIndex, context: Context) -> RawManifest:
        listed = index.of_digest(digest)
        if listed is not None:
            return self._read_listed(listed, context)
        # It may be listed in another index, or have been listed when it was pinned. Its digest is checked later.
        body = self._body(digest, context)
        if body is None:
            raise NotFoundError(
                f"the layout {self._shown!r} has no manifest {digest}",
                hint="getmodules tags lists what it has; was something newer pushed under its tag?",
            )
        return RawManifest(media_type=_media_type_of(body), body=body)

    def _body(self, digest: Digest, context: Context) -> bytes | None:
        part = self._checked_files(context).open(blob_name(digest))
        if part is None:
            return None
        with part:
            return part.read(MANIFEST_BYTES)

    # -------------------------------------------------------------------------------------------- writing

    def has_blob(self, digest: Digest, context: Context) -> bool:
        """Return whether the blob exists and is intact, since a damaged one must be written again."""
        import hashlib

        try:
            part = self._checked_files(context).open(blob_name(digest))
        except NotFoundError:
            return False
        if part is None:
            return False
        hasher = hashlib.new(digest.algorithm)
        with part:
            for piece in part.pieces():
                context.checkpoint()
                hasher.update(piece)
        return hasher.hexdigest() == digest.hex

    def put_blob(self, digest: Digest, size: int, chunks: Callable[[], Iterable[bytes]], context: Context) -> None:
        self._writer(context).put_blob(digest, size, chunks(), context)

    def put_manifest(self, reference: str, manifest: RawManifest, context: Context, *, replace: bool) -> None:
        self._writer(context).put_manifest(reference, manifest, context, replace=replace)

    def for_publishing(self) -> Layout:
        if self._path.is_file():
            raise InstallError(f"{self._shown!r} is a tar, and those are only read", hint=_PACK)
        if self._path.suffix == ".tar" and not self._path.exists():
            raise InstallError(f"{self._shown!r} would be a directory with the name of a tar", hint=_PACK)
        return self

    def _writer(self, context: Context) -> LayoutWriter:
        with suppress(NotFoundError):  # then it is created; anything else there is checked as for reading
            self._checked_files(context)
        return LayoutWriter(self._path)

    # ---------------------------------------------------------------------------------------- the layout

    def _checked_files(self, context: Context) -> LayoutFiles:
        """Return the files, after checking that they are those of a layout."""
        if self._files is None:
            files = self._open_files(context)
            self._check_mark(files)
            self._files = files
        return self._files

    def _open_files(self, context: Context) -> LayoutFiles:
        try:
            # One call of stat only: another process may create the layout at any time.
            if not stat.S_ISDIR(self._path.stat().st_mode):
                return TarFiles(self._path, context)
            if next(self._path.iterdir(), None) is None:
                raise self._missing()
        except (FileNotFoundError, NotADirectoryError):
            raise self._missing() from None
        except OSError as error:
            raise unreadable(self._path, error) from error
        return DirectoryFiles(self._path)

    def _check_mark(self, files: LayoutFiles) -> None:
        mark = files.open(MARK)
        if mark is None:
            raise UnsupportedContentError(
                f"{self._shown!r} is no OCI image layout: it has no file {MARK!r}",
                hint="name the directory in which oci-layout, index.json and blobs are",
            )
        with mark:
            body = mark.read(_MARK_BYTES)
        if not body:
            raise self._missing()  # another process is creating it at this moment
        try:
            document = mapping(loads(body, f"the file {MARK!r}", _MARK_BYTES), f"the file {MARK!r}")
            version = required(document, "imageLayoutVersion", string, f"the file {MARK!r}")
        except StrictJsonError as error:
            raise CorruptArchiveError(str(error)) from None
        if version != VERSION:
            raise UnsupportedContentError(
                f"the layout {self._shown!r} is of version {printable(version)!r}; known is {VERSION}"
            )

    def _index(self, context: Context) -> LayoutIndex:
        part = self._checked_files(context).open(INDEX)
        if part is None:
            raise UnsupportedContentError(
                f"{self._shown!r} is no OCI image layout: it has no file {INDEX!r}",
                hint="was it copied in part? Copy it again, or push into an empty directory",
            )
        with part:
            return LayoutIndex.parse(part.read(INDEX_BYTES))

    def _missing(self) -> NotFoundError:
        return NotFoundError(
            f"there is no OCI image layout at {self._shown!r}", hint="getmodules push makes one; is the path right?"
        )

    def _incomplete(self, digest: Digest) -> NotFoundError:
        return NotFoundError(
            f"the layout {self._shown!r} has no blob {digest}", hint="it is incomplete: copy or push the package again"
        )


def _wrong_size(descriptor: Descriptor, size: int) -> DigestMismatchError:
    return DigestMismatchError(
        f"the layout's blob {descriptor.digest} has {size:,} bytes; its descriptor says {descriptor.size:,}",
        hint="it was changed or damaged: copy or push it again",
    )


def _media_type_of(body: bytes) -> str:
    """Return the media type in a manifest; umoci leaves it out, and then its keys tell."""
    try:
        document = mapping(loads(body, "the manifest", MANIFEST_BYTES), "the manifest")
        named = optional(document, "mediaType", string, "the manifest")
        optional(document, "layers", array_of(mapping), "the manifest")
    except StrictJsonError as error:
        raise artifact.broken(error) from None
    return named or (OCI_INDEX if "manifests" in document else OCI_MANIFEST)


def _known_tags(index: LayoutIndex) -> str:
    tags = list(index.tags())
    if not tags:
        return "it has no tags; name a manifest with digest="
    more = f" and {len(tags) - _SHOWN_TAGS} more" if len(tags) > _SHOWN_TAGS else ""
    return "tags: " + ", ".join(tags[:_SHOWN_TAGS]) + more
