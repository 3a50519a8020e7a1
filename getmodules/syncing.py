"""Bringing many trees to the disk at once: who comes while the disk is busy shares the next turn.

One call brings a whole file system to its disk, so that for fifty packages a handful of calls are enough.
"""

from __future__ import annotations

import os
import threading

from getmodules.syscalls import sync_filesystem


class SharedSync:
    """For all threads of an operation."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._turns: dict[int, _Turns] = {}

    def sync(self, fd: int) -> None:
        """What was written to the file system of ``fd`` until now is on its disk. Raises ``OSError``."""
        device = os.fstat(fd).st_dev
        with self._guard:
            turns = self._turns.setdefault(device, _Turns())
        turns.sync(fd)


class _Turns:
    """Only a turn that begins after somebody came serves them."""

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
            self._begun = turn = self._begun + 1
        try:
            sync_filesystem(fd)
        except BaseException:
            turn = 0  # whoever waits for this one tries it, and hears of it, alone
            raise
        finally:
            with self._changed:
                self._busy = False
                self._done = max(self._done, turn)
                self._changed.notify_all()
