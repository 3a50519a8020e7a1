"""Archives built byte by byte, so that each field can be wrong on its own; and ways to unpack and judge them."""

from __future__ import annotations

import os
import stat
import struct
import threading
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from getmodules import GetModulesError
from getmodules.api.limits import Limits
from getmodules.api.model import Archive, Member, Members, Tree
from getmodules.api.ports import Context, Unpacker
from getmodules.archive.formats import getmodules_unpackers
from getmodules.archive.writer import Output, write_members
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot

E = TypeVar("E", bound=GetModulesError)

# --------------------------------------------------------------------------------------------------- zip


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


@dataclass(frozen=True, kw_only=True)
class Z:
    """One zip entry. ``local`` and ``central`` overrule fields of one header only; the rest is derived."""

    name: bytes = b"a.tf"
    data: bytes = b"hello"
    method: int = 0
    stored: bytes | None = None
    flags: int = 0
    host: int = 3
    mode: int = stat.S_IFREG | 0o644
    dos: int = 0
    extra: bytes = b""
    local_extra: bytes = b""
    descriptor: bytes = b""
    before: bytes = b""
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)

    def fields(self, **more: Any) -> dict[str, Any]:
        packed = self.packed_bytes()
        numbers = {"crc": zlib.crc32(self.data), "packed": len(packed), "size": len(self.data)}
        base = {"flags": self.flags, "method": self.method, "name": self.name, "disk": 0, **numbers}
        return {**base, **more}

    def packed_bytes(self) -> bytes:
        if self.stored is not None:
            return self.stored
        return raw_deflate(self.data) if self.method == 8 else self.data


def zip_bytes(
    *entries: Z, comment: bytes = b"", prefix: bytes = b"", gap: bytes = b"", end: dict[str, int] | None = None
) -> bytes:
    out = bytearray(prefix)
    central = bytearray()
    for entry in entries:
        out += entry.before
        offset = len(out)
        f = entry.fields(**entry.local)
        lf = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, f["flags"], f["method"], 0, 0x21, f["crc"], f["packed"],
                         f["size"], len(f["name"]), len(entry.local_extra))  # fmt: skip
        out += lf + f["name"] + entry.local_extra + entry.packed_bytes() + entry.descriptor
        f = entry.fields(**{"offset": offset, **entry.central})
        attributes = (entry.mode << 16 if entry.host in (3, 19) else 0) | entry.dos
        central += struct.pack("<4s2B5H3I5H2I", b"PK\x01\x02", 20, entry.host, 20, f["flags"], f["method"], 0, 0x21,
                               f["crc"], f["packed"], f["size"], len(f["name"]), len(entry.extra), 0, f["disk"], 0,
                               attributes, f["offset"])  # fmt: skip
        central += f["name"] + entry.extra
    numbers = {"disk": 0, "start": 0, "here": len(entries), "count": len(entries), "length": len(central),
               "offset": len(out), "comment": len(comment)}  # fmt: skip
    numbers.update(end or {})
    out += central + gap
    return bytes(out) + struct.pack("<4s4H2IH", b"PK\x05\x06", *numbers.values()) + comment


def descriptor(entry: Z, *, signed: bool = True, wide: bool = False, **more: int) -> bytes:
    f = entry.fields(**more)
    numbers = struct.pack("<I2Q" if wide else "<3I", f["crc"], f["packed"], f["size"])
    return (b"PK\x07\x08" if signed else b"") + numbers


def streamed(entry: Z, **how: Any) -> Z:
    """``entry`` as a tool writes it that cannot seek back: zeros in front, the truth behind."""
    described = replace(entry, flags=entry.flags | 8, local={"crc": 0, "packed": 0, "size": 0})
    return replace(described, descriptor=descriptor(entry, **how))


def extra_field(number: int, body: bytes) -> bytes:
    return struct.pack("<2H", number, len(body)) + body


def unicode_path(name: bytes, real: str) -> bytes:
    return extra_field(0x7075, b"\x01" + struct.pack("<I", zlib.crc32(name)) + real.encode())


# --------------------------------------------------------------------------------------------------- tar


def octal(value: int, width: int) -> bytes:
    return b"%0*o\0" % (width - 1, value)


