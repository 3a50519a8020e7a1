"""Zip files: hostile ones, and odd ones that are fine."""

from __future__ import annotations

import bz2
import stat
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from getmodules.archive.names import FOLDS_NAMES
from tests.support.archives import Z, extra_field, raw_deflate, streamed, unicode_path, zip_bytes
from tests.support.securitycases import AMBIGUOUS, CANARY, CORRUPT, UNSUPPORTED, Case, Executable, Wanted, limit, unsafe

TEXT = b"resource {}\n" * 20
A = Z(name=b"a.tf", data=TEXT, method=8)
B = Z(name=b"b.tf", data=b"b")
LINK = stat.S_IFLNK | 0o777


def _link(name: bytes, target: bytes) -> Z:
    return Z(name=name, data=target, mode=LINK)


# --------------------------------------------------------------------------------------------- refused


def _zip(
    name: str,
    code: str,
    why: str,
    *entries: Z,
    limits: Mapping[str, int] | None = None,
    disputed: bool = False,
    **how: Any,
) -> Case:
    return Case(
        name=name,
        kind="zip",
        build=partial(zip_bytes, *entries, **how),
        code=code,
        why=why,
        limits=limits or {},
        disputed=disputed,
    )


def _raw_zip(
    name: str,
    code: str,
    why: str,
    build: Callable[[], bytes],
    *,
    disputed: bool = False,
    limits: Mapping[str, int] | None = None,
) -> Case:
    return Case(name=name, kind="zip", build=build, code=code, why=why, disputed=disputed, limits=limits or {})


def _names_in_zip() -> list[Case]:
    leaves = "some readers write where the name leads"
    shown = "terminals and other systems read these characters as something else"
    return [
        _zip("absolute name", unsafe("absolute-path"), leaves, Z(name=CANARY.encode())),
        _zip("two slashes in front", unsafe("absolute-path"), leaves, Z(name=b"/" + CANARY.encode())),
        _zip("parent", unsafe("parent-path"), leaves, Z(name=b"../canary")),
        _zip("parent in the middle", unsafe("parent-path"), leaves, Z(name=b"a/../../canary")),
        _zip("parent that stays inside", unsafe("parent-path"), "some drop '..', some go up", Z(name=b"a/../b")),
        _zip("parent at the end", unsafe("parent-path"), leaves, Z(name=b"a/..")),
        _zip("drive", unsafe("absolute-path"), "on Windows this is another disk", Z(name=b"C:canary")),
        _zip("backslash", unsafe("bad-name"), "a separator for some, a letter for others", Z(name=b"..\\canary")),
        _zip("NUL", unsafe("bad-name"), "the name ends there for C, and goes on for others", Z(name=b"a.tf\0.txt")),
        _zip("newline", unsafe("bad-name"), shown, Z(name=b"a\nb")),
        _zip("escape sequence", unsafe("bad-name"), shown, Z(name=b"a\x1b[2Jb")),
        _zip("delete", unsafe("bad-name"), shown, Z(name=b"a\x7f")),
        _zip("C1 control character", unsafe("bad-name"), shown, Z(name="a\x9bb".encode(), flags=0x800)),
        _zip("not UTF-8", unsafe("bad-name"), "each reader guesses another character set", Z(name=b"\xff.tf")),
        _zip("overlong UTF-8", unsafe("bad-name"), "'/' to lenient decoders", Z(name=b"..\xc0\xafcanary")),
        _zip(
            "no character set",
            unsafe("bad-name"),
            "code page 437 for some, anything for others",
            Z(name=b"\x81.tf", host=0),
        ),
        _zip("no name", unsafe("bad-name"), "nothing to write to", Z(name=b"")),
        _zip("the root as a file", unsafe("bad-name"), "nothing to write to", Z(name=b".")),
        _zip(
            "twice",
            unsafe("duplicate-name"),
            "the first wins for some, the last for others",
            Z(data=b"1"),
            Z(data=b"2"),
        ),
        _zip(
            "twice, spelled differently",
            unsafe("duplicate-name"),
            "one file on disk, two names in the archive",
            Z(data=b"1"),
            Z(name=b"./a.tf", data=b"2"),
        ),
        _zip("case pair", unsafe("case-collision"), "one file on Windows and macOS, two here", A, Z(name=b"A.tf")),
        _zip(
            "case pair of directories",
            unsafe("case-collision"),
            "one directory there, two here",
            Z(name=b"d/a"),
            Z(name=b"D/b"),
        ),
        _zip(
            "accents composed and not",
            unsafe("case-collision"),
            "one file on macOS, two here",
            Z(name="\xe9".encode(), flags=0x800),
            Z(name="e\u0301".encode(), flags=0x800),
        ),
        _zip(
            "sharp s",
            unsafe("case-collision"),
            "folded they are one",
            Z(name="stra\xdfe".encode(), flags=0x800),
            Z(name=b"STRASSE"),
        ),
        _zip(
            "file, then directory",
            unsafe("file-and-directory"),
            "whichever comes last wins",
            Z(name=b"a"),
            Z(name=b"a/b"),
        ),
        _zip(
            "directory, then file",
            unsafe("file-and-directory"),
            "whichever comes last wins",
            Z(name=b"a/b"),
            Z(name=b"a"),
        ),
        _zip(
            "Unicode path of another name",
            AMBIGUOUS,
            "some use the field, some the name",
            replace(A, flags=0x800, extra=unicode_path(b"a.tf", "b.tf")),
        ),
        _zip(
            "Unicode path with a wrong checksum",
            AMBIGUOUS,
            "stale for some, good for others",
            Z(name=b"\x81", host=0, extra=unicode_path(b"other", "\xfc")),
            disputed=True,
        ),
        _zip(
            "two names",
            AMBIGUOUS,
            "streaming readers see the local name, others the central one",
            replace(A, local={"name": b"z.tf"}),
            disputed=True,
        ),
        _zip(
            "link name ends with a slash",
            AMBIGUOUS,
            "a link for some, a directory for others",
            Z(name=b"l/", data=b"..", mode=LINK),
            disputed=True,
        ),
        _zip(
            "mode of a directory without a slash",
            AMBIGUOUS,
            "a directory for some, a file for others",
            Z(name=b"d", data=b"", mode=stat.S_IFDIR | 0o755),
        ),
        _zip(
            "directory with content",
            AMBIGUOUS,
            "nobody says where the content goes",
            Z(name=b"d/", data=b"x", mode=stat.S_IFDIR | 0o755),
            disputed=True,
        ),
    ]


