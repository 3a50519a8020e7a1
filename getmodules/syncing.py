"""Bringing many trees to the disk at once: who comes while the disk is busy shares the next round.

One call brings a whole file system to its disk, so that for fifty packages a handful of calls are enough.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import nullcontext
from functools import partial

from getmodules.syscalls import sync_filesystem
from getmodules.turns import Turns, surely

#: What is over as soon as this, as in memory, would take less time than another thread needs to begin.
_QUICK_SECONDS = 0.001


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
            rounds = self._rounds.get(device) or self._rounds.setdefault(device, _Rounds())
        with nullcontext() if rounds.are_quick else self._turns.left():
            rounds.sync(fd)


class _Rounds:
    """Only a round that begins after somebody came serves them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._begun = 0
        self._done = 0
        #: Whether the last one was. Whoever is waited for in here needs no turn to be done.
        self.are_quick = False
        #: The thread that is at it.
        self._busy: int | None = None

    def sync(self, fd: int) -> None:
        mine, done = False, 0  # whoever waits for a round that failed tries it, and hears of it, alone
        try:
            with self._changed:
                needed = self._begun + 1
                me = threading.get_ident()
                # Where it is ourselves, an interrupt hit the end of our last round.
                self._changed.wait_for(lambda: self._done >= needed or self._busy in (None, me))
                if self._done >= needed:
                    return
                mine, self._busy = True, me
                self._begun = number = self._begun + 1
            began = time.monotonic()
            sync_filesystem(fd)
            done, self.are_quick = number, time.monotonic() - began < _QUICK_SECONDS
        finally:
            if mine:
                surely(partial(self._end, done))

    def _end(self, done: int) -> None:
        with self._changed:
            self._busy = None
            self._done = max(self._done, done)
            self._changed.notify_all()
