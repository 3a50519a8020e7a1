from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

import pytest

from getmodules.archive import write_thread as subject
from getmodules.archive.write_thread import WriteThread

MEMORY, DISK, PAUSE = 8e-6, 25e-6, 5e-3


@pytest.fixture(autouse=True)
def each_file_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_TIMED", 1)


def clock(durations: Iterable[float]) -> Iterator[float]:
    now = 0.0
    for duration in durations:
        yield now
        now += duration
        yield now


@pytest.mark.parametrize(
    ("durations", "slow"),
    [
        pytest.param([], False, id="nothing is known"),
        pytest.param([DISK] * 14, False, id="not enough is known"),
        pytest.param([DISK] * 15, True, id="a disk"),
        pytest.param([MEMORY] * 50, False, id="memory"),
        pytest.param([MEMORY, PAUSE] * 7 + [MEMORY], False, id="memory, often interrupted"),
        pytest.param([MEMORY] * 20 + [DISK] * 15, True, id="a disk that became slow"),
        pytest.param([DISK] * 7 + [MEMORY] * 15, False, id="a disk that was slow at first"),
        pytest.param([DISK] * 20 + [MEMORY] * 15, True, id="a disk that recovered later"),
    ],
)
def test_the_system_is_slow_where_most_files_take_long(durations: list[float], slow: bool) -> None:
    written: list[int] = []
    with WriteThread(clock(durations).__next__) as thread:
        for number in range(len(durations)):
            thread.write_small(lambda number=number: written.append(number), 10)  # type: ignore[misc]
        assert thread.is_slow is slow
    assert written == list(range(len(durations)))


def test_a_write_that_fails_is_no_time() -> None:
    def full() -> None:
        raise OSError("the disk is full")

    thread = WriteThread(clock(repeat(DISK)).__next__)
    for _ in range(20):
        with pytest.raises(OSError, match="full"):
            thread.write_small(full, 10)
    assert not thread.is_slow
