from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import struct
import sys
import zlib
from collections.abc import Iterable
from typing import Any

import pytest

from getmodules.archive.codecs import Codec, codec, decode_all, decode_one, decode_whole
from getmodules.errors import CorruptArchiveError, LimitExceededError
from tests.support.refusals import refusal

DATA = b"".join(b"line %d\n" % n for n in range(100_000))


def zstd() -> Any:
    return sys.modules[codec("zstd").errors[0].__module__.partition(".")[0] + ".zstd"]


PACK = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstd().compress(data, options={zstd().CompressionParameter.checksum_flag: 1}),
}


@functools.cache
def packed_data(name: str) -> bytes:
    """``DATA`` in one codec: packing takes far longer than what is tested."""
    return PACK[name](DATA)


def pieces(data: bytes, length: int = 4_096) -> Iterable[bytes]:
    return (data[at : at + length] for at in range(0, len(data), length))


def all_of(name: str, data: bytes, length: int = 4_096) -> bytes:
    return b"".join(decode_all(codec(name), pieces(data, length), lambda: None))


@pytest.fixture(params=["fast", "plain"], autouse=True)
def zlib_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "isal", None)
    else:
        pytest.importorskip("isal")


@pytest.mark.parametrize("name", PACK)
def test_members_of_a_file_are_read_one_after_the_other(name: str) -> None:
    packed = packed_data(name)
    assert all_of(name, packed) == DATA
    assert all_of(name, packed + PACK[name](b"") + PACK[name](b"more"), 11) == DATA + b"more"


def test_skippable_frames_of_zstd() -> None:
    skippable = struct.pack("<II", 0x184D2A50, 5) + b"hello"
    assert all_of("zstd", skippable + packed_data("zstd") + skippable) == DATA


@pytest.mark.parametrize("name", PACK)
@pytest.mark.parametrize(
    "damage", ["cut", "cut in the trailer", "trailing", "trailing zeros", "flipped", "empty", "text"]
)
def test_damage_is_refused(name: str, damage: str) -> None:
    packed = packed_data(name)
    middle = len(packed) // 2
    data = {
        "cut": packed[:middle],
        "cut in the trailer": packed[:-1],
        "trailing": packed + b"hello",
        "trailing zeros": packed + bytes(512),
        "flipped": packed[:middle] + bytes([packed[middle] ^ 1]) + packed[middle + 1 :],
        "empty": b"",
        "text": b"hello, world",
    }[damage]
    refusal(CorruptArchiveError, "corrupt-archive", all_of, name, data)


@pytest.mark.parametrize(
    "at", [pytest.param(-8, id="CRC"), pytest.param(-4, id="length"), pytest.param(3, id="reserved flags")]
)
def test_gzip_is_checked_to_its_last_byte(at: int) -> None:
    packed = bytearray(packed_data("gzip"))
    packed[at] ^= 0xE0
    refusal(CorruptArchiveError, "corrupt-archive", all_of, "gzip", bytes(packed))


def test_windows_are_capped() -> None:
    wide = {zstd().CompressionParameter.window_log: 27, zstd().CompressionParameter.content_size_flag: 0}
    compressor = zstd().ZstdCompressor(options=wide)
    refusal(LimitExceededError, "limit-exceeded/memory", all_of, "zstd", compressor.compress(DATA) + compressor.flush())
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 256 << 20}]
    refusal(LimitExceededError, "limit-exceeded/memory", all_of, "xz", lzma.compress(DATA, filters=filters))


def raw(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-15)


def one_of(found: Codec, data: bytes) -> bytes:
    return b"".join(decode_one(found, pieces(data)))


@pytest.mark.parametrize(
    ("data", "size"),
    [
        pytest.param(raw(DATA) + b"x", len(DATA), id="rest"),
        pytest.param(raw(DATA)[:-1], len(DATA), id="cut"),
        pytest.param(raw(DATA), len(DATA) - 1, id="more"),
        pytest.param(b"\xff" * 9, 9, id="rubbish"),
    ],
)
def test_a_whole_member_is_exactly_what_was_announced(data: bytes, size: int) -> None:
    deflate = codec("deflate")
    assert decode_whole(deflate, raw(DATA), len(DATA)) == one_of(deflate, raw(DATA)) == DATA
    refusal(CorruptArchiveError, "corrupt-archive", decode_whole, deflate, data, size)
    if size == len(DATA) or size == 9:
        refusal(CorruptArchiveError, "corrupt-archive", one_of, deflate, data)


def test_an_empty_member() -> None:
    assert decode_whole(codec("deflate"), raw(b""), 0) == b""
