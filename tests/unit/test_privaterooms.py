"""Private directories that are shared for one operation: who takes one last removes it, but for a batch."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from getmodules.privatedir import PrivateDirectory
from getmodules.privaterooms import PrivateRoom, PrivateRooms


def entered(rooms: PrivateRooms, parent: Path) -> PrivateRoom:
    room = rooms.room(parent)
    room.enter()
    return room


def test_nothing_is_made_before_it_is_entered(tmp_path: Path) -> None:
    PrivateRooms().room(tmp_path)
    assert os.listdir(tmp_path) == []


def test_alone_it_goes_with_whoever_took_it(tmp_path: Path) -> None:
    room = entered(PrivateRooms(), tmp_path)
    (private,) = tmp_path.iterdir()
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    (room.make("tree", 0o755) / "file").write_text("x")
    room.leave()
    room.leave()
    assert os.listdir(tmp_path) == []


def test_two_share_one_and_the_last_removes_it(tmp_path: Path) -> None:
    rooms = PrivateRooms()
    first, second = entered(rooms, tmp_path), entered(rooms, tmp_path)
    (private,) = tmp_path.iterdir()
    trees = [room.make("tree", 0o755) for room in (first, second)]
    for tree in trees:
        (tree / "sub").mkdir()
        (tree / "sub" / "file").write_text("x")
    trees[0].chmod(0o500)
    first.leave()
    assert [path.name for path in private.iterdir() if path.name != "lock"] == [trees[1].name]
    assert (trees[1] / "sub" / "file").read_text() == "x"
    second.leave()
    assert os.listdir(tmp_path) == []


def test_of_a_batch_it_stays_to_its_end(tmp_path: Path) -> None:
    rooms = PrivateRooms()
    with rooms.held():
        entered(rooms, tmp_path).leave()
        (private,) = tmp_path.iterdir()
        room = entered(rooms, tmp_path)
        assert room.make("tree", 0o755).parent == private
        room.leave()
        assert [path.name for path in private.iterdir()] == ["lock"]
    assert os.listdir(tmp_path) == []


def test_who_is_still_in_it_when_a_batch_ends_removes_it(tmp_path: Path) -> None:
    rooms = PrivateRooms()
    with rooms.held():
        room = entered(rooms, tmp_path)
    assert len(os.listdir(tmp_path)) == 1
    room.leave()
    assert os.listdir(tmp_path) == []


def test_one_for_each_parent(tmp_path: Path) -> None:
    rooms = PrivateRooms()
    parents = [tmp_path / name for name in "ab"]
    for parent in parents:
        parent.mkdir()
    with rooms.held():
        for parent in parents:
            entered(rooms, parent).leave()
        assert [len(os.listdir(parent)) for parent in parents] == [1, 1]
    assert [os.listdir(parent) for parent in parents] == [[], []]


@pytest.mark.parametrize("held", [False, True])
def test_a_parent_that_is_not_there(tmp_path: Path, held: bool) -> None:
    rooms = PrivateRooms()
    room = rooms.room(tmp_path / "gone")
    if held:
        with rooms.held():
            with pytest.raises(FileNotFoundError):
                room.enter()
            (tmp_path / "gone").mkdir()
            room.enter()  # somebody made it meanwhile
    else:
        with pytest.raises(FileNotFoundError):
            room.enter()
        (tmp_path / "gone").mkdir()
        room.enter()
    room.leave()
    assert os.listdir(tmp_path / "gone") == []


def test_where_a_parent_is_is_looked_up_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    link = tmp_path / "link"
    link.symlink_to("a")
    rooms = PrivateRooms()
    assert rooms.real(link) == tmp_path / "a"
    link.unlink()
    link.symlink_to("b")
    assert rooms.real(link) == tmp_path / "a"
    assert PrivateRooms().real(link) == tmp_path / "b"


def test_a_directory_that_somebody_took_away_is_made_anew(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    rooms = PrivateRooms()
    with rooms.held():
        for _ in range(5):
            entered(rooms, tmp_path).leave()
            (private,) = tmp_path.iterdir()
            shutil.rmtree(private)
        last = entered(rooms, tmp_path)
        assert last.make("tree", 0o755).is_dir()
        last.leave()
    assert os.listdir(tmp_path) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_interrupt_at_the_end_of_a_batch_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms, remove, struck = PrivateRooms(), PrivateDirectory.remove, list[int]()

    def interrupted(directory: PrivateDirectory) -> None:
        if not struck:
            struck.append(1)
            raise KeyboardInterrupt
        remove(directory)

    def batch() -> None:
        with rooms.held():
            entered(rooms, tmp_path).leave()
            monkeypatch.setattr(PrivateDirectory, "remove", interrupted)

    with pytest.raises(KeyboardInterrupt):
        batch()
    assert os.listdir(tmp_path) == []