@dataclass(frozen=True, kw_only=True)
class T:
    """One tar header with its body; ``overrule`` replaces raw bytes of the header at an offset."""

    name: bytes = b"a.tf"
    data: bytes = b""
    type: bytes = b"0"
    target: bytes = b""
    mode: int = 0o644
    magic: bytes = b"ustar\x0000"
    prefix: bytes = b""
    size: bytes | None = None
    overrule: dict[int, bytes] = field(default_factory=dict)
    checksum: bytes | None = None

    def build(self) -> bytes:
        size = octal(len(self.data), 12) if self.size is None else self.size
        head = bytearray(struct.pack("<100s8s8s8s12s12s8s1s100s8s32s32s8s8s155s12x", self.name, octal(self.mode, 8),
                         octal(0, 8), octal(0, 8), size, octal(0, 12), b" " * 8, self.type, self.target, self.magic,
                         b"root", b"root", octal(0, 8), octal(0, 8), self.prefix))  # fmt: skip
        for at, raw in self.overrule.items():
            head[at : at + len(raw)] = raw
        head[148:156] = b"%06o\0 " % sum(head) if self.checksum is None else self.checksum
        return bytes(head) + self.data + bytes(-len(self.data) % 512)


END = bytes(1024)


def tar_bytes(*entries: T, end: bytes = END) -> bytes:
    return b"".join(entry.build() for entry in entries) + end


def pax(records: dict[str, str] | bytes, type: bytes = b"x") -> T:
    body = records if isinstance(records, bytes) else b"".join(record(k, v) for k, v in records.items())
    return T(name=b"PaxHeaders/x", type=type, data=body)


def record(key: str, value: str) -> bytes:
    line = f" {key}={value}\n".encode()
    length = len(line) + 1
    while len(str(length)) + len(line) != length:
        length = len(str(length)) + len(line)
    return str(length).encode() + line


# --------------------------------------------------------------------------------------------------- unpacking


def unpacker_of(name: str) -> Unpacker:
    return next(unpacker for unpacker in getmodules_unpackers() if name in unpacker.names)


def spooled(data: bytes, directory: Path) -> Archive:
    path = directory / "archive"
    path.write_bytes(data)
    return Archive(path=path, size=len(data), digests={})


def read(data: bytes, kind: str, directory: Path, context: Context | None = None) -> list[Member]:
    """The members of an archive, with their content read and thrown away."""
    members = []
    for member in unpacker_of(kind).unpack(spooled(data, directory), context or a_context()):
        for _ in member.open():
            pass
        members.append(member)
    return members


def unpack(data: bytes, kind: str, directory: Path, *subdirs: str, **limits: int) -> tuple[Tree, ...]:
    """Write an archive into ``directory/0``, ``directory/1`` … and look that it stays in there."""
    context = a_context(limits=replace(Limits(), **limits))
    archive = spooled(data, directory)
    roots = []
    for index, _ in enumerate(subdirs or ("",)):
        (directory / str(index)).mkdir()
        roots.append(os.open(directory / str(index), os.O_RDONLY))
    before = {name for name in snapshot(directory) if "/" not in name}
    threads = set(threading.enumerate())
    try:
        outputs = [Output(subdir, root) for subdir, root in zip(subdirs or ("",), roots, strict=True)]
        members = Members(unpacker_of(kind).unpack(archive, context), strict=True)
        return write_members(members, outputs, context, packed_bytes=archive.size)
    finally:
        for root in roots:
            os.close(root)
        assert {name for name in snapshot(directory) if "/" not in name} == before
        assert not [each.name for each in set(threading.enumerate()) - threads if each.name.startswith("getmodules")]


def refused(kind: type[E], code: str, data: bytes, archive: str, directory: Path, *subdirs: str, **limits: int) -> E:
    """The error of unpacking: exactly this one, no descriptor left open, no thread left behind."""
    # A descriptor that is not closed shows in the number of the next one.
    first = os.dup(0)
    os.close(first)
    error = refusal(kind, code, unpack, data, archive, directory, *subdirs, **limits)
    second = os.dup(0)
    os.close(second)
    assert first == second, "a descriptor was left open"
    return error
