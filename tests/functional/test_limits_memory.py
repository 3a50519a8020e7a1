"""Any archive is refused or unpacked in less than 256 MiB: measured on a child that may not have more than 512."""

from __future__ import annotations

import bz2
import functools
import gzip
import logging
import lzma
import resource
import struct
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules import Client, GetModulesError
from tests.support import processes
from tests.support.archives import END, T, Z, pax, raw_deflate, tar_bytes, zip_bytes
from tests.support.hostiletars import huge_xz, huge_zstd, zstd_compress
from tests.support.hostilezips import with_end64

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS and ru_maxrss mean something else there"),
]

#: ``--log-cli-level=INFO`` shows the numbers.
_log = logging.getLogger("tests")

MEMORY = 256 << 20
ADDRESS_SPACE = 512 << 20
SECONDS = 30.0


def _address_space() -> int:
    """What this process has mapped already: a worker of many tests, and of their threads, a gigabyte and more."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _entries_zip() -> bytes:
    """As many entries as the directory may have bytes for, all with long names."""
    count = 99_000
    entries = (Z(name=b"%d/" % (n % 99) + b"n" * 150 + b"%d" % n, data=b"") for n in range(count))
    return with_end64(zip_bytes(*entries, end={"here": 0xFFFF, "count": 0xFFFF}), count=count)


def _tar_of_names(kind: str) -> bytes:
    headers = b"".join(T(name=b"%d/" % (n % 99) + b"x" * 80 + b"%06d" % n).build() for n in range(120_000))
    return _pack(kind, headers + END)


def _long_pax(kind: str) -> bytes:
    """Names of four kilobytes, each in a header of its own."""
    block = [pax({"path": "/".join(["p" * 200] * 19) + f"/{n}"}).build() + T().build() for n in range(20_000)]
    return _pack(kind, b"".join(block) + END)


def _links() -> bytes:
    return _pack("tar.gz", b"".join(
        pax({"path": f"l{n}", "linkpath": "./" * 2000 + "a"}).build() + T(type=b"2").build() for n in range(30_000)
    ) + END)  # fmt: skip


def _zeros(kind: str) -> bytes:
    return _pack(kind, tar_bytes(T(name=b"zeros", data=bytes(200 << 20))))


def _zip_bomb() -> bytes:
    data = bytes(200 << 20)
    packed = raw_deflate(data)
    crc = zlib.crc32(data)
    return zip_bytes(Z(name=b"z", method=8, data=b"", stored=packed, local={"crc": crc, "size": len(data)},
                       central={"crc": crc, "size": len(data)}))  # fmt: skip


def _small_zip_lie() -> bytes:
    """Ten bytes announced, 200 MiB inside: read in one go, because it is said to be small."""
    return zip_bytes(Z(data=bytes(10), method=8, stored=raw_deflate(bytes(200 << 20))))


def _end_records() -> bytes:
    """Nothing but end records, of which each must be looked at once only."""
    return struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0, 0, 0, 0, 0xFFFF) * 100_000


def _many_members() -> bytes:
    """A million empty gzip members: no output, and no end."""
    return gzip.compress(b"", mtime=0) * 1_000_000


def _pack(kind: str, data: bytes) -> bytes:
    pack = {"tar": bytes, "tar.gz": functools.partial(gzip.compress, compresslevel=1), "tar.bz2": bz2.compress,
            "tar.xz": functools.partial(lzma.compress, preset=1), "tar.zst": zstd_compress}  # fmt: skip
    return pack[kind](data)


#: With a subdirectory all names are remembered, but not all files made, which would take a minute.
CASES = [
    pytest.param("zip//0", _entries_zip, "done", id="zip: 99 000 entries"),
    pytest.param("zip", _zip_bomb, "limit-exceeded/ratio", id="zip: a bomb"),
    pytest.param("zip", _small_zip_lie, "corrupt-archive", id="zip: a bomb that says it is small"),
    pytest.param("zip", _end_records, "corrupt-archive", id="zip: nothing but end records"),
    pytest.param("tar.gz//0", lambda: _tar_of_names("tar.gz"), "done", id="tar.gz: 120 000 entries"),
    pytest.param("tar.gz", lambda: _long_pax("tar.gz"), "limit-exceeded/metadata", id="tar.gz: 20 000 names of 4 KiB"),
    pytest.param("tar.gz", _links, "limit-exceeded/metadata", id="tar.gz: 30 000 links of 4 KiB"),
    pytest.param("tar.gz", _many_members, "corrupt-archive", id="tar.gz: a million members"),
    pytest.param("tar.gz", lambda: _zeros("tar.gz"), "limit-exceeded/ratio", id="tar.gz: a bomb"),
    pytest.param("tar.bz2", lambda: _zeros("tar.bz2"), "limit-exceeded/ratio", id="tar.bz2: a bomb"),
    pytest.param("tar.xz", lambda: _zeros("tar.xz"), "limit-exceeded/ratio", id="tar.xz: a bomb"),
    pytest.param("tar.zst", lambda: _zeros("tar.zst"), "limit-exceeded/ratio", id="tar.zst: a bomb"),
    pytest.param("tar.xz", huge_xz, "limit-exceeded/memory", id="tar.xz: a dictionary of a gigabyte"),
    pytest.param("tar.zst", huge_zstd, "limit-exceeded/memory", id="tar.zst: a window of two gigabytes"),
]


@pytest.mark.parametrize(("kind", "build", "outcome"), CASES)
def test_memory_is_bounded(kind: str, build: Callable[[], bytes], outcome: str, tmp_path: Path) -> None:
    kind, slashes, subdir = kind.partition("//")
    archive, dest, measured = tmp_path / f"package.{kind}", tmp_path / "dest", tmp_path / "measured"
    # Built by a child as well: what building takes must not count, nor stay in this process.
    assert processes.run(lambda: archive.write_bytes(build()) * 0) == 0

    def child() -> int:
        most = _address_space() + ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        baseline, began, ended = _peak(), time.monotonic(), "done"
        try:
            Client(environ={}).get(f"{archive}{slashes}{subdir}", dest)
        except GetModulesError as error:
            ended = error.code
        measured.write_text(f"{ended} {_peak() - baseline} {time.monotonic() - began}")
        return 0

    assert processes.run(child) == 0
    ended, memory, seconds = measured.read_text().split()
    _log.info("%s: %d MiB, %s s", ended, int(memory) >> 20, seconds)
    assert ended == outcome
    assert int(memory) < MEMORY
    assert float(seconds) < SECONDS
    assert {path.name for path in tmp_path.iterdir()} <= {archive.name, "dest", "measured"}


def _peak() -> int:
    """The most memory that this process ever had: for a forked child, from what its parent had just then."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
