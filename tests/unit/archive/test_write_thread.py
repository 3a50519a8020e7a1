from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

import pytest

from getmodules.archive.write_thread import Pace

MEMORY, DISK, PAUSE = 8e-6, 25e-6, 5e-3


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
        pytest.param([DISK] * 20 + [MEMORY] * 15, False, id="a disk that recovered"),
    ],
)
def test_the_system_is_slow_where_most_files_take_long(durations: list[float], slow: bool) -> None:
    written: list[int] = []
    pace = Pace(clock(durations).__next__)
    for number in range(len(durations)):
        pace.take(lambda number=number: written.append(number))
    assert pace.is_slow is slow
    assert written == list(range(len(durations)))


def test_a_write_that_fails_is_no_time() -> None:
    def full() -> None:
        raise OSError("the disk is full")

    pace = Pace(clock(repeat(DISK)).__next__)
    for _ in range(20):
        with pytest.raises(OSError, match="full"):
            pace.take(full)
    assert not pace.is_slow
