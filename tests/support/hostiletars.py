"""Tar files, in every codec: hostile ones, and odd ones that are fine."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tests.support.archives import END, T, octal, pax, tar_bytes
from tests.support.securitycases import AMBIGUOUS, CANARY, CORRUPT, UNSUPPORTED, Case, Executable, Wanted, limit, unsafe

TEXT = b"resource {}\n" * 20
A = T(name=b"a.tf", data=TEXT)
B = T(name=b"b.tf", data=b"b")


def zstd_compress(data: bytes) -> bytes:
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    packed: bytes = zstd.compress(data)
    return packed


PACK: Mapping[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "tar.gz": partial(gzip.compress, mtime=0),
    "tar.bz2": bz2.compress,
    "tar.xz": lzma.compress,
    "tar.zst": zstd_compress,
}


def _link(name: bytes, target: bytes) -> T:
    return T(name=name, type=b"2", target=target)


def _hard(name: bytes, target: bytes) -> T:
    return T(name=name, type=b"1", target=target)


def _long(name: bytes) -> T:
    return T(name=b"././@LongLink", type=b"L", data=name + b"\0")


# --------------------------------------------------------------------------------------------- refused


def _tar(
    name: str,
    code: str,
    why: str,
    *entries: T,
    end: bytes = END,
    limits: Mapping[str, int] | None = None,
    disputed: bool = False,
) -> Case:
    return Case(
        name=name,
        kind="tar",
        build=partial(tar_bytes, *entries, end=end),
        code=code,
        why=why,
        limits=limits or {},
        disputed=disputed,
    )


def _names() -> list[Case]:
    leaves = "some readers write where the name leads"
    deep = CANARY.encode() + b"/" + b"n" * 120
    return [
        _tar("absolute name", unsafe("absolute-path"), leaves, T(name=CANARY.encode())),
        _tar("absolute prefix", unsafe("absolute-path"), leaves, T(name=b"canary", prefix=b"/")),
        _tar("absolute PAX path", unsafe("absolute-path"), leaves, pax({"path": CANARY}), A),
        _tar("absolute long name", unsafe("absolute-path"), leaves, _long(deep), A),
        _tar("parent", unsafe("parent-path"), leaves, T(name=b"../canary")),
        _tar("parent in a PAX path", unsafe("parent-path"), leaves, pax({"path": "d/../../canary"}), A),
        _tar("parent in a directory's name", unsafe("parent-path"), leaves, T(name=b"../d/", type=b"5")),
        _tar("parent in the prefix", unsafe("parent-path"), leaves, T(name=b"canary", prefix=b"..")),
        _tar("backslash", unsafe("bad-name"), "a separator for some, a letter for others", T(name=b"..\\canary")),
        _tar("drive", unsafe("absolute-path"), "on Windows this is another disk", T(name=b"c:/canary")),
        _tar(
            "NUL in a PAX path",
            unsafe("bad-name"),
            "the name ends there for C",
            pax({"path": "a\0b"}),
            A,
            disputed=True,
        ),
        _tar("newline", unsafe("bad-name"), "lists of names are read line by line", T(name=b"a\nb")),
        _tar("escape sequence", unsafe("bad-name"), "terminals obey it", T(name=b"\x1b]0;x\x07")),
        _tar("not UTF-8", unsafe("bad-name"), "each reader guesses another character set", T(name=b"\xff")),
        _tar("no name", unsafe("bad-name"), "nothing to write to", T(name=b"")),
        _tar("the root as a file", unsafe("bad-name"), "nothing to write to", T(name=b"./.")),
        _tar(
            "twice",
            unsafe("duplicate-name"),
            "the last wins for some, the first for others",
            T(data=b"1"),
            T(data=b"2"),
        ),
        _tar("case pair", unsafe("case-collision"), "one file on Windows and macOS", A, T(name=b"A.TF")),
        _tar(
            "file, then directory",
            unsafe("file-and-directory"),
            "whichever comes last wins",
            T(name=b"a"),
            T(name=b"a/b"),
        ),
        _tar(
            "directory, then file",
            unsafe("file-and-directory"),
            "whichever comes last wins",
            T(name=b"a/", type=b"5"),
            T(name=b"a"),
        ),
    ]


def _headers() -> list[Case]:
    five = T(name=b"a.tf", data=b"12345")
    return [
        _tar(
            "PAX size that disagrees",
            AMBIGUOUS,
            "the next header is at two places",
            pax({"size": "0"}),
            replace(five, data=T(name=b"hidden", data=b"x").build()),
        ),
        _tar(
            "PAX size, larger",
            AMBIGUOUS,
            "the next header is at two places",
            pax({"size": "1024"}),
            five,
            B,
            disputed=True,
        ),
        _tar("negative PAX size", CORRUPT, "a reader would go back", pax({"size": "-512"}), five, disputed=True),
        _tar("negative size", CORRUPT, "a reader would go back", T(size=b"\xff" * 12), disputed=True),
        _tar("absurd size", CORRUPT, "more than any disk", T(size=b"\xbf" + b"\xff" * 11)),
        _tar("more announced than there is", CORRUPT, "cut off", T(size=octal(8**10, 12))),
        _tar("two PAX paths", AMBIGUOUS, "the first for some, the last for others", pax(b"9 path=b\n9 path=c\n"), A),
        _tar(
            "two PAX headers",
            AMBIGUOUS,
            "the first for some, the last for others",
            pax({"path": "b"}),
            pax({"path": "c"}),
            A,
            disputed=True,
        ),
        _tar(
            "long name and PAX path",
            AMBIGUOUS,
            "GNU's name for some, PAX's for others",
            _long(b"b"),
            pax({"path": "c"}),
            A,
            disputed=True,
        ),
        _tar("global path", AMBIGUOUS, "every file has this name, or none", pax({"path": "b"}, b"g"), A, disputed=True),
        _tar("something behind a long name", AMBIGUOUS, "a C string for some", T(type=b"L", data=b"b\0c"), A),
        _tar("PAX length that is wrong", CORRUPT, "the next record is at two places", pax(b"99 path=b\n"), A),
        _tar("PAX header of nothing", CORRUPT, "what it says belongs to nothing", A, pax({"path": "b"}), disputed=True),
        _tar("unknown character set", UNSUPPORTED, "each reader guesses", pax({"hdrcharset": "EBCDIC"}), A),
        _tar(
            "link with content",
            AMBIGUOUS,
            "skipped by some, a header for others",
            T(name=b"l", type=b"2", target=b"a", data=T(name=b"hidden").build()),
            disputed=True,
        ),
        _tar(
            "directory with content",
            AMBIGUOUS,
            "skipped by some, a header for others",
            T(name=b"d/", type=b"5", data=T(name=b"hidden").build()),
            disputed=True,
        ),
        _tar("wrong checksum", CORRUPT, "damaged, or no tar", T(checksum=b"000000\0 ")),
        _tar(
            "a second header that is broken",
            CORRUPT,
            "Python's tarfile stops there without a word",
            A,
            T(name=b"b.tf", checksum=b"000000\0 "),
            disputed=True,
        ),
        _tar("sparse", UNSUPPORTED, "its content is not its content", T(type=b"S")),
        _tar("PAX sparse", UNSUPPORTED, "its content is not its content", pax({"GNU.sparse.major": "1"}), A),
        _tar("several volumes", UNSUPPORTED, "the rest is elsewhere", T(type=b"M")),
        _tar("unknown type", UNSUPPORTED, "a file for some, skipped by others", T(type=b"Q")),
    ]


def _ends() -> list[Case]:
    return [
        _tar("no end marker", CORRUPT, "cut off between two files", A, end=b""),
        _tar("half an end marker", CORRUPT, "cut off in the marker", A, end=bytes(512)),
        _tar(
            "an empty block between files",
            CORRUPT,
            "the end for some, a gap for others",
            A,
            end=bytes(512) + B.build() + END,
        ),
        _tar("data behind the end", AMBIGUOUS, "padding for some", A, end=END + b"x"),
        _tar(
            "a second tar behind the end",
            AMBIGUOUS,
            "with --ignore-zeros it is there",
            A,
            end=END + tar_bytes(T(name=b"hidden")),
        ),
        _tar("nothing", CORRUPT, "no byte at all", end=b""),
    ]


def _links_and_devices() -> list[Case]:
    escapes, dangling, loop = unsafe("link-escapes"), unsafe("link-dangling"), unsafe("link-loop")
    hard, special = unsafe("hardlink"), unsafe("special-file")
    through = "whatever is written through it lands outside"
    return [
        _tar("absolute link", escapes, through, _link(b"l", CANARY.encode())),
        _tar("link up", escapes, through, _link(b"l", b"../canary")),
        _tar(
            "link over a link",
            escapes,
            "each looks harmless, together they leave",
            T(name=b"d/e/f"),
            _link(b"x", b"d/e"),
            _link(b"d/e/l", b"../../x/../../.."),
        ),
        _tar("file through a link", unsafe("file-and-directory"), through, _link(b"l", b".."), T(name=b"l/canary")),
        _tar("directory at a link", unsafe("file-and-directory"), through, _link(b"l", b".."), T(name=b"l", type=b"5")),
        _tar("file at a link", unsafe("duplicate-name"), through, _link(b"l", CANARY.encode()), T(name=b"l")),
        _tar("link to nothing", dangling, "what it leads to may appear later", _link(b"l", b"nothing")),
        _tar("link in a circle", loop, "leads in a circle", _link(b"l", b"m"), _link(b"m", b"l")),
        _tar(
            "absolute hard link",
            unsafe("absolute-path"),
            "a name of somebody else's file",
            _hard(b"h", CANARY.encode()),
        ),
        _tar("hard link up", unsafe("parent-path"), "a name of somebody else's file", _hard(b"h", b"../canary")),
        _tar(
            "hard link to a link",
            hard,
            "opened through the link, it is somebody else's file",
            _link(b"l", b"../canary"),
            _hard(b"h", b"l"),
        ),
        _tar(
            "hard link through a link",
            hard,
            "opened through the link, it is somebody else's file",
            _link(b"l", b".."),
            _hard(b"h", b"l/canary"),
        ),
        _tar("hard link to a later file", hard, "it is not there yet", _hard(b"h", b"a.tf"), A),
        _tar("hard link to a directory", hard, "no system has that", T(name=b"d/", type=b"5"), _hard(b"h", b"d")),
        _tar("hard link to itself", hard, "it is not there yet", _hard(b"h", b"h")),
        _tar("device", special, "opening it does something", T(name=b"s", type=b"3")),
        _tar("disk", special, "opening it does something", T(name=b"s", type=b"4")),
        _tar("fifo", special, "opening it waits for ever", T(name=b"s", type=b"6")),
    ]


def _limits() -> list[Case]:
    zeros = bytes(2 << 20)
    copies = [_hard(b"h%d" % n, b"a.tf") for n in range(3)]
    return [
        _tar(
            "too many bytes",
            limit("total-bytes"),
            "a full disk",
            T(data=zeros),
            T(name=b"b", data=zeros),
            limits={"total_bytes": 3 << 20},
        ),
        _tar(
            "too many bytes by hard links",
            limit("total-bytes"),
            "each of them is a copy",
            T(data=zeros),
            *copies,
            limits={"total_bytes": 5 << 20},
        ),
        _tar("too large a file", limit("file-bytes"), "a full disk", T(data=zeros), limits={"file_bytes": 1 << 20}),
        _tar(
            "too many entries",
            limit("entries"),
            "no inode left",
            *(T(name=b"%d" % n) for n in range(11)),
            limits={"entries": 10},
        ),
        _tar("too deep", limit("depth"), "tools that recurse fall over", pax({"path": "d/" * 64 + "a"}), A),
        _tar(
            "too long a name",
            limit("path-bytes"),
            "longer than any path",
            pax({"path": "n/" * 2100 + "a"}),
            A,
            limits={"depth": 9999},
        ),
        _tar("too large a header", limit("metadata"), "memory for headers", pax({"comment": "c" * (2 << 20)}), A),
        _tar("too many headers", limit("metadata"), "memory for headers", *[pax({"comment": "c"}, b"g")] * 9, A),
    ]


# --------------------------------------------------------------------------------------------- codecs


def _packed(
    name: str, kind: str, code: str, why: str, build: Callable[[], bytes], *, disputed: bool = False, **limits: int
) -> Case:
    return Case(name=name, kind=kind, build=build, code=code, why=why, limits=limits, disputed=disputed)


def _codec_cases() -> list[Case]:
    whole = tar_bytes(A)
    cases: list[Case] = []
    for kind, pack in PACK.items():
        if kind == "tar":
            continue
        cases += [
            _packed("cut off", kind, CORRUPT, "the rest is missing", partial(_cut, pack, whole)),
            _packed(
                "data behind the compressed",
                kind,
                CORRUPT,
                "ignored by some, an error for others",
                partial(_followed, pack, whole, b"hidden"),
            ),
            _packed(
                "a second tar in a second member",
                kind,
                AMBIGUOUS,
                "some stop after the first member",
                partial(_followed, pack, whole, pack(tar_bytes(T(name=b"hidden")))),
            ),
            _packed("not compressed", kind, CORRUPT, "named as what it is not", partial(bytes, whole)),
            _packed("too high a ratio", kind, limit("ratio"), "a bomb", partial(_bomb, pack), ratio=20),
        ]
    gz = gzip.compress(whole, mtime=0)
    return [
        *cases,
        _packed(
            "wrong CRC",
            "tar.gz",
            CORRUPT,
            "changed content",
            lambda: gz[:-8] + bytes([gz[-8] ^ 1]) + gz[-7:],
            disputed=True,
        ),
        _packed("wrong length", "tar.gz", CORRUPT, "changed content", lambda: gz[:-1] + b"\x01", disputed=True),
        _packed("no trailer", "tar.gz", CORRUPT, "the standard library accepts it", lambda: gz[:-8], disputed=True),
        _packed(
            "reserved flags",
            "tar.gz",
            CORRUPT,
            "an error for zlib, ignored by others",
            lambda: gz[:3] + b"\xe0" + gz[4:],
            disputed=True,
        ),
        _packed("a dictionary of a gigabyte", "tar.xz", limit("memory"), "memory for the window", huge_xz),
        _packed("a window of two gigabytes", "tar.zst", limit("memory"), "memory for the window", huge_zstd),
    ]


def _cut(pack: Callable[[bytes], bytes], data: bytes) -> bytes:
    return pack(data)[:-5]


def _followed(pack: Callable[[bytes], bytes], data: bytes, more: bytes) -> bytes:
    return pack(data) + more


def _bomb(pack: Callable[[bytes], bytes]) -> bytes:
    zeros = T(name=b"zeros", data=bytes(72 << 20))
    return pack(tar_bytes(zeros))


def huge_xz() -> bytes:
    """A good xz whose header asks for a dictionary of 1 GiB, with the header's own checksum made right."""
    packed = bytearray(lzma.compress(tar_bytes(A)))
    size = (packed[12] + 1) * 4
    at = packed.index(b"\x21\x01", 12, 12 + size) + 2
    packed[at] = 36
    packed[12 + size - 4 : 12 + size] = zlib.crc32(packed[12 : 12 + size - 4]).to_bytes(4, "little")
    return bytes(packed)


