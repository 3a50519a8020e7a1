"""Reproducible zips, which depend only on the names, the contents and the executable bits of a tree.

Files are stored, not deflated. The output of deflate differs between zlib, zlib-ng and Apple's library: the same tree
would have another digest on another machine, and a second ``push`` of it would be refused.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from getmodules.api.limits import Limits
from getmodules.api.model import Kind, Member
from getmodules.api.ports import Context
from getmodules.archive.dot_git import check_no_repository
from getmodules.archive.links import LinkWalk
from getmodules.archive.names import NameBook
from getmodules.errors import UnsafeContentError, UnsupportedContentError
from getmodules.files.os_errors import ANOTHER_TMPDIR, translated
from getmodules.getters.oci.ignore import IGNORE_FILE
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_UTF8_NAME: Final = 0x0800
_DATE: Final = 0x0021  # 1980-01-01, the first possible date; the time is midnight, 0
_UNIX: Final = 3 << 8
_PLAIN_VERSION, _ZIP64_VERSION = 20, 45
_MOST32, _MOST16 = 0xFFFFFFFF, 0xFFFF
_MODES = (0o100644, 0o100755)
_HASH_PIECE = 1 << 20


@valueclass(kw_only=False)
class Packed:
    """A finished zip; ``names`` are those of its files, in their order."""

    path: Path
    size: int
    digest: Digest
    names: tuple[str, ...]


def pack(members: Iterable[Member], target: Path, context: Context) -> Packed:
    """Write the files of ``members`` as a zip to ``target``, which must not exist yet.

    Every zip can be installed: names and limits are checked as for reading. A link to a file in the package
    becomes a copy of that file, because OpenTofu's reader of zips knows no links; other links are refused.
    Empty directories are left out, as in h1.
    """
    files = _resolved(list(members), context)
    _check_names(files, context)
    with (
        translated(f"cannot write the package to {printable(str(target), 500)!r}", ANOTHER_TMPDIR),
        target.open("xb") as file,
    ):
        zip_writer = _ZipWriter(file)
        for name, source in files:
            context.checkpoint()
            zip_writer.add(name, source, _counted(source, context.limits))
        zip_writer.finish()
        size = file.tell()
    if size > context.limits.download_bytes:
        raise context.limits.exceeded("download_bytes", f"the package of {size:,} bytes")
    return Packed(target, size, _digest(target, context), tuple(name for name, _ in files))


# ------------------------------------------------------------------------------------------------ the files


def _resolved(members: list[Member], context: Context) -> list[tuple[str, Member]]:
    """Return names, sorted by their bytes, and the regular file that each leads to."""
    by_name = {member.name: member for member in members}
    links = {member.name: member.target for member in members if member.kind is Kind.SYMLINK}
    kinds = {member.name: Kind.FILE for member in members if member.kind is Kind.FILE}
    for member in members:
        if member.kind not in (Kind.FILE, Kind.SYMLINK):
            raise UnsafeContentError(f"{printable(member.name)!r} is a device, fifo or socket", part="special-file")
        parent = member.name.rpartition("/")[0]
        while parent and parent not in kinds:
            kinds[parent] = Kind.DIRECTORY
            parent = parent.rpartition("/")[0]
    walk = LinkWalk(kinds, links, "", context.checkpoint)
    files = []
    for name, member in by_name.items():
        end = walk.follow(name) if member.kind is Kind.SYMLINK else name
        if end not in by_name:
            raise UnsupportedContentError(
                f"{printable(name)!r} is a link to the directory {printable(end or '.')!r}",
                hint="OpenTofu reads no links in zips: put the files there, or leave the link out in .getmodulesignore",
            )
        files.append((name, by_name[end]))
    if not files:
        raise UnsupportedContentError(
            "there is nothing to publish in this directory",
            hint=f"what {IGNORE_FILE} names is left out, and in a git work tree what git does not track: git add it",
        )
    return sorted(files, key=lambda pair: pair[0].encode("utf-8", "surrogateescape"))


def _check_names(files: list[tuple[str, Member]], context: Context) -> None:
    limits = context.limits
    names = NameBook(limits, strict=True)
    total = 0
    for name, member in files:
        names.admit(name, directory=False)
        if len(name.encode("utf-8")) > limits.path_bytes:
            raise limits.exceeded("path_bytes", f"the name {printable(name)!r}")
        if name.count("/") >= limits.depth:
            raise limits.exceeded("depth", f"the name {printable(name)!r} is too deep")
        if (member.size or 0) > limits.file_bytes:
            raise limits.exceeded("file_bytes", f"{printable(name)!r} with {member.size:,} bytes")
        total += member.size or 0
    check_no_repository((*(name for name, _ in files), *names.directories()))
    if total > limits.total_bytes:
        raise limits.exceeded("total_bytes", f"the files with {total:,} bytes")
    if len(files) + sum(1 for _ in names.directories()) > limits.entries:
        raise limits.exceeded("entries", "the files and directories to publish")
    for _, first in names.notices.values():
        context.notice(first)


def _counted(member: Member, limits: Limits) -> Iterator[bytes]:
    """Yield the content of a file, with a limit, since it may grow while it is read."""
    size = 0
    for piece in member.open():
        size += len(piece)
        if size > limits.file_bytes:
            raise limits.exceeded("file_bytes", f"{printable(member.name)!r}")
        yield piece


# ------------------------------------------------------------------------------------------------ the zip


class _ZipWriter:
    """Writer of a minimal zip (APPNOTE 6.3): stored files, sizes in the local headers, zip64 if needed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._directory: list[bytes] = []

    def add(self, name: str, member: Member, content: Iterable[bytes]) -> None:
        raw = name.encode("utf-8")
        start, announced = self._file.tell(), member.size or 0
        self._file.write(_local_header(raw, announced, 0))
        size = checksum = 0
        for piece in content:
            self._file.write(piece)
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
        end = self._file.tell()
        assert size == announced, "a local file gives as many bytes as were there when it was listed"
        # The checksum is known only now, and streaming readers need it in the local header.
        self._file.seek(start)
        self._file.write(_local_header(raw, size, checksum))
        self._file.seek(end)
        self._directory.append(_directory_entry(raw, size, checksum, start, _MODES[member.executable]))

    def finish(self) -> None:
        start = self._file.tell()
        for entry in self._directory:
            self._file.write(entry)
        size, count = self._file.tell() - start, len(self._directory)
        if count >= _MOST16 or start >= _MOST32 or size >= _MOST32:
            self._file.write(_zip64_end(count, size, start))
        self._file.write(
            struct.pack(
                "<4s4H2LH",
                b"PK\5\6", 0, 0, min(count, _MOST16), min(count, _MOST16), min(size, _MOST32), min(start, _MOST32), 0,
            )
        )  # fmt: skip


