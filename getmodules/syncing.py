"""Bringing many trees to the disk at once: who comes while the disk is busy shares the next round.

One call brings a whole file system to its disk, so that for fifty packages a handful of calls are enough.
"""

from __future__ import annotations

import os
import threading

from getmodules.syscalls import sync_filesystem
from getmodules.turns import Turns


class SharedSync:
    """For all that is done at the same time."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._guard = threading.Lock()
        self._rounds: dict[int, _Rounds] = {}

    def sync(self, fd: int) -> None:
        """What was written to the file system of ``fd`` until now is on its disk. Raises ``OSError``."""
        device = os.fstat(fd).st_dev
        with self._guard:
            rounds = self._rounds.setdefault(device, _Rounds())
        with self._turns.left():
            rounds.sync(fd)


class _Rounds:
    """Only a round that begins after somebody came serves them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._begun = 0
        self._done = 0
        self._busy = False

    def sync(self, fd: int) -> None:
        with self._changed:
            needed = self._begun + 1
            self._changed.wait_for(lambda: self._done >= needed or not self._busy)
            if self._done >= needed:
                return
            self._busy = True
            self._begun = number = self._begun + 1
        try:
            sync_filesystem(fd)
        except BaseException:
            number = 0  # whoever waits for this one tries it, and hears of it, alone
            raise
        finally:
            with self._changed:
                self._busy = False
                self._done = max(self._done, number)
                self._changed.notify_all()
