"""How long the system takes for a small file, found out while thousands of them are written."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

#: So many times are looked at, of which the middle one counts: a process that is interrupted makes no disk slow.
_TIMES: Final = 15
#: Memory takes half of this, disks somewhat more, networks a hundred times as much.
_SLOW_SECONDS: Final = 14e-6


class Pace:
    """Whether even the smallest file is worth a second thread, because the system is what takes the time."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=_TIMES)
        self.is_slow = False

    def take(self, write: Callable[[], None]) -> None:
        """Do it, and learn from it."""
        start = self._clock()
        write()
        self._times.append(self._clock() - start)
        if len(self._times) == _TIMES:
            self.is_slow = sorted(self._times)[_TIMES // 2] > _SLOW_SECONDS
