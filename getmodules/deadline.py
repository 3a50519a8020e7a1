"""One clock for a whole operation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from getmodules.errors import NetworkError
from getmodules.util.values import valueclass


@valueclass(kw_only=False)
class Deadline:
    """The moment at which an operation gives up, however busy it looks."""

    seconds: float
    expires: float
    clock: Callable[[], float]

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Self:
        return cls(seconds, clock() + seconds, clock)

    def remaining(self) -> float:
        return max(0.0, self.expires - self.clock())

    def check(self) -> None:
        if self.clock() >= self.expires:
            raise NetworkError(
                f"not done after {self.seconds:g} seconds",
                part="timeout",
                hint="--limit seconds=N allows more time",
            )