def _layout_of_zip() -> list[Case]:
    inner = zip_bytes(Z(name=b"inner.tf"))
    whole = zip_bytes(A)
    wide = struct.pack("<2Q", len(TEXT), 7)
    return [
        _raw_zip(
            "data in front",
            AMBIGUOUS,
            "another file to whoever reads from the front",
            lambda: b"#!/bin/sh\n" + whole,
            disputed=True,
        ),
        _zip("data in front, offsets moved", AMBIGUOUS, "a program or a picture to others", A, prefix=b"MZ" * 50),
        _raw_zip("data behind", AMBIGUOUS, "some look for the end record further in front", lambda: whole + b"x"),
        _raw_zip(
            "two zips in a row",
            AMBIGUOUS,
            "streaming readers see the first, others the last",
            lambda: inner + whole,
            disputed=True,
        ),
        _zip(
            "end record in the comment",
            AMBIGUOUS,
            "the last end record for some, the first for others",
            A,
            comment=inner,
            disputed=True,
        ),
        _zip(
            "gap between entries",
            AMBIGUOUS,
            "streaming readers find what lies there",
            A,
            replace(B, before=zip_bytes(Z(name=b"hidden"))[:44]),
        ),
        _zip(
            "gap before the end record",
            AMBIGUOUS,
            "the directory ends where the end record begins for some",
            A,
            gap=b"hidden",
            disputed=True,
        ),
        _raw_zip(
            "overlapping entries", AMBIGUOUS, "one piece of data is many files: a bomb", _quoted_overlap, disputed=True
        ),
        _zip(
            "two entries, one place",
            AMBIGUOUS,
            "one piece of data is two files",
            B,
            replace(B, name=b"c.tf", central={"offset": 0}),
            disputed=True,
        ),
        _zip(
            "two methods",
            AMBIGUOUS,
            "stored for some, deflated for others",
            replace(B, local={"method": 8}),
            disputed=True,
        ),
        _zip(
            "two sizes",
            AMBIGUOUS,
            "as long as one header says, or the other",
            replace(B, local={"size": 9}),
            disputed=True,
        ),
        _zip(
            "two packed sizes",
            AMBIGUOUS,
            "the next entry begins at two places",
            replace(B, local={"packed": 9}),
            disputed=True,
        ),
        _zip(
            "two checksums",
            AMBIGUOUS,
            "right for one header, wrong for the other",
            replace(B, local={"crc": 9}),
            disputed=True,
        ),
        _zip(
            "encrypted in one header",
            AMBIGUOUS,
            "readable for some only",
            replace(B, local={"flags": 1}),
            disputed=True,
        ),
        _zip(
            "descriptor with another size", AMBIGUOUS, "streaming readers believe it", streamed(A, size=len(TEXT) + 1)
        ),
        _zip(
            "no descriptor where one was announced",
            AMBIGUOUS,
            "streaming readers read on",
            replace(streamed(A), descriptor=b""),
            disputed=True,
        ),
        _zip(
            "zip64 field that disagrees",
            AMBIGUOUS,
            "the field for some, the header for others",
            replace(
                A,
                extra=extra_field(1, wide),
                local={"size": 0xFFFFFFFF, "packed": 0xFFFFFFFF},
                local_extra=extra_field(1, struct.pack("<2Q", len(TEXT), 9999)),
            ),
            disputed=True,
        ),
        _raw_zip(
            "two end records that disagree",
            AMBIGUOUS,
            "zip64 says one count, the old record another",
            lambda: with_end64(zip_bytes(A, B), count=1),
            disputed=True,
        ),
        _zip(
            "fewer entries than announced",
            CORRUPT,
            "the directory is cut off",
            A,
            end={"here": 2, "count": 2},
            disputed=True,
        ),
        _zip(
            "more entries than announced",
            CORRUPT,
            "the rest is hidden from some",
            A,
            B,
            end={"here": 1, "count": 1},
            disputed=True,
        ),
        _zip("a part of a split archive", UNSUPPORTED, "the rest is in another file", A, end={"disk": 1}),
    ]


