from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import threading
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import cast

import pytest

from getmodules.api.model import Archive, Kind, Member
from getmodules.archive.tar import read_tar
from getmodules.errors import (
    CorruptArchiveError,
    GetModulesError,
    LimitExceededError,
    UnsafeContentError,
    UnsupportedContentError,
)
from tests.support.archives import END, T, octal, pax, read, refused, tar_bytes, unpack
from tests.support.contexts import a_context
from tests.support.fakes import installed_files

TEXT = b'variable "x" {}\n' * 40
AMBIGUOUS = "unsafe-content/ambiguous-archive"
LONG = "d" * 90 + "/" + "e" * 200
A = T(name=b"a.tf", data=TEXT)
#: A header whose bytes add up to more than adler32 can tell apart.
HIGH = {0: b"\xff" * 100, 157: b"\xff" * 100, 265: b"\xff" * 64, 345: b"\xff" * 155}
HIGH_SUM = int(T(overrule=HIGH).build()[148:154], 8)


def content(tmp_path: Path) -> dict[str, bytes]:
    return installed_files(tmp_path / "0")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        pytest.param(tar_bytes(A), "a.tf", id="ustar"),
        pytest.param(tar_bytes(T(name=b"a.tf", data=TEXT, magic=b"ustar  \0")), "a.tf", id="GNU"),
        pytest.param(tar_bytes(T(name=b"a.tf", data=TEXT, magic=b"", type=b"\0")), "a.tf", id="Unix V7"),
        pytest.param(tar_bytes(T(name=b"a.tf", data=TEXT, type=b"7")), "a.tf", id="contiguous"),
        pytest.param(tar_bytes(T(name=b"a.tf", data=TEXT, prefix=b"deep/er")), "deep/er/a.tf", id="prefix"),
        pytest.param(tar_bytes(A, end=bytes(10240)), "a.tf", id="padded to a tape's block"),
        pytest.param(tar_bytes(pax({"path": LONG, "mtime": "1.5"}), A), LONG, id="PAX path"),
        pytest.param(tar_bytes(pax({"comment": "5c1f"}, b"g"), A), "a.tf", id="commit id of git archive"),
        pytest.param(tar_bytes(pax({"size": str(len(TEXT))}), A), "a.tf", id="PAX size that agrees"),
        pytest.param(tar_bytes(T(type=b"L", data=LONG.encode() + b"\0"), A), LONG, id="GNU long name"),
        pytest.param(
            tar_bytes(T(name=b"a.tf", data=TEXT, size=b"\x80" + len(TEXT).to_bytes(11, "big"))), "a.tf", id="base-256"
        ),
        pytest.param(tar_bytes(T(name=b"a.tf", data=TEXT, size=b"%11o " % len(TEXT))), "a.tf", id="blanks in front"),
    ],
)
def test_what_tools_write_is_read(data: bytes, name: str, tmp_path: Path) -> None:
    unpack(data, "tar", tmp_path)
    assert content(tmp_path) == {name: TEXT}


@pytest.mark.parametrize(
    ("entry", "kind", "target"),
    [
        pytest.param(T(type=b"5", name=b"d/"), Kind.DIRECTORY, "", id="directory"),
        pytest.param(T(type=b"0", name=b"d/"), Kind.DIRECTORY, "", id="old directory"),
        pytest.param(T(type=b"2", target=b"b"), Kind.SYMLINK, "b", id="link"),
        pytest.param(T(type=b"1", target=b"b"), Kind.HARDLINK, "b", id="hard link"),
        pytest.param(T(type=b"3"), Kind.SPECIAL, "", id="character device"),
        pytest.param(T(type=b"4"), Kind.SPECIAL, "", id="block device"),
        pytest.param(T(type=b"6"), Kind.SPECIAL, "", id="pipe"),
    ],
)
def test_kinds(entry: T, kind: Kind, target: str, tmp_path: Path) -> None:
    (member,) = read(tar_bytes(entry), "tar", tmp_path)
    assert (member.kind, member.target) == (kind, target)


def test_long_targets(tmp_path: Path) -> None:
    target = "x" * 300
    for header in (pax({"linkpath": target}), T(type=b"K", data=target.encode() + b"\0")):
        (member,) = read(tar_bytes(header, T(type=b"2")), "tar", tmp_path)
        assert member.target == target


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_only_the_owners_right_to_run_is_kept(mode: int, tmp_path: Path) -> None:
    (tree,) = unpack(tar_bytes(T(mode=mode | 0o4022)), "tar", tmp_path)
    assert tree.entries[0].executable is (mode == 0o755)


