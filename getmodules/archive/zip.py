"""Read zip files strictly: any that two readers could read differently is refused.

A zip file is read from its end, and there must be one way to do so: one end record, whose comment reaches the
end of the file; a zip64 record that agrees with it; a central directory that ends where they begin and has as
many entries as they say. The local headers must agree with the directory; and headers, data and data descriptors
must fill the file from its first byte to the directory without overlap and without gap. The data of an entry
must have the announced size and checksum.
"""

from __future__ import annotations

import stat
import struct
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from getmodules.api.limits import METADATA_BYTES, Limits, metadata_exceeded
from getmodules.api.model import Archive, Kind, Member, new_tuple
from getmodules.api.ports import Context
from getmodules.archive.codecs import PIECE_BYTES, Codec, codec, decode_one, decode_whole, fast_zlib
from getmodules.archive.names import decode_name
from getmodules.archive.source import HEAD_BYTES, Window, ambiguous, corrupt, opened, unexpected_format, unsupported
from getmodules.errors import CorruptArchiveError, UnsafeContentError, UnsupportedContentError
from getmodules.util.redact import printable

UTF8_NAME = 0x800
#: Creators whose external attributes have Unix modes, and whose names are bytes of that system.
UNIX_HOSTS = frozenset({3, 19})

LOCAL_MAGIC = b"PK\x03\x04"
_END = struct.Struct("<4s4H2IH")
_END_MAGIC = b"PK\x05\x06"
_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")
_CENTRAL = struct.Struct("<5xB2x2H4x3I2H2xH2x2I")
_LENGTHS = struct.Struct("<4s24x3H8xI")
_MAX_COMMENT = 0xFFFF
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
ZIP64_EXTRA = 0x0001
_UNICODE_PATH_EXTRA = 0x7075
#: Half of what metadata may take: the names in it are remembered a second time.
_DIRECTORY_BYTES = METADATA_BYTES // 2


class ZipEntry(NamedTuple):
    """One record of the central directory."""

    name: str
    raw_name: bytes
    host: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    attributes: int
    offset: int
    #: The local header and name that say exactly the same, and have no extra fields. What differs, in the
    #: time or in a mere detail, is for a closer look; no header is like an empty one.
    twin: bytes


class Directory:
    """The central directory; its entries are made on demand, in the order of their data in the file."""

    def __init__(self, raw: bytes, count: int, offset: int) -> None:
        self._raw = raw
        #: The start of the directory, where the data of the last entry must end.
        self.offset = offset
        positions = array("L")
        starts = array("Q")
        at = last_start = 0
        last_at = len(raw) - _CENTRAL.size
        in_order = True
        for _ in range(count):
            if at > last_at:
                raise corrupt("the zip's directory has fewer or longer entries than its end record says")
            magic, name, extra, comment, start = _LENGTHS.unpack_from(raw, at)
            if magic != b"PK\x01\x02":
                raise corrupt(f"the zip's directory is broken at its byte {at}")
            if start == _FULL32:
                start = _parse(raw, at).offset
            if start < last_start:
                in_order = False
            positions.append(at)
            starts.append(start)
            last_start = start
            at += _CENTRAL.size + name + extra + comment
        if at != len(raw):
            raise corrupt("the zip's directory is longer or shorter than its end record says")
        if not in_order:
            positions = array("L", (positions[index] for index in sorted(range(count), key=starts.__getitem__)))
        self._positions = positions

    def __iter__(self) -> Iterator[ZipEntry]:
        return map(partial(_parse, self._raw), self._positions)


# ---------------------------------------------------------------------------------------------- the end records