def _content_of_zip() -> list[Case]:
    bomb = raw_deflate(bytes(1 << 20))
    return [
        _zip(
            "more than announced",
            CORRUPT,
            "100 bytes announced, a megabyte comes out",
            Z(data=bytes(100), method=8, stored=bomb),
            disputed=True,
        ),
        _zip(
            "less than announced",
            CORRUPT,
            "1000 bytes announced, ten come out",
            Z(data=bytes(1000), method=8, stored=raw_deflate(bytes(10))),
        ),
        _zip("wrong checksum", CORRUPT, "the content was changed", replace(A, local={"crc": 1}, central={"crc": 1})),
        _zip("cut off inside", CORRUPT, "deflate ends in the middle", replace(A, stored=raw_deflate(TEXT)[:-4])),
        _zip(
            "something behind the data",
            CORRUPT,
            "bytes of the entry that belong to no file",
            replace(A, stored=raw_deflate(TEXT) + b"hidden"),
            disputed=True,
        ),
        _raw_zip("cut off", CORRUPT, "no end record", lambda: zip_bytes(A, B)[:-10], disputed=True),
        _raw_zip("nothing", CORRUPT, "no byte at all", lambda: b"", disputed=True),
        _raw_zip("a web page", CORRUPT, "a login page instead of an archive", lambda: b"<html>sign in</html>"),
        _zip("encrypted", UNSUPPORTED, "nobody has the password", replace(B, flags=1)),
        _zip("unknown method", UNSUPPORTED, "nothing reads it", replace(B, method=42)),
    ]


