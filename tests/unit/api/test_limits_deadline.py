"""One clock for a whole operation."""

from __future__ import annotations

from getmodules import NetworkError
from getmodules.api.limits import Deadline
from tests.support.refusals import refusal


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_runs_out() -> None:
    clock = _Clock()
    deadline = Deadline.after(10, clock)
    assert deadline.remaining() == 10
    clock.now += 9.9
    deadline.check()
    clock.now += 0.1
    assert deadline.remaining() == 0
    error = refusal(NetworkError, "network/timeout", deadline.check)
    assert "10 seconds" in error.message
    assert "--limit seconds=" in (error.typed_hint or "")
    clock.now += 1_000
    assert deadline.remaining() == 0


def test_the_clock_is_one_that_nobody_sets() -> None:
    first = Deadline.after(1_000)
    assert 0 < first.remaining() <= 1_000
    first.check()
