"""The files of an image layout, in a directory or in a tar: regular ones only, and nothing through a link below it.

The layout itself may be reached through links, since its path is the user's; what lies in it is anybody's.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, Self

from getmodules.archive.paths import member_path
from getmodules.archive.tar import read_offsets
from getmodules.digest import Digest
from getmodules.errors import FetchError, UnsafeContentError
from getmodules.limits import metadata_exceeded
from getmodules.localfile import CHUNK, unreadable
from getmodules.model import Archive, Kind
from getmodules.ports import Context
from getmodules.redact import printable

MARK = "oci-layout"
INDEX = "index.json"
_READ = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"):
    _READ |= getattr(os, _name, 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BELOW = os.open in os.supports_dir_fd


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
                descriptor = os.open(f"{prefix}{name.rpartition('/')[2]}", _READ, dir_fd=below)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _not_opened(shown, error) from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise _irregular(shown)
        return Part(os.fdopen(descriptor, "rb", buffering=0), status.st_size, shown)


@contextmanager
def directory_of(root: Path, name: str) -> Iterator[tuple[str, int | None]]:
    """The directory that ``name`` lies in: a prefix for paths, and the descriptor that they are relative to.

    No component below ``root`` is a link. Where the system has no calls below a descriptor, the links that are
    there now are refused.
    """
    parents = name.split("/")[:-1]
    if not _BELOW:
        path = root
        for parent in parents:
            path = path / parent
            if path.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if (path / name.rpartition("/")[2]).is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        yield f"{path}{os.sep}", None
        return
    directory = os.open(root, _DIRECTORY)
    try:
        for parent in parents:
            inner = os.open(parent, _DIRECTORY | _NOFOLLOW, dir_fd=directory)
            os.close(directory)
            directory = inner
        yield "", directory
    finally:
        os.close(directory)


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


def _places(path: Path, context: Context) -> dict[str, tuple[int, int]]:
    """Every file by its name, with its offset and size; bounded by the limit on entries."""
    try:
        archive = Archive(path=path, size=path.stat().st_size, digests={})
    except OSError as error:
        raise unreadable(path, error) from error
    places: dict[str, tuple[int, int]] = {}
    for number, (member, offset) in enumerate(read_offsets(archive, context), start=1):
        if number > context.limits.entries:
            raise context.limits.exceeded("entries", "the files in the tar of the layout")
        if member.kind is not Kind.FILE:
            continue
        name = member_path(member.name)
        if name in places:
            raise UnsafeContentError(f"the tar has two files of the name {printable(name)!r}", part="ambiguous-archive")
        places[name] = (offset, member.size or 0)
    return places


def _not_opened(shown: str, error: OSError) -> FetchError:
    # A link makes ELOOP as the last component, and ENOTDIR before (O_DIRECTORY looks at the link itself).
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        return _irregular(shown)
    return FetchError(f"cannot read {shown!r}: {error.strerror}", part="unreadable")


def _irregular(shown: str) -> FetchError:
    return FetchError(
        f"{shown!r} is no regular file, or lies behind a link",
        part="unreadable",
        hint="nothing in a layout is read through links",
    )