def _links_in_zip() -> list[Case]:
    escapes, dangling, loop = unsafe("link-escapes"), unsafe("link-dangling"), unsafe("link-loop")
    through = "whatever is written through it lands outside"
    modes = {"fifo": stat.S_IFIFO, "device": stat.S_IFCHR, "disk": stat.S_IFBLK, "socket": stat.S_IFSOCK}
    return [
        _zip("absolute link", escapes, through, _link(b"l", CANARY.encode())),
        _zip("link up", escapes, through, _link(b"l", b"../canary")),
        _zip("link up and in again", escapes, "it depends on the directory's name", A, _link(b"l", b"../dest/a.tf")),
        _zip(
            "link over a link",
            escapes,
            "each looks harmless, together they leave",
            Z(name=b"d/e/f"),
            _link(b"x", b"d/e"),
            _link(b"d/e/l", b"../../x/../../.."),
        ),
        _zip("file below a link", unsafe("file-and-directory"), through, _link(b"l", b".."), Z(name=b"l/canary")),
        _zip("file at a link", unsafe("duplicate-name"), through, _link(b"l", b"../canary"), Z(name=b"l")),
        _zip("link at a file", unsafe("duplicate-name"), through, Z(name=b"l"), _link(b"l", b"../canary")),
        _zip("link to nothing", dangling, "what it leads to may appear later", _link(b"l", b"nothing")),
        _zip("link through a file", dangling, "no such path", A, _link(b"l", b"a.tf/..")),
        _zip("empty link", dangling, "points nowhere", _link(b"l", b"")),
        _zip("link to itself", loop, "leads in a circle", _link(b"l", b"l")),
        _zip("links in a circle", loop, "lead in a circle", _link(b"l", b"m"), _link(b"m", b"l")),
        _zip(
            "a chain of 50 links",
            loop,
            "no kernel follows that many",
            Z(name=b"l50"),
            *(_link(b"l%d" % n, b"l%d" % (n + 1)) for n in range(50)),
        ),
        *(
            _zip(what, unsafe("special-file"), "opening it does something", Z(name=b"s", data=b"", mode=mode))
            for what, mode in modes.items()
        ),
    ]


def _limits_in_zip() -> list[Case]:
    zeros = bytes(2 << 20)
    return [
        _zip(
            "too many bytes",
            limit("total-bytes"),
            "a full disk",
            Z(data=zeros, method=8),
            Z(name=b"b", data=zeros, method=8),
            limits={"total_bytes": 3 << 20},
        ),
        _zip(
            "too large a file",
            limit("file-bytes"),
            "a full disk",
            Z(data=zeros, method=8),
            limits={"file_bytes": 1 << 20},
        ),
        _zip(
            "too many entries",
            limit("entries"),
            "no inode left",
            *(Z(name=b"%d" % n) for n in range(11)),
            limits={"entries": 10},
        ),
        _zip("too many directories", limit("entries"), "no inode left", Z(name=b"1/2/3/4/5/6"), limits={"entries": 5}),
        _zip("too deep", limit("depth"), "tools that recurse fall over", Z(name=b"d/" * 64 + b"a")),
        _zip("too long a name", limit("path-bytes"), "longer than any path", Z(name=b"/".join([b"n" * 250] * 17))),
        _zip("too long a link", limit("path-bytes"), "longer than any path", _link(b"l", b"n" * 4097)),
        _raw_zip("too high a ratio", limit("ratio"), "a bomb", _ratio_bomb),
        _zip(
            "too many names",
            limit("metadata"),
            "memory for names",
            *(Z(name=b"%06d" % n + b"n" * 64_000, data=b"") for n in range(600)),
        ),
    ]


def _quoted_overlap() -> bytes:
    """Each entry's data is the next local header, quoted by a stored deflate block, and all that follows."""
    kernel = raw_deflate(bytes(100_000))
    return zip_bytes(
        Z(data=bytes(100_000), method=8, stored=kernel),
        Z(name=b"b", data=bytes(100_000), method=8, stored=kernel, central={"offset": 0, "name": b"b"}),
    )


def _ratio_bomb() -> bytes:
    return zip_bytes(*(Z(name=b"%d" % n, data=bytes(8 << 20), method=8) for n in range(9)))


def with_end64(data: bytes, *, count: int | None = None) -> bytes:
    """``data`` with a zip64 end record and its locator in front of the old one."""
    at = data.rindex(b"PK\x05\x06")
    here, total, length, offset = struct.unpack_from("<2H2I", data, at + 8)
    if count is not None:
        total = here = count
    record = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, here, total, length, offset)
    return data[:at] + record + struct.pack("<4sIQI", b"PK\x06\x07", 0, at, 1) + data[at:]


# --------------------------------------------------------------------------------------------- accepted


def _fine_zip(name: str, tree: Wanted, why: str, *entries: Z, **how: Any) -> Case:
    return Case(name=name, kind="zip", build=partial(zip_bytes, *entries, **how), tree=tree, why=why)


