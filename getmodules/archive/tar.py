"""Read tar archives: ustar, PAX, GNU and the old Unix format, plain or compressed.

The stream is read to its end whatever is wanted of it, because only the end shows that nothing is missing:
two empty blocks, then nothing but zeros, and the checksum of the compression.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from typing import NamedTuple
from zlib import adler32 as _adler32

from getmodules.api.limits import metadata_exceeded
from getmodules.api.model import Archive, Kind, Member
from getmodules.api.ports import Context
from getmodules.archive.codecs import STREAM_PIECE_BYTES, codec, decode_all
from getmodules.archive.names import decode_name
from getmodules.archive.source import ambiguous, corrupt, opened, pieces, unexpected_format, unsupported
from getmodules.util.redact import printable
from getmodules.util.worker import Worker

SPARSE_HINT = "pack it again: with GNU tar without --sparse, with bsdtar with --no-read-sparse"

#: One header; GNU tar and bsdtar write a few hundred bytes, extended attributes some kilobytes more.
EXTENSION_BYTES = 1 << 20
#: In front of one member: PAX, global PAX, a long name, a long target.
_MOST_HEADERS = 8
#: The largest size that fits into a header as octal digits.
_OCTAL_MOST = 8**11 - 1
_CHARSETS = (b"BINARY", b"ISO-IR 10646 2000 UTF-8")
_MEANINGFUL = (b"path", b"linkpath", b"size", b"hdrcharset")


class Extensions:
    """The PAX and GNU extension headers in front of a member; forgotten after it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.path: bytes | None = None
        self.target: bytes | None = None
        self._size: int | None = None
        self._seen: list[bytes] = []
        self.pending = False

    def add(self, kind: bytes, body: bytes) -> None:
        if kind in self._seen and kind != b"g":
            raise ambiguous("a member of the tar has two extension headers of one kind")
        self._seen.append(kind)
        self.pending = True
        if len(self._seen) > _MOST_HEADERS:
            raise metadata_exceeded("the extension headers of one member of the tar", _MOST_HEADERS)
        if kind == b"L":
            self._set_path(_c_string(body))
        elif kind == b"K":
            self._set_target(_c_string(body))
        else:
            self._add_pax(kind, pax_records(body))

    def size(self, in_header: int) -> int:
        """Return the member's size, given the one in its own header."""
        if self._size is None or self._size == in_header:
            return in_header
        # A header that cannot hold a size says zero, or as much as it can.
        if self._size > _OCTAL_MOST and in_header in (0, _OCTAL_MOST):
            return self._size
        raise ambiguous(f"the tar gives one member two sizes: {in_header:,} and {self._size:,} bytes")

    def _add_pax(self, kind: bytes, records: dict[bytes, bytes]) -> None:
        for key, value in records.items():
            if key.startswith(b"GNU.sparse."):
                raise unsupported("the tar has a sparse file", hint=SPARSE_HINT)
            if key not in _MEANINGFUL:
                continue
            if key == b"hdrcharset":
                if value not in _CHARSETS:
                    raise unsupported("the tar has names in an unknown character set")
            elif kind == b"g" or not value:
                raise ambiguous(f"the tar has a PAX header with a strange {key.decode()}")
            elif key == b"path":
                self._set_path(value)
            elif key == b"linkpath":
                self._set_target(value)
            else:
                if not value.isdigit() or len(value) > 19:
                    raise corrupt("the tar has a PAX header whose size is no number")
                self._size = int(value)

    def _set_path(self, value: bytes) -> None:
        if self.path is not None:
            raise ambiguous("a member of the tar has two long names")
        self.path = value

    def _set_target(self, value: bytes) -> None:
        if self.target is not None:
            raise ambiguous("a member of the tar has two long link targets")
        self.target = value


def pax_records(body: bytes) -> dict[bytes, bytes]:
    """Parse ``length key=value`` lines, each with its own length in front; refuse anything else."""
    records: dict[bytes, bytes] = {}
    at = 0
    while at < len(body):
        space = body.find(b" ", at, at + 8)
        digits = body[at:space] if space > 0 else b""
        if not digits.isdigit():
            raise corrupt("the tar has a broken PAX header: a length is missing")
        end = at + int(digits)
        record = body[space + 1 : end]
        key, equals, value = record[:-1].partition(b"=")
        if end > len(body) or record[-1:] != b"\n" or not equals or not key:
            raise corrupt("the tar has a broken PAX header: a length is wrong")
        if key in records and key in _MEANINGFUL:
            raise ambiguous(f"the tar has a PAX header with two values for {key.decode()}")
        records[key] = value
        at = end
    return records


def _c_string(body: bytes) -> bytes:
    text, _, rest = body.partition(b"\0")
    if rest.strip(b"\0"):
        raise ambiguous("the tar has a long name with something behind its end")
    return text


