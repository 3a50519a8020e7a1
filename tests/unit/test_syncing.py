"""Bringing many trees to the disk at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from getmodules import syncing
from getmodules.syncing import SharedSync
from getmodules.turns import Turns

PATIENCE = 60


class Disk:
    """A disk that takes its time, and says what was written when a turn began."""

    def __init__(self) -> None:
        self.written: set[int] = set()
        self.turns: list[set[int]] = []
        self.slow = threading.Event()
        self.fails = 0

    def sync(self, fd: int) -> None:
        self.turns.append(set(self.written))
        self.slow.wait(PATIENCE)
        if self.fails:
            self.fails -= 1
            raise OSError(5, "Input/output error")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(syncing, "sync_filesystem", disk.sync)
    return disk


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def until_in(count: int, shared: SharedSync) -> None:
    """``count`` threads are in :meth:`sync`: one at work, the others waiting."""
    (rounds,) = shared._rounds.values()
    deadline = threading.Event()
    for _ in range(PATIENCE * 100):
        with rounds._changed:
            if len(rounds._changed._waiters) >= count - 1:  # type: ignore[attr-defined]
                return
        deadline.wait(0.01)
    raise AssertionError("they never came")


@pytest.mark.parametrize("is_slow", [True, False], ids=["a slow disk", "a quick one"])
def test_the_turn_is_left_for_a_disk_that_was_slow(
    disk: Disk, fd: int, monkeypatch: pytest.MonkeyPatch, *, is_slow: bool
) -> None:
    disk.slow.set()
    monkeypatch.setattr(syncing, "_QUICK_SECONDS", 0 if is_slow else PATIENCE)
    turns = Turns()
    shared = SharedSync(turns)
    waited: list[bool] = []
    for _ in range(2):
        with turns.taken():
            left: list[bool] = []
            with turns.announced(lambda left=left: left.append(True)):  # type: ignore[misc]
                shared.sync(fd)
            waited.append(bool(left))
    assert waited == [True, is_slow]  # of the first nobody knows
    assert len(disk.turns) == 2


def test_who_comes_meanwhile_shares_the_next_turn(disk: Disk, fd: int) -> None:
    shared = SharedSync(Turns())

    def one(number: int) -> bool:
        disk.written.add(number)
        shared.sync(fd)
        return any(number in turn for turn in disk.turns)

    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(one, 0)
        while not disk.turns:
            pass
        others = [pool.submit(one, number) for number in range(1, 20)]
        until_in(20, shared)
        disk.slow.set()
        assert all(each.result(PATIENCE) for each in (first, *others))
    assert disk.turns == [{0}, set(range(20))]


def test_one_after_the_other_has_a_turn_each(disk: Disk, fd: int) -> None:
    disk.slow.set()
    shared = SharedSync(Turns())
    for _ in range(3):
        shared.sync(fd)
    assert len(disk.turns) == 3


def test_an_error_is_told_to_everybody_whom_it_concerns(disk: Disk, fd: int) -> None:
    """The first two turns fail: whoever waited tries again, and nobody takes a failed turn for one that was done."""
    shared = SharedSync(Turns())
    disk.fails = 2
    ended: list[str] = []

    def one() -> None:
        try:
            shared.sync(fd)
            ended.append("done")
        except OSError:
            ended.append("failed")

    threads = [threading.Thread(target=one)]
    threads[0].start()
    while not disk.turns:
        pass
    threads += [threading.Thread(target=one) for _ in range(5)]
    for thread in threads[1:]:
        thread.start()
    until_in(6, shared)
    disk.slow.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(ended) == ["done"] * 4 + ["failed"] * 2
    assert len(disk.turns) == 3
    shared.sync(fd)


def test_each_file_system_has_turns_of_its_own(disk: Disk, fd: int) -> None:
    shared = SharedSync(Turns())
    other = os.open("/proc", os.O_RDONLY)
    try:
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(shared.sync, each) for each in (fd, other)]
            while len(disk.turns) < 2:
                pass
            disk.slow.set()
            for each in both:
                each.result(PATIENCE)
    finally:
        os.close(other)