BROKEN = CorruptArchiveError, "corrupt-archive"
STRANGE = UnsafeContentError, AMBIGUOUS
UNSUPPORTED = UnsupportedContentError, "unsupported-content"
HUGE = LimitExceededError, "limit-exceeded/metadata"


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        pytest.param(b"", BROKEN, id="nothing"),
        pytest.param(b"hello", BROKEN, id="short text"),
        pytest.param(A.build(), BROKEN, id="no end marker"),
        pytest.param(A.build() + bytes(512), BROKEN, id="half an end marker"),
        pytest.param(A.build() + bytes(1000), BROKEN, id="end marker cut off"),
        pytest.param(A.build()[:-512] + END[:100], BROKEN, id="cut off in a file"),
        pytest.param(A.build() + bytes(512) + A.build() + END, BROKEN, id="empty block in the middle"),
        pytest.param(tar_bytes(A) + b"x", STRANGE, id="data behind"),
        pytest.param(tar_bytes(A) + tar_bytes(T(name=b"b")), STRANGE, id="a second tar behind"),
        pytest.param(tar_bytes(T(checksum=b"000000\0 ")), BROKEN, id="wrong checksum"),
        pytest.param(tar_bytes(A, T(checksum=b"000000\0 ")), BROKEN, id="wrong checksum of the second header"),
        pytest.param(
            tar_bytes(A, T(overrule=HIGH, checksum=b"%06o\0 " % (HIGH_SUM - 65_521))),
            BROKEN,
            id="a remainder",
        ),
        pytest.param(tar_bytes(T(magic=b"strange\0")), BROKEN, id="unknown magic"),
        pytest.param(tar_bytes(T(size=b"\xff" * 12)), BROKEN, id="negative size"),
        pytest.param(tar_bytes(T(size=b"\xbf" + b"\xff" * 11)), BROKEN, id="absurd size"),
        pytest.param(tar_bytes(T(size=b"-0000000001\0")), BROKEN, id="minus"),
        pytest.param(tar_bytes(T(size=b"0_000000001\0")), BROKEN, id="underscore"),
        pytest.param(tar_bytes(T(size=b"00000000009\0")), BROKEN, id="not octal"),
        pytest.param(tar_bytes(T(size=octal(8**10, 12))), BROKEN, id="more than there is"),
        pytest.param(tar_bytes(T(overrule={100: b"garbage!"})), BROKEN, id="mode is no number"),
        pytest.param(tar_bytes(T(type=b"S")), UNSUPPORTED, id="sparse"),
        pytest.param(tar_bytes(T(type=b"S", data=b"x" * 512)), UNSUPPORTED, id="sparse, with content"),
        pytest.param(tar_bytes(pax({"GNU.sparse.major": "1"}), A), UNSUPPORTED, id="PAX sparse"),
        pytest.param(tar_bytes(pax({"hdrcharset": "EBCDIC"}), A), UNSUPPORTED, id="charset"),
        *(
            pytest.param(tar_bytes(T(type=t)), UNSUPPORTED, id=f"type {t!r}")
            for t in (b"M", b"V", b"D", b"N", b"X", b"\x80")
        ),
        pytest.param(tar_bytes(T(type=b"2", target=b"b", data=b"x")), STRANGE, id="link with a body"),
        pytest.param(tar_bytes(T(type=b"1", target=b"b", data=b"x")), STRANGE, id="hard link with a body"),
        pytest.param(tar_bytes(T(type=b"5", data=b"x")), STRANGE, id="directory with a body"),
        pytest.param(tar_bytes(T(name=b"d/", data=b"x")), STRANGE, id="old directory with a body"),
        pytest.param(tar_bytes(pax({"size": "5"}), A), STRANGE, id="PAX size disagrees"),
        pytest.param(tar_bytes(pax({"size": str(9 << 30)}), A), STRANGE, id="huge PAX size disagrees"),
        pytest.param(tar_bytes(pax({"size": "-5"}), A), BROKEN, id="PAX size is negative"),
        pytest.param(tar_bytes(pax({"path": "b"}, b"g"), A), STRANGE, id="a global path"),
        pytest.param(tar_bytes(pax({"path": ""}), A), STRANGE, id="an empty PAX path"),
        pytest.param(tar_bytes(pax({"path": "b"}), pax({"path": "c"}), A), STRANGE, id="two PAX headers"),
        pytest.param(tar_bytes(T(type=b"L", data=b"b"), T(type=b"L", data=b"c"), A), STRANGE, id="two long names"),
        pytest.param(tar_bytes(T(type=b"L", data=b"b"), pax({"path": "c"}), A), STRANGE, id="GNU and PAX name"),
        pytest.param(tar_bytes(T(type=b"L", data=b"b\0c"), A), STRANGE, id="something behind a long name"),
        pytest.param(tar_bytes(pax(b"9 path=b\n9 path=c\n"), A), STRANGE, id="two paths in one PAX header"),
        pytest.param(tar_bytes(pax(b"99 path=b\n"), A), BROKEN, id="PAX length too long"),
        pytest.param(tar_bytes(pax(b"8 path=b\n"), A), BROKEN, id="PAX length too short"),
        pytest.param(tar_bytes(pax(b"path=b\n"), A), BROKEN, id="no PAX length"),
        pytest.param(tar_bytes(pax(b"0 path=b\n"), A), BROKEN, id="PAX length zero"),
        pytest.param(tar_bytes(pax({"path": "b"})), BROKEN, id="header without member"),
        pytest.param(tar_bytes(*[pax({"comment": "b"}, b"g")] * 20, A), HUGE, id="chain of headers"),
        pytest.param(tar_bytes(pax({"comment": "b" * (2 << 20)}), A), HUGE, id="huge header"),
        pytest.param(tar_bytes(pax({"path": "a\0b"}), A), (UnsafeContentError, "unsafe-content/bad-name"), id="NUL"),
        pytest.param(tar_bytes(T(name=b"\xff")), (UnsafeContentError, "unsafe-content/bad-name"), id="not UTF-8"),
        pytest.param(tar_bytes(T(name=b"../a")), (UnsafeContentError, "unsafe-content/parent-path"), id="parent"),
        pytest.param(tar_bytes(T(type=b"6")), (UnsafeContentError, "unsafe-content/special-file"), id="pipe"),
        pytest.param(tar_bytes(A, A), (UnsafeContentError, "unsafe-content/duplicate-name"), id="twice"),
    ],
)
def test_what_is_broken_or_ambiguous_is_refused(
    data: bytes, verdict: tuple[type[GetModulesError], str], tmp_path: Path
) -> None:
    refused(*verdict, data, "tar", tmp_path)