BLOCK = 512
_ZEROS = bytes(BLOCK)
_OCTAL = re.compile(rb" *([0-7]*)[ \0].*", re.DOTALL)
#: Name, mode, size, checksum, type, target, magic with version, prefix.
_FIELDS = struct.Struct("100s8s16x12s12x8s1s100s8s80x155s12x")
_LARGEST = 1 << 63

#: The members of an enumeration are slow to get at.
_FILE = Kind.FILE
#: Archives up to this size are decompressed without a second thread.
_SMALL_BYTES = 256 << 10
_DIRECTORY, _SYMLINK, _HARDLINK = b"5", b"2", b"1"
_REGULAR = frozenset((b"0", b"\0", b"7"))
_SPECIAL = (b"3", b"4", b"6")
_EXTENSIONS = frozenset((b"x", b"g", b"L", b"K"))
_UNSUPPORTED = {
    b"S": "a sparse file", b"D": "an incremental backup", b"M": "one part of a multi-volume archive",
    b"N": "an old GNU long name", b"V": "a volume label", b"X": "a Solaris header", b"A": "a Solaris ACL",
}  # fmt: skip


def read_tar(archive: Archive, context: Context, codec_name: str | None) -> Iterator[Member]:
    """Yield the members of a tar in their order; read to the end, it is verified as a whole."""
    with opened(archive) as file:
        stream: Iterable[bytes] = pieces(file, context.checkpoint)
        if codec_name is not None:
            stream = decode_all(codec(codec_name), stream, context.checkpoint)
        if codec_name is None or archive.size <= _SMALL_BYTES:
            yield from _Reader(_Stream(stream)).members()
            return
        with closing(_one_ahead(iter(stream))) as ahead:
            yield from _Reader(_Stream(ahead)).members()


def _one_ahead(pieces: Iterator[bytes]) -> Generator[bytes]:
    """Yield ``pieces``; while the caller works on one, a second thread decompresses the next."""
    ready: list[bytes | None] = []

    def step() -> None:
        ready.append(next(pieces, None))

    with Worker("getmodules-decompress") as worker:
        worker.give(step, STREAM_PIECE_BYTES)
        while True:
            worker.wait()
            piece = ready.pop()
            if piece is None:
                return
            worker.give(step, STREAM_PIECE_BYTES)
            yield piece


def read_offsets(archive: Archive, context: Context) -> Iterator[tuple[Member, int]]:
    """Yield the members of a plain tar, each with the offset of its content; contents are passed over."""
    with opened(archive) as file:
        stream = _Stream(pieces(file, context.checkpoint))
        for member in _Reader(stream).members():
            yield member, stream.position


