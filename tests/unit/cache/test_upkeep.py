"""Looking at the store, and making it smaller."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from getmodules import Digest
from getmodules.cache import upkeep as subject
from getmodules.cache.records import PinRecord, RefRecord
from getmodules.cache.upkeep import clean, info, prune, verify
from getmodules.errors import InstallError
from getmodules.files.private import PrivateDirectory
from tests.support.contexts import a_context
from tests.support.processes import bind_mount, in_mount_namespace
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot
from tests.support.stores import a_home, a_session, blobs_of, damage, keep, nothing_half, path_of, records_of

DAY = 86_400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three blobs of 1000, 2000 and 3000 bytes, not used for that many days; two records and a room of 500 bytes."""
    root = tmp_path / "store"
    for number in (1, 2, 3):
        keep(root, bytes([number]) * number * 1000)
        _age(path_of(root, _digest(number)), number)
    with a_session(root) as session:
        session.keep_pin("a", PinRecord(id="x"))
        session.keep_ref("b", RefRecord(address="c", time=1))
        with session.workshop("r", a_context()) as room:
            assert room is not None
            (room / "pack").write_bytes(b"x" * 500)
    return root


def _digest(number: int) -> Digest:
    return Digest.of(bytes([number]) * number * 1000)


def _age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def test_info(root: Path) -> None:
    found = info(a_home(root))
    size = 6500 + sum(path.stat().st_size for path in records_of(root))
    assert (found.blobs, found.workshops, found.records, found.bytes) == (3, 1, 2, size)
    assert (found.path, found.writable) == (root, True)


def test_of_an_empty_store(tmp_path: Path) -> None:
    home = a_home(tmp_path / "c")
    assert (info(home).blobs, info(home).bytes) == (0, 0)
    assert verify(home).blobs == 0
    assert prune(home, max_size=0).removed == 0
    assert clean(home).removed == 0


def test_verify_finds_what_is_damaged_and_drops_it(root: Path) -> None:
    assert verify(a_home(root)).damaged == ()
    damage(path_of(root, _digest(2)))
    checked = verify(a_home(root))
    assert (checked.blobs, checked.bytes, checked.damaged) == (2, 4000, (str(_digest(2)),))
    assert not path_of(root, _digest(2)).exists()
    assert verify(a_home(root)).damaged == ()


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        pytest.param({"older_than": 2.5 * DAY}, {1, 2}, id="by age"),
        pytest.param({"max_size": 4000}, {1, 2}, id="by size: the longest unused first"),
        pytest.param({"max_size": 3500}, {1}, id="records count as well"),
        pytest.param({"max_size": 7500}, {1, 2, 3}, id="small enough"),
        pytest.param({"older_than": 1.5 * DAY, "max_size": 10_000}, {1}, id="both"),
        pytest.param({"older_than": 9 * DAY}, {1, 2, 3}, id="nothing is that old"),
    ],
)
def test_prune(root: Path, bounds: dict[str, float], left: set[int]) -> None:
    pruned = prune(a_home(root), **bounds)  # type: ignore[arg-type]
    assert blobs_of(root) == sorted(path_of(root, _digest(number)) for number in left)
    freed = 6000 - sum(number * 1000 for number in left)
    assert (pruned.removed, pruned.freed, pruned.bytes) == (3 - len(left), freed, info(a_home(root)).bytes)
    assert len(list((root / "workshops").iterdir())) == 1
    nothing_half(root)


def test_records_go_when_they_are_old_and_stay_when_they_were_used(root: Path) -> None:
    for path in records_of(root):
        _age(path, 30)
    with a_session(root) as session:
        assert session.pin("a") is not None
    prune(a_home(root), older_than=7 * DAY)
    assert [path.parts[-3] for path in records_of(root)] == ["pins"]


def test_records_go_like_blobs_and_nobody_counts_them(root: Path) -> None:
    for path in records_of(root):
        _age(path, 30)
    before = info(a_home(root)).bytes
    pruned = prune(a_home(root), max_size=6500)
    assert (pruned.removed, pruned.freed, pruned.bytes) == (0, before - 6500, 6500)
    assert (records_of(root), len(blobs_of(root)), info(a_home(root)).bytes) == ([], 3, 6500)