def _accepted_zips() -> list[Case]:
    wide = replace(
        A,
        local={"size": 0xFFFFFFFF, "packed": 0xFFFFFFFF},
        local_extra=extra_field(1, struct.pack("<2Q", len(TEXT), len(A.packed_bytes()))),
    )
    return [
        _fine_zip("plain", {"a.tf": TEXT, "b.tf": b"b"}, "what everybody writes", A, B),
        _fine_zip(
            "streamed",
            {"a.tf": TEXT, "b.tf": b"b"},
            "git archive and Go write descriptors",
            streamed(A),
            streamed(replace(B, method=8)),
        ),
        _fine_zip("zip64", {"a.tf": TEXT}, "streaming writers cannot know the size", wide),
        Case(
            name="zip64 end record",
            kind="zip",
            build=lambda: with_end64(zip_bytes(A)),
            tree={"a.tf": TEXT},
            why="some write it always",
        ),
        _fine_zip("comment", {"a.tf": TEXT}, "git archive's commit id", A, comment=b"0123456789abcdef"),
        _fine_zip("no member", {}, "a repository without files"),
        _fine_zip(
            "stored directories",
            {"d": None, "d/a": b"hello", "e": None},
            "most tools write them",
            Z(name=b"d/", data=b"", mode=stat.S_IFDIR | 0o700),
            Z(name=b"d/a"),
            Z(name=b"e/", data=b"", mode=stat.S_IFDIR),
        ),
        _fine_zip(
            "directory after its files",
            {"d": None, "d/a": b"hello"},
            "sorted by somebody else",
            Z(name=b"d/a"),
            Z(name=b"d/", data=b"", mode=stat.S_IFDIR),
        ),
        _fine_zip("dots and slashes", {"d": None, "d/a": b"hello"}, "one way to read them", Z(name=b"./d//./a")),
        _fine_zip(
            "modes",
            {"run": Executable(b"hello"), "odd": Executable(b"hello"), "none": b"hello"},
            "no setuid, no sticky, no write for others",
            Z(name=b"run", mode=stat.S_IFREG | 0o6755),
            Z(name=b"odd", mode=stat.S_IFREG | 0o1777),
            Z(name=b"none", mode=stat.S_IFREG),
        ),
        _fine_zip(
            "links inside",
            {"d": None, "d/up": "../a.tf", "a.tf": TEXT, "l": "d", "m": "l/up"},
            "relative, and they stay",
            _link(b"d/up", b"../a.tf"),
            _link(b"l", b"d"),
            _link(b"m", b"l/up"),
            A,
        ),
        _fine_zip(
            "Unicode",
            {"\xfc-\u4e2d.tf": b"hello"},
            "the flag says UTF-8",
            Z(name="\xfc-\u4e2d.tf".encode(), flags=0x800),
        ),
        _fine_zip(
            "strange but harmless",
            {"-rf": b"hello", "$(id)": b"hello", "a b": b"hello", "...": b"hello"},
            "no shell ever sees them",
            *(Z(name=n) for n in (b"-rf", b"$(id)", b"a b", b"...")),
        ),
        _fine_zip(
            "as deep as allowed",
            {**{"/".join(["d"] * n): None for n in range(1, 64)}, "d/" * 63 + "a": b"hello"},
            "64 is the limit",
            Z(name=b"d/" * 63 + b"a"),
        ),
        _fine_zip(
            "bzip2 inside", {"a.tf": TEXT}, "7-Zip can write it", Z(data=TEXT, method=12, stored=bz2.compress(TEXT))
        ),
        _fine_zip(
            "an archive in the archive",
            {"inner.zip": zip_bytes(B)},
            "it stays a file",
            Z(name=b"inner.zip", data=zip_bytes(B), method=8),
        ),
    ]


def _unportable() -> Case:
    """A notice, because real packages have such names; an error where they cannot exist."""
    build = partial(zip_bytes, Z(name=b"con"), Z(name=b"dot."))
    case = Case(name="names that Windows reserves", kind="zip", build=build, why="a notice where they can exist")
    if FOLDS_NAMES:
        return replace(case, code=unsafe("unportable-name"))
    return replace(case, tree={"con": b"hello", "dot.": b"hello"})


def zip_cases() -> list[Case]:
    return [
        *_names_in_zip(),
        *_layout_of_zip(),
        *_content_of_zip(),
        *_links_in_zip(),
        *_limits_in_zip(),
        *_accepted_zips(),
        _unportable(),
    ]