class _Stream:
    """A stream of pieces, read in the lengths that tar wants."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self._pieces = iter(source)
        self._buffer = b""
        self._at = 0
        #: The offset in the stream.
        self.position = 0

    def block(self) -> bytes:
        """Return the next 512 bytes; fewer at the end of the stream."""
        at = self._at
        block = self._buffer[at : at + BLOCK]
        if len(block) == BLOCK:
            self._at = at + BLOCK
            self.position += BLOCK
            return block
        return b"".join(self.take(BLOCK, short=True))

    def whole(self, length: int) -> bytes | None:
        """Return ``length`` bytes in one piece, if they are buffered already."""
        at = self._at
        if at + length > len(self._buffer):
            return None
        self._at = at + length
        self.position += length
        return self._buffer[at : at + length]

    def take(self, length: int, *, short: bool = False) -> Iterator[bytes]:
        """Yield ``length`` bytes in pieces; an early end is an error unless it may be ``short``."""
        while length:
            piece = self._buffer[self._at : self._at + length]
            if not piece:
                self._buffer = next(self._pieces, b"")
                self._at = 0
                if not self._buffer:
                    if short:
                        return
                    raise corrupt("the tar is cut off in the middle of a file")
                continue
            self._at += len(piece)
            self.position += len(piece)
            length -= len(piece)
            yield piece

    def skip_to(self, position: int) -> None:
        distance = position - self.position
        if self._at + distance <= len(self._buffer):
            self._at += distance
            self.position = position
            return
        for _ in self.take(distance):
            pass

    def rest(self) -> Iterator[bytes]:
        yield self._buffer[self._at :]
        yield from self._pieces


class _Header(NamedTuple):
    type: bytes
    name: bytes
    target: bytes
    mode: bytes
    size: int


class _Reader:
    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def members(self) -> Iterator[Member]:
        stream = self._stream
        extensions = Extensions()
        while (block := stream.block()) != _ZEROS:
            header = self._header(block)
            if header.type in _EXTENSIONS:
                self._extend(extensions, header)
                continue
            size = header.size
            if extensions.pending:
                size = extensions.size(size)
            end = stream.position + size + -size % BLOCK
            yield self._member(header, size, extensions)
            if extensions.pending:
                extensions.forget()
            stream.skip_to(end)
        if extensions.pending:
            raise corrupt("the tar ends with an extension header that belongs to nothing")
        self._check_end()

    def _check_end(self) -> None:
        second = self._stream.block()
        if len(second) < BLOCK:
            raise corrupt("the tar has only half of its end marker; it may be cut off")
        if second != _ZEROS:
            raise corrupt("the tar has an empty block between its members")
        for piece in self._stream.rest():
            if piece.count(0) != len(piece):
                raise ambiguous("something follows the end of the tar")

    # ---------------------------------------------------------------------------------------- headers

    def _header(self, block: bytes) -> _Header:
        at = self._stream.position - len(block)
        if len(block) < BLOCK:
            if at == 0:
                raise unexpected_format("tar", block, "it is shorter than one header")
            raise corrupt("the tar has no end marker; it is cut off")
        name, mode, digits, checksum, kind, target, magic, prefix = _FIELDS.unpack(block)
        if _checksum(block, checksum) != _number(checksum, "checksum"):
            if at == 0:
                raise unexpected_format("tar", block, "its first header has a wrong checksum")
            raise corrupt(f"the tar is broken: the header at byte {at:,} has a wrong checksum")
        name = name.partition(b"\0")[0]
        if magic == b"ustar\x0000":
            if prefix[0]:
                # star keeps times behind a shorter prefix.
                prefix = prefix[: 131 if block[508:] == b"tar\0" else 155]
                name = prefix.partition(b"\0")[0] + b"/" + name
        elif magic != b"ustar  \0" and magic.strip(b"\0"):
            raise corrupt("the tar has a header of an unknown kind")
        return _Header(kind, name, target.partition(b"\0")[0], mode, _number(digits, "size"))

    def _extend(self, extensions: Extensions, header: _Header) -> None:
        size = header.size
        if size > EXTENSION_BYTES:
            raise metadata_exceeded(f"an extension header of {size:,} bytes in the tar", EXTENSION_BYTES)
        end = self._stream.position + size + -size % BLOCK
        body = self._stream.whole(size)
        extensions.add(header.type, b"".join(self._stream.take(size)) if body is None else body)
        self._stream.skip_to(end)

    # ---------------------------------------------------------------------------------------- members

    def _member(self, header: _Header, size: int, extensions: Extensions) -> Member:
        name = decode_name(header.name if extensions.path is None else extensions.path)
        kind = header.type
        if kind in _REGULAR and not (name.endswith("/") and kind != b"7"):
            return Member(name, _FILE, size, _is_executable(header.mode), partial(self._content, size))
        if kind in _UNSUPPORTED:
            hint = SPARSE_HINT if kind == b"S" else None
            raise unsupported(f"{printable(name)!r} in the tar is {_UNSUPPORTED[kind]}", hint=hint)
        if size:
            raise ambiguous(f"{printable(name)!r} in the tar is no file but has content")
        if kind in _REGULAR or kind == _DIRECTORY:
            return Member(name, Kind.DIRECTORY)
        if kind in (_SYMLINK, _HARDLINK):
            target = decode_name(header.target if extensions.target is None else extensions.target)
            return Member(name, Kind.SYMLINK if kind == _SYMLINK else Kind.HARDLINK, target=target)
        if kind in _SPECIAL:
            return Member(name, Kind.SPECIAL)
        unknown = printable(kind.decode("latin-1"))
        raise unsupported(f"{printable(name)!r} in the tar is of the unknown type {unknown!r}")

    def _content(self, size: int) -> Iterable[bytes]:
        whole = self._stream.whole(size)
        return self._stream.take(size) if whole is None else (whole,)


def _checksum(block: bytes, own: bytes) -> int:
    """Return the sum of the bytes, those of the checksum itself taken as blanks.

    The lower half of an adler32 that starts at zero is the plain sum modulo 65521: exact for 512 bytes of ASCII,
    and for 256 of any others.
    """
    if block.isascii():
        total = _adler32(block, 0) & 0xFFFF
    else:
        total = (_adler32(block[:256], 0) & 0xFFFF) + (_adler32(block[256:], 0) & 0xFFFF)
    return total - (_adler32(own, 0) & 0xFFFF) + 8 * 0x20


@lru_cache(16)
def _is_executable(mode: bytes) -> bool:
    """Return whether the mode is executable; remembered, since a tar has a handful of modes."""
    return _number(mode, "mode") & 0o100 != 0


def _number(field: bytes, what: str) -> int:
    """Parse octal digits, or base-256 where the first bit says so."""
    if field[-1] in b" \0" and field[:-1].isdigit():
        digits = field[:-1]
    elif field[0] & 0x80:
        value = int.from_bytes(bytes((field[0] & 0x7F,)) + field[1:], "big")
        if field[0] & 0x40 or value >= _LARGEST:
            raise corrupt(f"the tar has a header with a negative or absurd {what}")
        return value
    else:
        found = _OCTAL.fullmatch(field + b"\0")
        if found is None:
            raise corrupt(f"the tar has a header whose {what} is no number")
        digits = found[1] or b"0"
    try:
        return int(digits, 8)
    except ValueError:
        raise corrupt(f"the tar has a header whose {what} is no number") from None
