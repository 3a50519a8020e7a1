"""Run the archive writer's writes in a second thread where that is faster."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from getmodules.util.worker import Job, Worker

#: The chunks of a file that come after so many bytes go to the thread, to be hashed and written there.
LARGE_BYTES: Final = 1 << 20
#: A file system that takes longer for a small file is slow: memory takes half of this, disks somewhat more, networks
#: a hundred times as much.
_SLOW_SECONDS: Final = 14e-6
#: The median of so many times decides: a process that is interrupted makes no disk slow.
_TIMES: Final = 15
#: One of so many small files is timed: a package of a hundred is written before a thread could help it.
_TIMED: Final = 8


class WriteThread(Worker):
    """Write chunks of large files, and small files where the file system is slow.

    Handing over a small file costs about as much as writing it into memory. So the first ones are written by the
    caller and timed, and only a file system that is measured to be slow has the others written in the thread.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__("getmodules-write")
        self._clock = clock
        self._count = 0
        self._times: deque[float] = deque(maxlen=_TIMES)
        self.is_slow = False

    def write_small(self, write: Job, size: int) -> None:
        """Run ``write``, which makes a whole file of ``size`` bytes, now or soon, in any order."""
        if self.is_slow:
            self.give(write, size, in_order=False)
            return
        self._count += 1
        if self._count % _TIMED:
            write()
        else:
            self._measure(write)

    def _measure(self, write: Job) -> None:
        start = self._clock()
        write()
        self._times.append(self._clock() - start)
        if len(self._times) == _TIMES:
            self.is_slow = sorted(self._times)[_TIMES // 2] > _SLOW_SECONDS
