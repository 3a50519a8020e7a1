from __future__ import annotations

import io
import stat
import struct
import sys
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from getmodules.api.model import Kind
from getmodules.errors import (
    CorruptArchiveError,
    GetModulesError,
    LimitExceededError,
    UnsafeContentError,
    UnsupportedContentError,
)
from tests.support.archives import Z, extra_field, raw_deflate, read, refused, streamed, unicode_path, unpack, zip_bytes
from tests.support.fakes import installed_files

TEXT = b'variable "x" {}\n' * 40
LARGE = b"".join(b"%d\n" % n for n in range(400_000))
AMBIGUOUS = "unsafe-content/ambiguous-archive"
ENTRY = Z(data=TEXT, method=8)


@pytest.fixture(params=["fast", "plain"])
def zlib_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With isal, which is an extra, and without."""
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "isal", None)
    else:
        pytest.importorskip("isal")
    return str(request.param)


def content(tmp_path: Path) -> dict[str, bytes]:
    return installed_files(tmp_path / "0")


ZIP64 = extra_field(1, struct.pack("<2Q", len(TEXT), len(raw_deflate(TEXT))))


@pytest.mark.usefixtures("zlib_kind")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(zip_bytes(ENTRY), id="deflated"),
        pytest.param(zip_bytes(Z(data=TEXT)), id="stored"),
        pytest.param(zip_bytes(ENTRY, comment=b"a commit's id"), id="comment"),
        pytest.param(zip_bytes(streamed(ENTRY)), id="data descriptor"),
        pytest.param(zip_bytes(streamed(ENTRY, signed=False)), id="data descriptor without signature"),
        pytest.param(zip_bytes(streamed(ENTRY, wide=True)), id="zip64 data descriptor"),
        pytest.param(zip_bytes(streamed(ENTRY, wide=True, signed=False)), id="zip64 descriptor without signature"),
        pytest.param(
            zip_bytes(
                replace(
                    ENTRY,
                    local={"size": 0xFFFFFFFF, "packed": 0xFFFFFFFF},
                    central={"size": 0xFFFFFFFF, "packed": 0xFFFFFFFF},
                    extra=ZIP64,
                    local_extra=ZIP64,
                )
            ),
            id="zip64 sizes",
        ),
        pytest.param(zip_bytes(replace(ENTRY, extra=extra_field(0x5455, b"\x01\0\0\0\0"))), id="times"),
        pytest.param(zip_bytes(replace(ENTRY, extra=b"\0\0")), id="padding after the extra fields"),
        pytest.param(zip_bytes(replace(ENTRY, name=b"./a.tf")), id="dot in front"),
        pytest.param(zip_bytes(replace(ENTRY, host=0)), id="made on DOS"),
        pytest.param(zip_bytes(replace(ENTRY, extra=b"\x01\0\0\0")), id="an empty zip64 field"),
        pytest.param(zip_bytes(ENTRY).replace(b"\0\0!\0", b"\1\0!\0", 1), id="another time in the local header"),
    ],
)
def test_what_tools_write_is_read(data: bytes, tmp_path: Path) -> None:
    (tree,) = unpack(data, "zip", tmp_path)
    assert content(tmp_path) == {"a.tf": TEXT}
    assert [(entry.path, entry.size) for entry in tree.entries] == [("a.tf", len(TEXT))]


@pytest.mark.usefixtures("zlib_kind")
@pytest.mark.parametrize("method", [0, 8, 12])
def test_large_entries_are_streamed(method: int, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("large", LARGE)
        archive.writestr("small", TEXT)
    unpack(out.getvalue(), "zip", tmp_path)
    assert content(tmp_path) == {"large": LARGE, "small": TEXT}


def test_a_zstd_entry_is_read(tmp_path: Path) -> None:
    from getmodules.archive.codecs import codec

    zstd = sys.modules[codec("zstd").errors[0].__module__.partition(".")[0] + ".zstd"]
    unpack(zip_bytes(Z(data=TEXT, method=93, stored=zstd.compress(TEXT))), "zip", tmp_path)
    assert content(tmp_path) == {"a.tf": TEXT}


def test_entries_come_in_the_order_of_their_data(tmp_path: Path) -> None:
    one, two = Z(name=b"one"), Z(name=b"two", data=b"second")
    data = bytearray(zip_bytes(one, two))
    start = data.index(b"PK\x01\x02")
    first, second = data[start : start + 49], data[start + 49 : start + 98]
    data[start : start + 98] = second + first
    assert [member.name for member in read(bytes(data), "zip", tmp_path)] == ["one", "two"]


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        pytest.param(Z(name=b"d/", data=b"", mode=stat.S_IFDIR | 0o755), Kind.DIRECTORY, id="directory"),
        pytest.param(Z(name=b"d/", data=b"", mode=0), Kind.DIRECTORY, id="directory by its slash"),
        pytest.param(Z(name=b"d/", data=b"", host=0, dos=16), Kind.DIRECTORY, id="DOS directory"),
        pytest.param(Z(mode=stat.S_IFLNK | 0o777), Kind.SYMLINK, id="link"),
        pytest.param(Z(mode=stat.S_IFLNK | 0o777, host=0), Kind.FILE, id="a link's mode on DOS means nothing"),
        pytest.param(Z(mode=stat.S_IFIFO), Kind.SPECIAL, id="pipe"),
        pytest.param(Z(mode=stat.S_IFCHR), Kind.SPECIAL, id="device"),
        pytest.param(Z(mode=0), Kind.FILE, id="no mode"),
    ],
)
def test_kinds(entry: Z, kind: Kind, tmp_path: Path) -> None:
    (member,) = read(zip_bytes(entry), "zip", tmp_path)
    assert member.kind is kind
    assert member.target == ("hello" if kind is Kind.SYMLINK else "")


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        pytest.param(Z(name="ü".encode(), flags=0x800, host=0), "ü", id="UTF-8 flag"),
        pytest.param(Z(name="ü".encode(), host=3), "ü", id="made on Unix"),
        pytest.param(Z(name="ü".encode(), host=19), "ü", id="made on macOS"),
        pytest.param(Z(name=b"\x81", host=0, extra=unicode_path(b"\x81", "ü")), "ü", id="Info-ZIP field"),
    ],
)
def test_names(entry: Z, name: str, tmp_path: Path) -> None:
    (member,) = read(zip_bytes(entry), "zip", tmp_path)
    assert member.name == name


def test_an_empty_zip_is_an_empty_package(tmp_path: Path) -> None:
    (tree,) = unpack(zip_bytes(), "zip", tmp_path)
    assert tree.entries == ()


A, B = Z(name=b"a"), Z(name=b"b", data=b"other")
WHOLE = zip_bytes(A, B)
INNER = zip_bytes(A)


@pytest.mark.usefixtures("zlib_kind")
@pytest.mark.parametrize(
    ("data", "kind", "code"),
    [
        pytest.param(b"", CorruptArchiveError, "corrupt-archive", id="nothing"),
        pytest.param(b"<html>sign in</html>", CorruptArchiveError, "corrupt-archive", id="a web page"),
        pytest.param(WHOLE + b"x", UnsafeContentError, AMBIGUOUS, id="data behind"),
        pytest.param(b"x" + WHOLE, UnsafeContentError, AMBIGUOUS, id="data in front, offsets not moved"),
        pytest.param(zip_bytes(A, prefix=b"MZ"), UnsafeContentError, AMBIGUOUS, id="data in front, offsets moved"),
        pytest.param(zip_bytes(A, replace(B, before=b"hidden")), UnsafeContentError, AMBIGUOUS, id="gap"),
        pytest.param(zip_bytes(A, gap=b"hidden"), UnsafeContentError, AMBIGUOUS, id="gap before the end record"),
        pytest.param(zip_bytes(A, comment=INNER), UnsafeContentError, AMBIGUOUS, id="end record in the comment"),
        pytest.param(
            zip_bytes(A, comment=b"PK\x05\x06" + bytes(18)), UnsafeContentError, AMBIGUOUS, id="bare end in comment"
        ),
        pytest.param(
            zip_bytes(A, comment=b"PK\x05\x06..."), UnsafeContentError, AMBIGUOUS, id="signature in the comment"
        ),
        pytest.param(zip_bytes(A, replace(B, central={"offset": 0})), UnsafeContentError, AMBIGUOUS, id="same data"),
        pytest.param(
            zip_bytes(replace(A, local={"packed": 9}, central={"packed": 9})),
            CorruptArchiveError,
            "corrupt-archive",
            id="data reaches into the directory",
        ),
        pytest.param(zip_bytes(replace(A, local={"name": b"b"})), UnsafeContentError, AMBIGUOUS, id="two names"),
        pytest.param(zip_bytes(replace(A, local={"crc": 1})), UnsafeContentError, AMBIGUOUS, id="two checksums"),
        pytest.param(zip_bytes(replace(A, local={"size": 4})), UnsafeContentError, AMBIGUOUS, id="two sizes"),
        pytest.param(zip_bytes(replace(A, local={"packed": 4})), UnsafeContentError, AMBIGUOUS, id="two packed sizes"),
        pytest.param(zip_bytes(replace(A, local={"method": 8})), UnsafeContentError, AMBIGUOUS, id="two methods"),
        pytest.param(zip_bytes(replace(A, local={"flags": 1})), UnsafeContentError, AMBIGUOUS, id="two flags"),
        pytest.param(
            zip_bytes(Z(name="ü".encode(), local={"flags": 0x800})), UnsafeContentError, AMBIGUOUS, id="two charsets"
        ),
        pytest.param(
            zip_bytes(streamed(A, crc=1)), UnsafeContentError, AMBIGUOUS, id="descriptor with another checksum"
        ),
        pytest.param(zip_bytes(streamed(A, size=9)), UnsafeContentError, AMBIGUOUS, id="descriptor with another size"),
        pytest.param(
            zip_bytes(replace(streamed(A), descriptor=b"")), UnsafeContentError, AMBIGUOUS, id="descriptor missing"
        ),
        pytest.param(
            zip_bytes(replace(A, extra=unicode_path(b"a", "b"))), UnsafeContentError, AMBIGUOUS, id="Unicode path lies"
        ),
        pytest.param(
            zip_bytes(replace(A, extra=unicode_path(b"z", "a"))), UnsafeContentError, AMBIGUOUS, id="Unicode path stale"
        ),
        pytest.param(
            zip_bytes(replace(A, local_extra=unicode_path(b"a", "b"))),
            UnsafeContentError,
            AMBIGUOUS,
            id="Unicode path in the local header lies",
        ),
        pytest.param(
            zip_bytes(replace(A, extra=extra_field(1, struct.pack("<Q", 77)))),
            UnsafeContentError,
            AMBIGUOUS,
            id="zip64 disagrees",
        ),
        pytest.param(
            zip_bytes(replace(A, local_extra=extra_field(1, struct.pack("<2Q", 77, 5)))),
            UnsafeContentError,
            AMBIGUOUS,
            id="zip64 of the local header disagrees",
        ),
        pytest.param(
            zip_bytes(Z(name=b"d/", mode=stat.S_IFDIR)), UnsafeContentError, AMBIGUOUS, id="directory with a body"
        ),
        pytest.param(
            zip_bytes(Z(name=b"d", mode=stat.S_IFDIR)), UnsafeContentError, AMBIGUOUS, id="directory without a slash"
        ),
        pytest.param(zip_bytes(Z(name=b"d/", mode=stat.S_IFLNK)), UnsafeContentError, AMBIGUOUS, id="link and slash"),
        pytest.param(
            zip_bytes(Z(name=b"d", host=0, dos=16)), UnsafeContentError, AMBIGUOUS, id="DOS directory, no slash"
        ),
        pytest.param(
            zip_bytes(Z(name=b"\x81", host=0)), UnsafeContentError, "unsafe-content/bad-name", id="unknown charset"
        ),
        pytest.param(zip_bytes(Z(name=b"\xff")), UnsafeContentError, "unsafe-content/bad-name", id="not UTF-8"),
        pytest.param(zip_bytes(Z(name=b"a\0b")), UnsafeContentError, "unsafe-content/bad-name", id="NUL"),
        pytest.param(zip_bytes(Z(name=b"a\\b")), UnsafeContentError, "unsafe-content/bad-name", id="backslash"),
        pytest.param(zip_bytes(Z(name=b"")), UnsafeContentError, "unsafe-content/bad-name", id="no name"),
        pytest.param(zip_bytes(Z(name=b"../a")), UnsafeContentError, "unsafe-content/parent-path", id="parent"),
        pytest.param(zip_bytes(Z(name=b"/a")), UnsafeContentError, "unsafe-content/absolute-path", id="absolute"),
        pytest.param(zip_bytes(Z(name=b"C:a")), UnsafeContentError, "unsafe-content/absolute-path", id="drive"),
        pytest.param(zip_bytes(A, A), UnsafeContentError, "unsafe-content/duplicate-name", id="duplicate"),
        pytest.param(
            zip_bytes(A, replace(A, name=b"A")), UnsafeContentError, "unsafe-content/case-collision", id="case"
        ),
        pytest.param(
            zip_bytes(A, replace(B, name=b"a/b")),
            UnsafeContentError,
            "unsafe-content/file-and-directory",
            id="file and directory",
        ),
        pytest.param(
            zip_bytes(Z(mode=stat.S_IFIFO)), UnsafeContentError, "unsafe-content/special-file", id="special file"
        ),
        pytest.param(
            zip_bytes(replace(A, local={"crc": 1}, central={"crc": 1})),
            CorruptArchiveError,
            "corrupt-archive",
            id="wrong checksum",
        ),
        pytest.param(
            zip_bytes(replace(ENTRY, stored=raw_deflate(TEXT)[:-3])), CorruptArchiveError, "corrupt-archive", id="short"
        ),
        pytest.param(
            zip_bytes(replace(ENTRY, stored=raw_deflate(TEXT) + b"x")),
            CorruptArchiveError,
            "corrupt-archive",
            id="rest",
        ),
        pytest.param(
            zip_bytes(replace(ENTRY, local={"size": 5}, central={"size": 5})),
            CorruptArchiveError,
            "corrupt-archive",
            id="more than announced",
        ),
        pytest.param(
            zip_bytes(replace(ENTRY, local={"size": 9999}, central={"size": 9999})),
            CorruptArchiveError,
            "corrupt-archive",
            id="less than announced",
        ),
        pytest.param(
            zip_bytes(replace(ENTRY, stored=b"\xff" * 20)), CorruptArchiveError, "corrupt-archive", id="no deflate"
        ),
        pytest.param(
            zip_bytes(Z(method=8, stored=raw_deflate(LARGE[:-1]), data=LARGE)),
            CorruptArchiveError,
            "corrupt-archive",
            id="large and shorter",
        ),
        pytest.param(
            zip_bytes(Z(method=8, stored=raw_deflate(LARGE), data=LARGE[:-1])),
            CorruptArchiveError,
            "corrupt-archive",
            id="large and longer",
        ),
        pytest.param(
            zip_bytes(Z(method=8, stored=raw_deflate(LARGE) + b"x", data=LARGE)),
            CorruptArchiveError,
            "corrupt-archive",
            id="large with a rest",
        ),
        pytest.param(
            zip_bytes(Z(method=8, data=LARGE, local={"crc": 1}, central={"crc": 1})),
            CorruptArchiveError,
            "corrupt-archive",
            id="large with a wrong checksum",
        ),
        *(
            pytest.param(
                zip_bytes(Z(method=method)), UnsupportedContentError, "unsupported-content", id=f"method {method}"
            )
            for method in (1, 6, 9, 14, 95, 98, 99, 1234)
        ),
        pytest.param(zip_bytes(Z(flags=1)), UnsupportedContentError, "unsupported-content", id="encrypted"),
        pytest.param(zip_bytes(Z(flags=0x41)), UnsupportedContentError, "unsupported-content", id="strong encryption"),
        pytest.param(zip_bytes(Z(flags=0x20)), UnsupportedContentError, "unsupported-content", id="patch"),
        pytest.param(
            zip_bytes(Z(central={"disk": 1})), UnsupportedContentError, "unsupported-content", id="another disk"
        ),
        pytest.param(zip_bytes(A, end={"disk": 1}), UnsupportedContentError, "unsupported-content", id="split"),
        pytest.param(
            zip_bytes(A, end={"count": 2, "here": 2}), CorruptArchiveError, "corrupt-archive", id="too few entries"
        ),
        pytest.param(
            zip_bytes(A, B, end={"count": 1, "here": 1}), CorruptArchiveError, "corrupt-archive", id="too many entries"
        ),
    ],
)
def test_what_is_broken_or_ambiguous_is_refused(
    data: bytes, kind: type[GetModulesError], code: str, tmp_path: Path
) -> None:
    refused(kind, code, data, "zip", tmp_path)


def test_a_lie_about_the_size_costs_nothing(tmp_path: Path) -> None:
    bomb = raw_deflate(bytes(64 << 20))
    refused(CorruptArchiveError, "corrupt-archive", zip_bytes(Z(method=8, stored=bomb)), "zip", tmp_path)
    assert content(tmp_path) == {}


def test_a_link_target_is_bounded(tmp_path: Path) -> None:
    data = zip_bytes(Z(mode=stat.S_IFLNK, data=b"x" * 5_000))
    refused(LimitExceededError, "limit-exceeded/path-bytes", data, "zip", tmp_path)


@pytest.mark.parametrize("found", ["gzip", "a web page (HTML)"])
def test_another_format_is_named(found: str, tmp_path: Path) -> None:
    data = {"gzip": zlib.compress(TEXT, wbits=31), "a web page (HTML)": b"<!DOCTYPE html><p>hello"}[found]
    error = refused(CorruptArchiveError, "corrupt-archive", data, "zip", tmp_path)
    assert error.message == f"this looks like {found}, not zip"


def test_content_that_nobody_wants_is_not_read(tmp_path: Path) -> None:
    broken = Z(name=b"other/b", local={"crc": 1}, central={"crc": 1})
    (tree,) = unpack(zip_bytes(Z(name=b"mine/a"), broken), "zip", tmp_path, "mine")
    assert [entry.path for entry in tree.entries] == ["a"]