def read_directory(window: Window) -> Directory:
    size = window.size
    tail_at = max(0, size - _END.size - _MAX_COMMENT)
    tail = window.read(tail_at, size - tail_at)
    at = _find_end(window, tail)
    end = tail_at + at
    _, disk, directory_disk, here, count, length, offset, _ = _END.unpack_from(tail, at)
    directory_end = end
    locator = end - _LOCATOR.size
    if locator >= 0 and window.read(locator, 4) == b"PK\x06\x07":
        said = (disk, directory_disk, here, count, length, offset)
        directory_end, here, count, length, offset = _read_end64(window, locator, said)
        disk = directory_disk = 0
    if disk or directory_disk or here != count:
        raise unsupported("this zip is one part of a split archive")
    if offset + length != directory_end:
        if offset + length < directory_end:
            raise ambiguous("the zip has something in front of it, or between its directory and its end record")
        raise corrupt("the zip is cut off, or the place of its directory is wrong")
    if length > _DIRECTORY_BYTES:
        raise metadata_exceeded(f"the zip's directory of {length:,} bytes", _DIRECTORY_BYTES)
    return Directory(window.read(offset, length), count, offset)


def _find_end(window: Window, tail: bytes) -> int:
    """Return the position of the end record in ``tail``."""
    ends = []
    at = tail.rfind(_END_MAGIC)
    last = at
    while at >= 0:
        if at + _END.size <= len(tail) and at + _END.size + _comment_length(tail, at) == len(tail):
            ends.append(at)
        at = tail.rfind(_END_MAGIC, 0, at + 3)
    if not ends:
        if last >= 0 and last + _END.size <= len(tail):
            if last + _END.size + _comment_length(tail, last) < len(tail):
                raise ambiguous("something follows the end of the zip")
            raise corrupt("the zip is cut off in its comment")
        head = window.read(0, HEAD_BYTES)
        raise unexpected_format("zip", head, "it has no end record; it may be cut off")
    if len(ends) > 1 or ends[0] != last:
        raise ambiguous("the zip has two end records")
    return ends[0]


def _comment_length(tail: bytes, at: int) -> int:
    return tail[at + 20] | tail[at + 21] << 8


def _read_end64(
    window: Window, locator: int, said: tuple[int, int, int, int, int, int]
) -> tuple[int, int, int, int, int]:
    """Return the start of the zip64 record and its numbers.

    They must not contradict ``said``, those of the ordinary end record.
    """
    _, disk, at, disks = _LOCATOR.unpack(window.read(locator, _LOCATOR.size))
    if disk or disks != 1:
        raise unsupported("this zip is one part of a split archive")
    if at + _END64.size > locator:
        raise corrupt("the zip64 end record is not where its locator says")
    magic, length, _, _, *values = _END64.unpack(window.read(at, _END64.size))
    if magic != b"PK\x06\x06" or at + 12 + length != locator:
        raise corrupt("the zip64 end record is not where its locator says")
    if 12 + length != _END64.size:
        raise unsupported("the zip's directory is encrypted or compressed")
    full = (_FULL16, _FULL16, _FULL16, _FULL16, _FULL32, _FULL32)
    if any(short not in (most, value) for short, most, value in zip(said, full, values, strict=True)):
        raise ambiguous("the two end records of the zip disagree")
    if values[0] or values[1]:
        raise unsupported("this zip is one part of a split archive")
    return at, values[2], values[3], values[4], values[5]


# ---------------------------------------------------------------------------------------------- one entry


def _parse(raw: bytes, at: int) -> ZipEntry:
    numbers = _CENTRAL.unpack_from(raw, at)
    host, flags, method, crc, packed, size, name_length, extra_length, disk, attributes, offset = numbers
    name_at = at + _CENTRAL.size
    raw_name = raw[name_at : name_at + name_length]
    # From the version to the length of the name, both headers have the same fields in the same order.
    twin = LOCAL_MAGIC + raw[at + 6 : at + 30] + b"\0\0" + raw_name
    extra = b""
    if extra_length:
        extra = raw[name_at + name_length : name_at + name_length + extra_length]
        if b"\x01\x00" in extra:
            packed, size, offset, disk = _widen(raw_name, extra, (size, packed, offset, disk))
            twin = b""
    if disk:
        raise unsupported("this zip is one part of a split archive")
    name = raw_name.decode() if raw_name.isascii() and not extra else _name(raw_name, extra, host, flags)
    return new_tuple(ZipEntry, (name, raw_name, host, flags, method, crc, packed, size, attributes, offset, twin))


