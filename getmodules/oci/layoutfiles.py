"""The files of an image layout, in a directory or in a tar: regular ones only, and nothing through a link below it.

The layout itself may be reached through links, since its path is the user's; what lies in it is anybody's.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol, Self

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.model import Archive, Kind
from getmodules.api.ports import Context
from getmodules.archive.names import member_path
from getmodules.archive.source import FORMATS, HEAD_BYTES, looks_like, opened
from getmodules.archive.tar import read_offsets
from getmodules.errors import CorruptArchiveError, FetchError, UnsafeContentError
from getmodules.files.local import CHUNK, unreadable
from getmodules.files.opening import READ_NO_LINK, directory_of, is_in_the_way
from getmodules.util.digest import STRONG, Digest
from getmodules.util.redact import printable

MARK = "oci-layout"
INDEX = "index.json"
#: The files that a layout consists of. All others are passed over, and their names, of any length, forgotten.
_OF_A_LAYOUT = re.compile(
    "|".join([re.escape(MARK), re.escape(INDEX), *(f"blobs/{name}/[0-9a-f]{{{n}}}" for name, n in STRONG.items())])
)
#: Roughly what remembering one file takes, besides its name.
_PLACE_BYTES = 256


class Files(Protocol):
    """Reading the files of a layout; ``name`` is a path below it, made by us."""

    def open(self, name: str) -> Part | None:
        """``None``: there is no such file."""


class Part:
    """A file, or the stretch of a tar that holds one. It belongs to who opened it."""

    def __init__(self, file: IO[bytes], size: int, shown: str) -> None:
        self._file = file
        self._shown = shown
        self.size = size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def pieces(self) -> Iterator[bytes]:
        """All of it, exactly as many bytes as it had when it was opened."""
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


def blob_name(digest: Digest) -> str:
    """A digest is valid by construction, so this is a path that stays where it is."""
    return f"blobs/{digest.algorithm}/{digest.hex}"


class DirectoryFiles:
    def __init__(self, root: Path) -> None:
        self._root = root

    def open(self, name: str) -> Part | None:
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
        return Part(os.fdopen(descriptor, "rb", buffering=0), status.st_size, shown)


class TarFiles:
    """A tar of a layout: where each file begins, found in one pass over the headers."""

    def __init__(self, path: Path, context: Context) -> None:
        self._path = path
        self._places = _places(path, context)

    def open(self, name: str) -> Part | None:
        place = self._places.get(name)
        if place is None:
            return None
        offset, size = place
        shown = f"{printable(str(self._path), 500)}: {name}"
        try:
            file = self._path.open("rb", buffering=0)
            file.seek(offset)
        except OSError as error:
            raise unreadable(self._path, error) from error
        return Part(file, size, shown)


def _check_head(archive: Archive, path: Path) -> None:
    """Compressed, it would have to be unpacked as a whole for each look into it."""
    with opened(archive) as file:
        looks = looks_like(file.read(HEAD_BYTES))
    if looks not in (None, "tar"):
        raise CorruptArchiveError(
            f"{printable(str(path), 500)} is no tar of a layout: it looks like {looks}",
            hint="a layout is a directory or a plain tar: decompress it" if looks in FORMATS else None,
        )


def _places(path: Path, context: Context) -> dict[str, tuple[int, int]]:
    """Every file of the layout by its name, with its offset and size; bounded by the limit on entries and in memory."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise _irregular(printable(str(path), 500))
    archive = Archive(path=path, size=status.st_size, digests={})
    _check_head(archive, path)
    places: dict[str, tuple[int, int]] = {}
    remembered = 0
    for number, (member, offset) in enumerate(read_offsets(archive, context), start=1):
        if number > context.limits.entries:
            raise context.limits.exceeded("entries", "the files in the tar of the layout")
        if member.kind is not Kind.FILE:
            continue
        name = member_path(member.name)
        if not _OF_A_LAYOUT.fullmatch(name):
            continue
        if name in places:
            raise UnsafeContentError(f"the tar has two files of the name {printable(name)!r}", part="ambiguous-archive")
        remembered += len(name) + _PLACE_BYTES
        if remembered > METADATA_BYTES:
            raise metadata_exceeded("the names in the tar of the layout")
        places[name] = (offset, member.size or 0)
    return places


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
