"""Small records: read when they are whole and of the address that is asked for, else not there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from getmodules import Digest
from getmodules.cache.records import PinRecord, RecordedBlob, Records, RefRecord
from getmodules.util.values import replace
from tests.support.snapshots import snapshot

ADDRESS = "https://ada:s3cr3t@h.example/p.zip?checksum=sha256:00"
PIN = PinRecord(
    id="id-1",
    digests={"commit": "c1"},
    brought=RecordedBlob(digest=Digest.of(b"x"), key="layer", name="p.zip", media_type="application/zip", format="zip"),
)
PROVEN = PinRecord(id="id-2", proof=b"proof\xff\n")
BARE = PinRecord(id=None, brought=RecordedBlob(digest=Digest.of(b"x")))
REF = RefRecord(address="https://h.example/p.zip//a?checksum=sha256:00", time=1_700_000_000, validator={"ETag": '"1"'})


@pytest.fixture
def records(tmp_path: Path) -> Records:
    made = iter(range(1000))
    return Records(tmp_path, lambda: tmp_path / f"fresh-{next(made)}")


def only_file(records: Records) -> Path:
    (path,) = records.files()
    return path


@pytest.mark.parametrize("record", [PIN, PROVEN, BARE], ids=["brought", "proven", "bare"])
def test_a_pin_comes_back(records: Records, record: PinRecord) -> None:
    records.keep_pin(ADDRESS, record)
    assert records.pin(ADDRESS) == record
    assert records.pin(f"{ADDRESS}0") is None
    assert records.ref(ADDRESS) is None


def test_a_ref_comes_back_and_a_newer_one_replaces_it(records: Records) -> None:
    records.keep_ref(ADDRESS, REF)
    assert records.ref(ADDRESS) == REF
    newer = RefRecord(address="oci://h/x?digest=sha256:1", time=1_800_000_000)
    records.keep_ref(ADDRESS, newer)
    assert records.ref(ADDRESS) == newer
    assert len(list(records.files())) == 1


def test_the_address_itself_is_never_written_down(records: Records, tmp_path: Path) -> None:
    records.keep_pin(ADDRESS, PIN)
    for name, (_, content) in snapshot(tmp_path).items():
        assert "s3cr3t" not in name
        assert b"s3cr3t" not in content


def _edited(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        whole = json.loads(path.read_text())
        change(whole)
        path.write_text(json.dumps(whole))

    return edit


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-1]), id="cut short"),
        pytest.param(lambda path: path.write_bytes(b"[]"), id="a list"),
        pytest.param(lambda path: path.write_bytes(b"{" * 100_000), id="deep"),
        pytest.param(lambda path: path.write_bytes(b" " * (2 << 20)), id="huge"),
        pytest.param(lambda path: path.write_bytes(b"\xff\xfe"), id="no text"),
        pytest.param(_edited(lambda whole: whole["record"].update(id="id-9")), id="tampered with"),
        pytest.param(_edited(lambda whole: whole.update(key="0" * 64)), id="another one's"),
        pytest.param(_edited(lambda whole: whole.pop("sum")), id="without a sum"),
        pytest.param(_edited(lambda whole: whole.pop("record")), id="without content"),
        pytest.param(lambda path: (path.unlink(), path.mkdir()), id="a directory"),
        pytest.param(lambda path: (path.unlink(), os.mkfifo(path)), id="a pipe"),
        pytest.param(lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")), id="a link"),
    ],
)
def test_what_cannot_be_read_is_not_there_and_is_replaced(
    records: Records, harm: Callable[[Path], object], request: pytest.FixtureRequest
) -> None:
    records.keep_pin(ADDRESS, PIN)
    harm(only_file(records))
    assert records.pin(ADDRESS) is None
    if "directory" not in request.node.name:
        records.keep_pin(ADDRESS, PROVEN)
        assert records.pin(ADDRESS) == PROVEN


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"id": 1, "digests": {}, "proof": None, "brought": None}, id="an id that is a number"),
        pytest.param({"id": "x", "digests": [], "proof": None, "brought": None}, id="digests that are a list"),
        pytest.param({"id": "x", "digests": {}, "proof": "sha256:0", "brought": None}, id="a proof that is no base64"),
        pytest.param({"id": "x", "digests": {"a": "\x1b"}, "proof": None, "brought": None}, id="what cannot be seen"),
        pytest.param({"id": "x", "digests": {}, "proof": None, "brought": {"key": "k"}}, id="brought nothing"),
        pytest.param(
            {"id": "x", "digests": {}, "proof": None, "brought": {"digest": "sha256:../../x", "key": "k"}}, id="a path"
        ),
    ],
)
def test_a_record_of_another_shape(records: Records, value: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole by its sum: somebody wrote it that way."""
    monkeypatch.setattr(Records, "keep_pin", lambda self, address, record: self._write(_pin_name(), address, value))
    records.keep_pin(ADDRESS, PIN)
    assert records.pin(ADDRESS) is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"time": 2**63 - 1}, id="a time that no calendar has"),
        pytest.param({"validator": {"ETag": "x\r\nHost: y"}}, id="more headers than one"),
    ],
)
def test_a_ref_of_another_shape(records: Records, change: dict[str, Any]) -> None:
    records.keep_ref(ADDRESS, replace(REF, **change))
    assert records.ref(ADDRESS) is None


def _pin_name() -> str:
    import hashlib

    key = hashlib.sha256(ADDRESS.encode()).hexdigest()
    return f"records/pins/{key[:2]}/{key}"


def test_what_is_used_is_young(records: Records) -> None:
    records.keep_pin(ADDRESS, PIN)
    os.utime(only_file(records), (1, 1))
    assert records.pin(ADDRESS) == PIN
    assert only_file(records).stat().st_mtime > 1


def test_no_link_is_followed(records: Records, tmp_path: Path) -> None:
    records.keep_pin(ADDRESS, PIN)
    (tmp_path / "records").rename(tmp_path / "elsewhere")
    (tmp_path / "records").symlink_to("elsewhere")
    assert records.pin(ADDRESS) is None
    assert list(records.files()) == []
    before = snapshot(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        records.keep_pin(ADDRESS, PROVEN)
    assert snapshot(tmp_path / "elsewhere") == before