def test_an_empty_tar_is_an_empty_package(tmp_path: Path) -> None:
    assert unpack(bytes(10240), "tar", tmp_path)[0].entries == ()


def test_what_is_not_wanted_is_read_to_the_end(tmp_path: Path) -> None:
    """Its checksum is that of the whole stream."""
    big = T(name=b"other/big", data=bytes(range(256)) * 4096)
    data = bytearray(gzip.compress(tar_bytes(T(name=b"mine/a", data=TEXT), big)))
    (tree,) = unpack(bytes(data), "tar.gz", tmp_path, "mine")
    assert [entry.path for entry in tree.entries] == ["a"]
    data[-5] ^= 1
    (tmp_path / "0" / "a").unlink()
    (tmp_path / "0").rmdir()
    refused(CorruptArchiveError, "corrupt-archive", bytes(data), "tar.gz", tmp_path, "mine")


@pytest.mark.parametrize(
    ("kind", "pack"), [("tar.gz", gzip.compress), ("tar.bz2", bz2.compress), ("tar.xz", lzma.compress)]
)
def test_codecs_compose(kind: str, pack: object, tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for index in range(40):
            info = tarfile.TarInfo(f"d/{index}")
            # Not compressible, so that the archive is large enough for a thread of its own.
            data = b"".join(hash((index, n)).to_bytes(8, "big", signed=True) for n in range(1_500))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    packed = pack(out.getvalue())  # type: ignore[operator]
    (tree,) = unpack(packed, kind, tmp_path)
    assert tree.files == 40
    for index, wrong in enumerate((packed[:-1], packed + b"x", packed[:50_000])):
        directory = tmp_path / f"wrong{index}"
        directory.mkdir()
        refused(CorruptArchiveError, "corrupt-archive", wrong, kind, directory)


def test_another_format_is_named(tmp_path: Path) -> None:
    error = refused(CorruptArchiveError, "corrupt-archive", b"PK\x03\x04" + bytes(600), "tar", tmp_path)
    assert error.message == "this looks like zip, not tar"
    (tmp_path / "0").rmdir()
    error = refused(CorruptArchiveError, "corrupt-archive", tar_bytes(A), "tar.gz", tmp_path)
    assert error.message == "this looks like tar, not gzip"


# ------------------------------------------------------------------------------------------------- the thread


NAME = "getmodules-decompress"


def _large(size: int = 3 << 20) -> bytes:
    return random.Random(7).randbytes(size)  # it stays as large when it is compressed


def _reading(tmp_path: Path, data: bytes) -> Generator[Member]:
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(data)
    archive = Archive(path=path, size=len(data), digests={})
    return cast("Generator[Member]", read_tar(archive, a_context(), "gzip"))


def _threads() -> int:
    return sum(thread.name == NAME for thread in threading.enumerate())


def _contents(members: Iterable[Member]) -> list[bytes]:
    return [b"".join(member.open()) for member in members]


@pytest.mark.parametrize(("size", "threads"), [(1_000, 0), (3 << 20, 1)], ids=["small", "large"])
def test_a_large_one_is_decompressed_by_a_second_thread(tmp_path: Path, size: int, threads: int) -> None:
    data = _large(size)
    members = _reading(tmp_path, gzip.compress(tar_bytes(T(name=b"a", data=data), T(name=b"b", data=b"end")), 1))
    next(members)
    assert _threads() == threads
    assert _contents(members) == [b"end"]
    assert _threads() == 0


def test_one_that_is_not_read_to_its_end_leaves_no_thread(tmp_path: Path) -> None:
    members = _reading(tmp_path, gzip.compress(tar_bytes(T(name=b"a", data=_large()), T(name=b"b", data=b"end")), 1))
    next(members)
    assert _threads() == 1
    members.close()
    assert _threads() == 0


def test_one_that_breaks_off_says_so_through_the_thread(tmp_path: Path) -> None:
    whole = gzip.compress(tar_bytes(T(name=b"a", data=_large())), 1)
    with pytest.raises(CorruptArchiveError):
        _contents(_reading(tmp_path, whole[: len(whole) // 2]))
    assert _threads() == 0
