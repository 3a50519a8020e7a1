"""The private directories of one operation: one in each parent, shared, and removed at its end."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import getmodules
from getmodules.files.private import LOCK_NAME, PrivateDirectories, PrivateDirectory
from tests.support import processes

INTERRUPTED = 5


def test_nothing_is_made_before_it_is_asked_for(tmp_path: Path) -> None:
    with PrivateDirectories().removed_at_end():
        assert os.listdir(tmp_path) == []


def test_it_goes_with_the_operation_and_all_that_is_in_it(tmp_path: Path) -> None:
    operation = PrivateDirectories()
    with operation.removed_at_end() as private:
        directory = private.beside(tmp_path)
        assert list(tmp_path.iterdir()) == [directory]
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert os.listdir(directory) == [LOCK_NAME]
        (directory / "tree" / "sub").mkdir(parents=True)
        (directory / "tree" / "sub" / "file").write_text("x")
        (directory / "tree").chmod(0o500)
    assert os.listdir(tmp_path) == []
    with operation.removed_at_end():
        pass
    assert os.listdir(tmp_path) == []


def test_all_that_is_done_beside_one_parent_shares_one(tmp_path: Path) -> None:
    found: list[Path] = []
    with PrivateDirectories().removed_at_end() as private:
        threads = [threading.Thread(target=lambda: found.append(private.beside(tmp_path))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert {*found, private.beside(tmp_path)} == set(tmp_path.iterdir())
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


def test_one_for_each_parent(tmp_path: Path) -> None:
    parents = [tmp_path / name for name in "ab"]
    for parent in parents:
        parent.mkdir()
    with PrivateDirectories().removed_at_end() as private:
        for parent in parents:
            private.beside(parent)
        assert [len(os.listdir(parent)) for parent in parents] == [1, 1]
    assert [os.listdir(parent) for parent in parents] == [[], []]


def test_two_operations_have_two(tmp_path: Path) -> None:
    with PrivateDirectories().removed_at_end() as first:
        mine = first.beside(tmp_path)
        with PrivateDirectories().removed_at_end() as second:
            assert second.beside(tmp_path) != mine
            assert len(os.listdir(tmp_path)) == 2
        assert list(tmp_path.iterdir()) == [mine]
    assert os.listdir(tmp_path) == []


def test_a_parent_that_is_not_there(tmp_path: Path) -> None:
    with PrivateDirectories().removed_at_end() as private:
        with pytest.raises(FileNotFoundError):
            private.beside(tmp_path / "gone")
        (tmp_path / "gone").mkdir()
        assert private.beside(tmp_path / "gone").parent == tmp_path / "gone"  # somebody made it meanwhile
    assert os.listdir(tmp_path / "gone") == []


def test_where_a_parent_is_is_looked_up_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    link = tmp_path / "link"
    link.symlink_to("a")
    operation = PrivateDirectories()
    assert operation.real(link) == tmp_path / "a"
    link.unlink()
    link.symlink_to("b")
    assert operation.real(link) == tmp_path / "a"
    assert PrivateDirectories().real(link) == tmp_path / "b"


def test_a_directory_that_somebody_took_away_is_made_anew(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with PrivateDirectories().removed_at_end() as private:
        for _ in range(5):
            directory = private.beside(tmp_path)
            assert list(tmp_path.iterdir()) == [directory]
            shutil.rmtree(directory)
        (private.beside(tmp_path) / "tree").mkdir()
    assert os.listdir(tmp_path) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_the_parent_needs_is_done_when_a_directory_is_made(tmp_path: Path) -> None:
    prepared: list[int] = []
    with PrivateDirectories().removed_at_end() as private:
        for _ in range(3):
            private.beside(tmp_path, partial(prepared.append, 1))
        assert prepared == [1]
        shutil.rmtree(private.beside(tmp_path))
        private.beside(tmp_path, partial(prepared.append, 2))
        assert prepared == [1, 2]


def test_one_that_could_not_be_locked_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with PrivateDirectories().removed_at_end() as private:
        with monkeypatch.context() as patch:
            patch.setattr("getmodules.files.private.try_lock", refuse)
            with pytest.raises(OSError, match="Input/output"):
                private.beside(tmp_path)
        assert os.listdir(tmp_path) == []
        assert os.listdir(private.beside(tmp_path)) == [LOCK_NAME]


def test_parents_that_were_made_and_are_empty_in_the_end_go_too(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with PrivateDirectories().removed_at_end() as private:
        for parent in ("there", "a/b", "a/c", "d/e"):
            private.beside(tmp_path / parent, partial(private.make_parents, tmp_path / parent))
        (tmp_path / "a" / "c" / "module").mkdir()
        (tmp_path / "d" / "theirs").touch()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "a", "a/c", "a/c/module", "d", "d/theirs", "there",
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------- interrupts


def test_an_interrupt_at_the_end_of_an_operation_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, struck = PrivateDirectory.remove, list[int]()

    def interrupted(directory: PrivateDirectory) -> None:
        if not struck:
            struck.append(1)
            raise KeyboardInterrupt
        remove(directory)

    def operation() -> None:
        with PrivateDirectories().removed_at_end() as private:
            private.beside(tmp_path)
            monkeypatch.setattr(PrivateDirectory, "remove", interrupted)

    with pytest.raises(KeyboardInterrupt):
        operation()
    assert os.listdir(tmp_path) == []


def everything(place: Path) -> None:
    with PrivateDirectories().removed_at_end() as private:
        for name in ("one/two", "one/three"):
            parent = place / name
            directory = private.beside(parent, partial(private.make_parents, parent))
            (directory / "sub").mkdir()
        shutil.rmtree(directory)
        (private.beside(parent) / "file").touch()


def sweep_lines(place: Path, work: Callable[[Path], None]) -> int:
    """Interrupt number 1, 2, 3 … until there is no line left to hit; how many there were."""
    ours = Path(getmodules.__file__).parent

    def interrupt() -> None:
        raise KeyboardInterrupt

    def child(number: int, parent: Path) -> int:
        processes.strike_at_line(number, ours, interrupt)
        try:
            work(parent)
        except KeyboardInterrupt:
            return INTERRUPTED
        return 0

    number, code = 0, INTERRUPTED
    while code == INTERRUPTED:
        number += 1
        parent = place / str(number)
        parent.mkdir()
        code = processes.run(partial(child, number, parent))
        assert os.listdir(parent) == []
    assert code == 0
    return number


@pytest.mark.slow
def test_an_interrupt_at_any_line_leaves_nothing(tmp_path: Path) -> None:
    assert sweep_lines(tmp_path, everything) > 100