def huge_zstd() -> bytes:
    """A frame that announces a window of 2 GiB, and then one raw block."""
    body = tar_bytes(A)
    block = (len(body) << 3 | 1).to_bytes(3, "little") + body
    return b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(31 - 10) << 3]) + block


# --------------------------------------------------------------------------------------------- accepted


def _fine(name: str, tree: Wanted, why: str, *entries: T, end: bytes = END) -> Case:
    return Case(name=name, kind="tar", build=partial(tar_bytes, *entries, end=end), tree=tree, why=why)


def _accepted() -> list[Case]:
    long = "d" * 90 + "/" + "n" * 120
    everything: dict[str, Any] = {"type": b"5"}
    return [
        _fine("plain", {"a.tf": TEXT, "b.tf": b"b"}, "what everybody writes", A, B),
        _fine("GNU", {"a.tf": TEXT}, "GNU's own magic", replace(A, magic=b"ustar  \0")),
        _fine("Unix V7", {"a.tf": TEXT}, "no magic at all", replace(A, magic=b"", type=b"\0")),
        _fine("padded", {"a.tf": TEXT}, "tapes have blocks of 10 KiB", A, end=bytes(10240)),
        _fine("prefix", {"deep": None, "deep/a.tf": TEXT}, "how ustar writes long names", replace(A, prefix=b"deep")),
        _fine("PAX path", {long[:90]: None, long: TEXT}, "how PAX writes long names", pax({"path": long}), A),
        _fine("GNU long name", {long[:90]: None, long: TEXT}, "how GNU writes them", _long(long.encode()), A),
        _fine("commit id", {"a.tf": TEXT}, "git archive puts it there", pax({"comment": "5c1f"}, b"g"), A),
        _fine("PAX size that agrees", {"a.tf": TEXT}, "redundant", pax({"size": str(len(TEXT))}), A),
        _fine(
            "extended attributes",
            {"a.tf": TEXT},
            "never applied",
            pax({"SCHILY.xattr.security.capability": "x", "uid": "0", "mtime": "9e9"}),
            A,
        ),
        _fine(
            "the root as a directory",
            {"a.tf": TEXT},
            "tar cf - . writes it",
            T(name=b"./", **everything),
            replace(A, name=b"./a.tf"),
        ),
        _fine(
            "modes",
            {"run": Executable(b""), "d": None, "none": b""},
            "no setuid, no sticky",
            T(name=b"run", mode=0o6755),
            T(name=b"d/", mode=0o7777, **everything),
            T(name=b"none", mode=0),
        ),
        _fine(
            "links",
            {"d": None, "d/up": "../a.tf", "a.tf": TEXT, "l": "d"},
            "relative, and they stay",
            _link(b"d/up", b"../a.tf"),
            _link(b"l", b"d"),
            A,
        ),
        _fine("hard link", {"a.tf": TEXT, "h": TEXT}, "a copy", A, _hard(b"h", b"a.tf")),
        _fine(
            "hard link to a hard link",
            {"a.tf": TEXT, "h": TEXT, "i": TEXT},
            "a copy of a copy",
            A,
            _hard(b"h", b"./a.tf"),
            _hard(b"i", b"h"),
        ),
        _fine("Unicode", {"\xfc-\u4e2d": b""}, "UTF-8, as all write it", T(name="\xfc-\u4e2d".encode())),
        _fine("no member", {}, "a repository without files"),
    ]


def tar_cases() -> list[Case]:
    """Every tar in every codec, and what only a codec can do wrong."""
    plain = [*_names(), *_headers(), *_ends(), *_links_and_devices(), *_limits(), *_accepted()]
    return [*(_in_codec(case, kind) for kind in PACK for case in plain), *_codec_cases()]


def _in_codec(case: Case, kind: str) -> Case:
    build, pack = case.build, PACK[kind]
    # Which codecs the other readers know differs from machine to machine: their opinion is asked of the plain tar.
    return replace(case, kind=kind, build=lambda: pack(build()), disputed=case.disputed and kind == "tar")
