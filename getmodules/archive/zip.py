"""Zip files, read so that there is one way to read them.

The central directory says what there is; the local headers must say the same; and headers, data and data
descriptors must fill the file from its first byte to the directory without overlap and without gap. What an
entry brings must have the announced size and checksum.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from getmodules.api.limits import Limits
from getmodules.api.model import Archive, Kind, Member, new_tuple
from getmodules.api.ports import Context
from getmodules.archive.codecs import PIECE_BYTES, Codec, codec, decode_one, decode_whole, fast_zlib
from getmodules.archive.paths import decode_name
from getmodules.archive.refusals import ambiguous, corrupt, unsupported
from getmodules.archive.source import Window, opened
from getmodules.archive.zipdirectory import (
    LOCAL_MAGIC,
    UNIX_HOSTS,
    UTF8_NAME,
    ZIP64_EXTRA,
    Directory,
    ZipEntry,
    extra_fields,
    read_directory,
    unicode_path,
)
from getmodules.errors import CorruptArchiveError, UnsafeContentError, UnsupportedContentError
from getmodules.util.redact import printable

_LOCAL = struct.Struct("<4s2x2H4x3I2H")
_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_ENCRYPTED, _DESCRIPTOR, _PATCHED, _STRONG, _MASKED = 0x1, 0x8, 0x20, 0x40, 0x2000
_REFUSED_FLAGS = _ENCRYPTED | _PATCHED | _STRONG | _MASKED
_COMPARED_FLAGS = _REFUSED_FLAGS | _DESCRIPTOR
_FULL32 = 0xFFFFFFFF
_DOS_DIRECTORY = 0x10
_CODEC_NAMES = {8: "deflate", 12: "bzip2", 93: "zstd"}
_READABLE = frozenset({0, *_CODEC_NAMES})
_METHODS = {
    1: "shrink", 2: "reduce", 3: "reduce", 4: "reduce", 5: "reduce", 6: "implode", 9: "deflate64",
    10: "PKWARE implode", 14: "lzma", 16: "z/OS CMPSC", 18: "TERSE", 19: "LZ77", 20: "zstd, its old number",
    94: "mp3", 95: "xz", 96: "jpeg", 97: "WavPack", 98: "PPMd", 99: "AES encryption",
}  # fmt: skip
#: Entries up to these sizes are read and inflated in one go.
_SMALL_PACKED, _SMALL = 256 << 10, 1 << 20

# Names of our own for what every entry needs: the members of an enumeration are slow to get at.
_FILE, _DIRECTORY, _SYMLINK, _SPECIAL = Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK, Kind.SPECIAL
_TYPE_BITS, _DIRECTORY_TYPE, _OWNER_RUNS = 0o170000, stat.S_IFDIR, stat.S_IXUSR
_DOS_MODES = {0: 0, _DOS_DIRECTORY: _DIRECTORY_TYPE}
#: What the mode says that an entry is; without a type in it, all that is left to go by is the name.
_KINDS = {stat.S_IFREG: _FILE, _DIRECTORY_TYPE: _DIRECTORY, stat.S_IFLNK: _SYMLINK, 0: None}


def read_zip(archive: Archive, context: Context) -> Iterator[Member]:
    """The members of a zip in the order of their data; read to the end, it is verified as a whole."""
    with opened(archive) as file:
        window = Window(file, archive.size)
        yield from _Reader(window, read_directory(window), context.limits).members()


class _Reader:
    def __init__(self, window: Window, directory: Directory, limits: Limits) -> None:
        self._window = window
        self._directory = directory
        self._limits = limits
        self._codecs: dict[int, Codec] = {}
        self._crc32: Callable[[bytes, int], int] = fast_zlib().crc32

    def members(self) -> Iterator[Member]:
        previous: ZipEntry | None = None
        end = described = 0
        for entry in self._directory:
            offset, twin = entry.offset, entry.twin
            if described or offset != end:
                self._check_gap(previous, end, offset)
            agrees = twin and self._window.has(twin, offset)
            data_at = offset + len(twin) if agrees else self._check_local_header(entry)
            previous, end, described = entry, data_at + entry.packed, entry.flags & _DESCRIPTOR
            yield self._member(entry, data_at)
        self._check_gap(previous, end, self._directory.offset)

    # ------------------------------------------------------------------------------------------ the layout

    def _check_gap(self, previous: ZipEntry | None, end: int, start: int) -> None:
        """Between the end of ``previous`` and what comes at ``start``: its descriptor, or nothing."""
        if start < end:
            raise ambiguous("entries of the zip overlap")
        if previous is not None and previous.flags & _DESCRIPTOR:
            if not self._is_descriptor(previous, self._window.bytes_at(end, min(start - end, 25))):
                raise ambiguous(f"what follows the data of {printable(previous.name)!r} is not its data descriptor")
        elif start > end:
            where = "in front of the zip" if previous is None else f"after {printable(previous.name)!r}"
            raise ambiguous(f"there are {start - end:,} bytes {where} that belong to no entry")

    def _is_descriptor(self, entry: ZipEntry, found: bytes) -> bool:
        if not found:
            # Some tools announce a descriptor for empty entries and write none.
            return not entry.packed and not entry.size
        crc = entry.crc.to_bytes(4, "little")
        for width in (4, 8):
            if entry.packed >> 8 * width or entry.size >> 8 * width:
                continue
            plain = crc + entry.packed.to_bytes(width, "little") + entry.size.to_bytes(width, "little")
            if found in (plain, _DESCRIPTOR_MAGIC + plain):
                return True
        return False

    def _check_local_header(self, entry: ZipEntry) -> int:
        """Compare the local header with the directory; where the data begins."""
        name_length = len(entry.raw_name)
        header = self._window.bytes_at(entry.offset, _LOCAL.size + name_length)
        numbers: tuple[bytes, int, int, int, int, int, int, int] = _LOCAL.unpack_from(header)
        magic, flags, method, crc, packed, size, local_name_length, extra_length = numbers
        if magic != LOCAL_MAGIC:
            raise corrupt(f"the zip has no entry where its directory says that {printable(entry.name)!r} is")
        if local_name_length != name_length or header[_LOCAL.size :] != entry.raw_name:
            raise self._disagrees(entry, "name")
        if (flags ^ entry.flags) & _COMPARED_FLAGS or method != entry.method:
            raise self._disagrees(entry, "encoding")
        if entry.flags & UTF8_NAME != flags & UTF8_NAME and not entry.raw_name.isascii():
            raise self._disagrees(entry, "character set of the name")
        if crc != entry.crc and (crc or not flags & _DESCRIPTOR):
            raise self._disagrees(entry, "checksum")
        # A descriptor that follows the data makes the header's numbers zero; zip64 makes them all ones.
        allowed = (0, _FULL32) if flags & _DESCRIPTOR else (_FULL32,)
        if (size != entry.size and size not in allowed) or (packed != entry.packed and packed not in allowed):
            raise self._disagrees(entry, "size")
        if extra_length or size == _FULL32 or packed == _FULL32:
            extra = self._window.bytes_at(entry.offset + _LOCAL.size + name_length, extra_length)
            self._check_local_extra(entry, extra, wide=_FULL32 in (size, packed))
        return entry.offset + _LOCAL.size + name_length + extra_length

    def _check_local_extra(self, entry: ZipEntry, extra: bytes, *, wide: bool) -> None:
        other = unicode_path(entry.raw_name, extra)
        if other is not None and other != entry.name:
            raise self._disagrees(entry, "name")
        if not wide and b"\x01\x00" not in extra:
            return
        fields = extra_fields(extra, ZIP64_EXTRA)
        if wide and not fields:
            if entry.size != _FULL32 and entry.packed != _FULL32:
                raise self._disagrees(entry, "size")
            return
        for field in fields:
            if len(field) < 16 and wide:
                raise self._disagrees(entry, "size")
            for at, value in ((0, entry.size), (8, entry.packed)):
                said = int.from_bytes(field[at : at + 8], "little")
                if said != value and (said or not entry.flags & _DESCRIPTOR):
                    raise self._disagrees(entry, "size")

    def _disagrees(self, entry: ZipEntry, what: str) -> UnsafeContentError:
        return ambiguous(f"the zip says two things about the {what} of {printable(entry.name)!r}")

    # ------------------------------------------------------------------------------------------ the members

    def _member(self, entry: ZipEntry, data_at: int) -> Member:
        # Taken apart once: fetching them one by one is what would take the time here.
        name, raw_name, host, flags, method, _, packed, size, attributes, _, _ = entry
        mode = attributes >> 16 if host in UNIX_HOSTS else _DOS_MODES[attributes & _DOS_DIRECTORY]
        kind = _KINDS.get(mode & _TYPE_BITS, _SPECIAL)
        if kind is _DIRECTORY or raw_name[-1:] == b"/":
            return self._directory_member(entry, kind)
        if kind is _FILE or kind is None:
            if flags & _REFUSED_FLAGS or method not in _READABLE:
                raise self._unreadable(entry)
            content = self._small if packed <= _SMALL_PACKED and size <= _SMALL else self._large
            return new_tuple(Member, (name, _FILE, size, mode & _OWNER_RUNS != 0, partial(content, entry, data_at), ""))
        if kind is _SYMLINK:
            return Member(name, kind, target=self._target(entry, data_at))
        return Member(name, kind)

    def _directory_member(self, entry: ZipEntry, kind: Kind | None) -> Member:
        # Many tools give directories the mode of a file; the slash is what all readers go by.
        if not entry.raw_name.endswith(b"/") or kind not in (None, _FILE, _DIRECTORY):
            raise ambiguous(f"{printable(entry.name)!r} in the zip is a directory for some readers only")
        if entry.size:
            raise ambiguous(f"{printable(entry.name)!r} in the zip is a directory with content")
        return Member(entry.name, _DIRECTORY)

    def _target(self, entry: ZipEntry, data_at: int) -> str:
        if entry.size > self._limits.path_bytes:
            raise self._limits.exceeded("path_bytes", f"the target of the link {printable(entry.name)!r}")
        if entry.flags & _REFUSED_FLAGS or entry.method not in _READABLE:
            raise self._unreadable(entry)
        return decode_name(b"".join(self._large(entry, data_at)))

    def _unreadable(self, entry: ZipEntry) -> UnsupportedContentError:
        hint = None
        if entry.flags & (_ENCRYPTED | _STRONG | _MASKED):
            what = "encrypted"
        elif entry.flags & _PATCHED:
            what = "a patch"
        else:
            what = f"compressed with {_METHODS.get(entry.method, 'an unknown method')} (number {entry.method})"
            hint = "pack it again with deflate, the method that every tool reads"
        return unsupported(f"{printable(entry.name)!r} in the zip is {what}", hint=hint)

    # ------------------------------------------------------------------------------------------ the content

    def _small(self, entry: ZipEntry, data_at: int) -> tuple[bytes, ...]:
        size, method = entry.size, entry.method
        data = self._window.bytes_at(data_at, entry.packed)
        if method:
            try:
                data = decode_whole(self._codecs.get(method) or self._codec(method), data, size)
            except CorruptArchiveError as error:
                raise self._broken(entry, error.message) from error
        if len(data) != size:
            raise self._broken(entry, f"{len(data):,} bytes instead of {size:,}")
        if self._crc32(data, 0) != entry.crc:
            raise self._broken(entry, "the checksum is wrong")
        return (data,)

    def _large(self, entry: ZipEntry, data_at: int) -> Iterator[bytes]:
        pieces: Iterable[bytes] = self._window.pieces(data_at, entry.packed, PIECE_BYTES)
        if entry.method:
            pieces = decode_one(self._codecs.get(entry.method) or self._codec(entry.method), pieces)
        crc = size = 0
        try:
            for piece in pieces:
                crc = self._crc32(piece, crc)
                size += len(piece)
                if size > entry.size:
                    raise corrupt(f"more than the announced {entry.size:,} bytes")
                yield piece
        except CorruptArchiveError as error:
            raise self._broken(entry, error.message) from error
        if size != entry.size:
            raise self._broken(entry, f"{size:,} bytes instead of {entry.size:,}")
        if crc != entry.crc:
            raise self._broken(entry, "the checksum is wrong")

    def _codec(self, method: int) -> Codec:
        found = self._codecs[method] = codec(_CODEC_NAMES[method])
        return found

    def _broken(self, entry: ZipEntry, what: str) -> CorruptArchiveError:
        return corrupt(f"{printable(entry.name)!r} in the zip is broken: {what}")