def test_workshops_go_like_blobs(root: Path) -> None:
    (room,) = (root / "workshops").iterdir()
    _age(room, 30)
    assert prune(a_home(root), older_than=7 * DAY).freed == 500
    assert not room.exists()
    nothing_half(root)


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_no_reason_to_keep_a_room(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room,) = (root / "workshops").iterdir()
    (room / "objects/pack").mkdir(parents=True)
    (room / "objects/pack/a.pack").write_bytes(b"x" * 500)
    monkeypatch.setattr(PrivateDirectory, "create", _full)
    assert clean(a_home(root)).bytes == 0
    assert (blobs_of(root), records_of(root), os.listdir(root / "workshops")) == ([], [], [])
    nothing_half(root)


def test_what_cannot_be_removed_keeps_nothing_else(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room,) = (root / "workshops").iterdir()
    _age(room, 30)
    monkeypatch.setattr(PrivateDirectory, "create", _full)
    monkeypatch.setattr(os, "rmdir", _full)
    error = refusal(InstallError, "install/no-space", clean, a_home(root))
    assert (blobs_of(root), records_of(root)) == ([], [])
    assert "bytes were freed" in error.message
    assert str(root) in (error.hint or "")


def test_what_was_freed_may_be_what_was_needed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room,) = (root / "workshops").iterdir()
    _age(room, 30)
    create = PrivateDirectory.create

    def create_where_there_is_room(private: PrivateDirectory) -> None:
        if blobs_of(root):
            _full()
        create(private)

    monkeypatch.setattr(PrivateDirectory, "create", create_where_there_is_room)
    monkeypatch.setattr(subject, "_remove_in_place", _full)
    assert clean(a_home(root)).bytes == 0
    assert (blobs_of(root), os.listdir(root / "workshops")) == ([], [])


def test_what_dead_runs_left_goes_all_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "locks" / "left-by-a-dead-run").touch()
    monkeypatch.setattr(subject, "_remove_workshop", _full)
    refusal(InstallError, "install/no-space", clean, a_home(root))
    assert "left-by-a-dead-run" not in os.listdir(root / "locks")


def test_who_is_at_work_keeps_what_is_used(root: Path) -> None:
    with a_session(root) as session, session.workshop("r", a_context()) as room:
        assert session.find(_digest(3)) is not None
        pruned = clean(a_home(root))
        assert pruned.removed == 2
        assert blobs_of(root) == [path_of(root, _digest(3))]
        assert os.listdir(room) == ["pack"]  # type: ignore[arg-type]
        assert len(os.listdir(root / "locks")) == 1


def test_clean_leaves_an_empty_store(root: Path) -> None:
    (root / "locks" / "left-by-a-dead-run").touch()
    assert clean(a_home(root)).bytes == 0
    assert (blobs_of(root), records_of(root), os.listdir(root / "workshops")) == ([], [], [])
    nothing_half(root)
    assert a_home(root).writable


@pytest.mark.parametrize("name", ["blobs/sha256", "records/pins", "workshops", "locks", "ingest"])
def test_nothing_is_removed_through_a_link(root: Path, tmp_path: Path, name: str) -> None:
    with a_session(root) as session:
        session.keep_bytes(b"", Digest.of(b""))
    (root / name).rename(tmp_path / "outside")
    (tmp_path / "outside" / ".getmodules-0123456789abcdef").mkdir(mode=0o700)
    (root / name).symlink_to(tmp_path / "outside")
    before = snapshot(tmp_path / "outside")
    try:
        clean(a_home(root))
    except InstallError:
        assert name in ("locks", "ingest")
    verify(a_home(root))
    info(a_home(root))
    assert snapshot(tmp_path / "outside") == before


def test_a_link_in_the_place_of_a_blob_is_removed_itself(root: Path, tmp_path: Path) -> None:
    path = path_of(root, _digest(1))
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    clean(a_home(root))
    assert not path.is_symlink()
    assert (tmp_path / "outside").read_bytes() == b"\1" * 1000


def test_a_read_only_store_cannot_be_pruned_and_says_so(root: Path, tmp_path: Path) -> None:
    def read_only() -> None:
        bind_mount(root, root, read_only=True)
        home = a_home(root)
        assert not home.writable
        refusal(InstallError, "install/denied", prune, home, max_size=0)
        damaged = verify(home)
        assert damaged.blobs == 3
        assert not info(home).writable

    in_mount_namespace(read_only)
    assert len(blobs_of(root)) == 3