def _local_header(name: bytes, size: int, checksum: int) -> bytes:
    extra = struct.pack("<HHQQ", 1, 16, size, size) if size >= _MOST32 else b""
    version = _ZIP64_VERSION if extra else _PLAIN_VERSION
    shown = min(size, _MOST32)
    head = struct.pack(
        "<4s5H3L2H", b"PK\3\4", version, _UTF8_NAME, 0, 0, _DATE, checksum, shown, shown, len(name), len(extra)
    )
    return head + name + extra


def _directory_entry(name: bytes, size: int, checksum: int, start: int, mode: int) -> bytes:
    large = struct.pack("<QQ", size, size) if size >= _MOST32 else b""
    large += struct.pack("<Q", start) if start >= _MOST32 else b""
    extra = struct.pack("<HH", 1, len(large)) + large if large else b""
    version = _ZIP64_VERSION if large else _PLAIN_VERSION
    shown = min(size, _MOST32)
    head = struct.pack(
        "<4s6H3L5H2L",
        b"PK\1\2", _UNIX | version, version, _UTF8_NAME, 0, 0, _DATE, checksum, shown, shown,
        len(name), len(extra), 0, 0, 0, mode << 16, min(start, _MOST32),
    )  # fmt: skip
    return head + name + extra


def _zip64_end(count: int, size: int, start: int) -> bytes:
    record = struct.pack(
        "<4sQ2H2L4Q", b"PK\6\6", 44, _UNIX | _ZIP64_VERSION, _ZIP64_VERSION, 0, 0, count, count, size, start
    )
    return record + struct.pack("<4sLQL", b"PK\6\7", 0, start + size, 1)


def _digest(path: Path, context: Context) -> Digest:
    hasher = hashlib.sha256()
    with translated("cannot read the package back"), path.open("rb", buffering=0) as file:
        while piece := file.read(_HASH_PIECE):
            context.checkpoint()
            hasher.update(piece)
    return Digest("sha256", hasher.hexdigest())