def _widen(raw_name: bytes, extra: bytes, values: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Return packed size, size, offset and disk, those that are too large taken from the zip64 field."""
    size, packed, offset, disk = values
    fields = extra_fields(extra, ZIP64_EXTRA)
    if not fields:
        return packed, size, offset, disk
    if len(fields) > 1:
        raise ambiguous(f"{_shown(raw_name)} has two zip64 fields")
    field = fields[0]
    at = 0
    wide = [size, packed, offset]
    for index, value in enumerate(wide):
        if value == _FULL32:
            if at + 8 > len(field):
                raise corrupt(f"{_shown(raw_name)} has a zip64 field that is too short")
            wide[index] = int.from_bytes(field[at : at + 8], "little")
            at += 8
    if disk == _FULL16:
        disk = int.from_bytes(field[at : at + 4], "little")
        at += 4
    if at != len(field) and not _repeats(field, wide):
        raise ambiguous(f"{_shown(raw_name)} has a zip64 field that disagrees with its header")
    return wide[1], wide[0], wide[2], disk


def _repeats(field: bytes, values: list[int]) -> bool:
    """Return whether a zip64 field that has more than was needed says nothing new."""
    return b"".join(value.to_bytes(8, "little") for value in values).startswith(field)


def extra_fields(extra: bytes, wanted: int) -> list[bytes]:
    """Return the bodies of the fields with the number ``wanted``. A few odd bytes at the end are padding."""
    found = []
    at = 0
    while at + 4 <= len(extra):
        number, length = struct.unpack_from("<2H", extra, at)
        at += 4
        if at + length > len(extra):
            break
        if number == wanted:
            found.append(extra[at : at + length])
        at += length
    return found


def _name(raw: bytes, extra: bytes, host: int, flags: int) -> str:
    other = unicode_path(raw, extra)
    if flags & UTF8_NAME or raw.isascii():
        name = decode_name(raw)
        if other is not None and other != name:
            raise ambiguous(f"the zip has two names for one entry: {printable(name)!r} and {printable(other)!r}")
        return name
    if other is not None:
        return other
    if host in UNIX_HOSTS:
        return decode_name(raw)
    raise UnsafeContentError(
        f"the name {_shown(raw)} in the zip does not say in which character set it is written",
        part="bad-name",
        hint="pack it again with a tool that writes UTF-8 names",
    )


def unicode_path(raw_name: bytes, extra: bytes) -> str | None:
    """Return the name in Info-ZIP's Unicode path field, if there is one."""
    if b"up" not in extra:
        return None
    fields = extra_fields(extra, _UNICODE_PATH_EXTRA)
    if not fields:
        return None
    field = fields[0]
    if len(fields) > 1 or field[:1] != b"\x01" or field[1:5] != zlib.crc32(raw_name).to_bytes(4, "little"):
        raise ambiguous(f"{_shown(raw_name)} has a Unicode path field that belongs to another name")
    return decode_name(field[5:])


def _shown(raw_name: bytes) -> str:
    return repr(printable(raw_name.decode("utf-8", "backslashreplace")))


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
#: Kinds by the type in the mode; where that has none, only the name tells.
_KINDS = {stat.S_IFREG: _FILE, _DIRECTORY_TYPE: _DIRECTORY, stat.S_IFLNK: _SYMLINK, 0: None}


def read_zip(archive: Archive, context: Context) -> Iterator[Member]:
    """Yield the members of a zip in the order of their data; read to the end, it is verified as a whole."""
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
        """Check that between the end of ``previous`` and ``start`` there is its descriptor, or nothing."""
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
        """Compare the local header with the directory; return the offset of the data."""
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
        # Unpacked once: attribute by attribute would take most of the time here.
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
        # Many tools give directories the mode of a file; all readers decide by the slash.
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
