"""The central directory of a zip file: where it is, and what it says.

A zip file is read from its end, and everything here makes sure that there is only one way to do so: one end
record, whose comment reaches the end of the file; a zip64 record that agrees with it; a directory that ends
where they begin and has as many entries as they say.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.model import new_tuple
from getmodules.archive.paths import decode_name
from getmodules.archive.refusals import HEAD_BYTES, ambiguous, corrupt, not_this, unsupported
from getmodules.archive.source import Window
from getmodules.errors import UnsafeContentError
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
    """The raw directory; its entries are made on demand, in the order of their data in the file."""

    def __init__(self, raw: bytes, count: int, offset: int) -> None:
        self._raw = raw
        #: Where the directory begins, and so where the data of the last entry must end.
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
    """Where in ``tail`` the end record is."""
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
        raise not_this("zip", head, "it has no end record; it may be cut off")
    if len(ends) > 1 or ends[0] != last:
        raise ambiguous("the zip has two end records")
    return ends[0]


def _comment_length(tail: bytes, at: int) -> int:
    return tail[at + 20] | tail[at + 21] << 8


def _read_end64(
    window: Window, locator: int, said: tuple[int, int, int, int, int, int]
) -> tuple[int, int, int, int, int]:
    """Where the zip64 record begins, and what it says, if it does not contradict ``said``."""
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
    """Packed size, size, offset and disk with what a zip64 field says about those that are too large."""
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
    """Whether a zip64 field that has more than was needed says nothing new."""
    return b"".join(value.to_bytes(8, "little") for value in values).startswith(field)


def extra_fields(extra: bytes, wanted: int) -> list[bytes]:
    """The bodies of the fields with the number ``wanted``. A few odd bytes at the end are padding."""
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
    """The name that Info-ZIP's Unicode path field brings, if there is one."""
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
