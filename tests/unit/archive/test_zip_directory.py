from __future__ import annotations

import io
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from getmodules.archive.source import Window
from getmodules.archive.zip import extra_fields, read_directory
from getmodules.errors import CorruptArchiveError, GetModulesError, LimitExceededError, UnsafeContentError
from tests.support.archives import Z, extra_field, refused, zip_bytes
from tests.support.refusals import refusal

MANY = 70_000


def many() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for index in range(MANY):
            archive.writestr(f"{index}", b"")
    return out.getvalue()


def directory_of(data: bytes) -> list[str]:
    return [entry.name for entry in read_directory(Window(io.BytesIO(data), len(data)))]


@pytest.mark.slow
def test_zip64_end_records() -> None:
    assert len(directory_of(many())) == MANY


@pytest.mark.parametrize(
    ("at", "kind", "code"),
    [
        pytest.param(32, UnsafeContentError, "unsafe-content/ambiguous-archive", id="count"),
        pytest.param(48, UnsafeContentError, "unsafe-content/ambiguous-archive", id="offset"),
        pytest.param(40, UnsafeContentError, "unsafe-content/ambiguous-archive", id="length"),
        pytest.param(16, UnsafeContentError, "unsafe-content/ambiguous-archive", id="disk"),
        pytest.param(4, CorruptArchiveError, "corrupt-archive", id="length of the record"),
        pytest.param(0, CorruptArchiveError, "corrupt-archive", id="signature"),
    ],
)
def test_zip64_end_records_that_disagree(at: int, kind: type[GetModulesError], code: str) -> None:
    data = bytearray(zip_bytes(Z()))
    count, length, offset = struct.unpack_from("<H2I", data, len(data) - 12)
    record = bytearray(struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, offset))
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, offset + length, 1)
    end = data[-22:]
    assert directory_of(bytes(data[:-22] + record + locator + end)) == ["a.tf"]
    record[at] ^= 2
    refusal(kind, code, directory_of, bytes(data[:-22] + record + locator + end))


def test_extra_fields_forgive_padding() -> None:
    extra = extra_field(1, b"x") + extra_field(2, b"y") + extra_field(1, b"z")
    assert extra_fields(extra + b"\0", 1) == [b"x", b"z"]
    assert extra_fields(b"\x01\x00\xff\xff", 1) == []


def test_a_directory_is_bounded(tmp_path: Path) -> None:
    entries = [Z(name=b"%d" % n, data=b"", extra=extra_field(9, bytes(60_000))) for n in range(600)]
    refused(LimitExceededError, "limit-exceeded/metadata", zip_bytes(*entries), "zip", tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_bounded(tmp_path: Path) -> None:
    """As many names as are allowed, behind as large a directory as is allowed, and in the wrong order."""
    count = 200_000
    record = struct.Struct("<4s2B5H3I5H2I")
    local = bytearray()
    central = bytearray()
    for index in range(count):
        name = b"%08d" % index
        offset = (count - 1 - index) * 38
        central += record.pack(b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 8, 100, 0, 0, 0, 0, offset)
        central += name + bytes(100)
        local += struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 0, 0, 8, 0) + b"%08d" % (count - 1 - index)
    length = len(central)
    end = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, len(local))
    end += struct.pack("<4sIQI", b"PK\x06\x07", 0, len(local) + length, 1)
    data = (
        bytes(local + central) + end + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 65535, 65535, length, len(local), 0)
    )

    path = tmp_path / "archive.zip"
    path.write_bytes(data)
    code = """if True:
        import sys
        from pathlib import Path
        from getmodules import SubdirectoryNotFoundError
        from getmodules.archive.formats import ZipFormat
        from getmodules.archive.selection import Output
        from getmodules.archive.writer import write_members
        from getmodules.api.model import Archive, Members
        from tests.support.contexts import a_context
        path, context = Path(sys.argv[1]), a_context()
        archive = Archive(path=path, size=path.stat().st_size, digests={})
        members = Members(ZipFormat().unpack(archive, context), strict=True)
        try:
            write_members(members, [Output("nothing", path.parent)], context)
        except SubdirectoryNotFoundError:
            print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
    """
    ran = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert int(ran.stdout) << 10 < 256 << 20
