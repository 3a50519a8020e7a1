"""Who computes: one thread at a time, while the others wait for their servers, their disk, or their turn.

The interpreter runs one thread at a time anyway. Left to itself it changes threads at every system call, of which
unpacking makes thousands: sixteen threads with small packages then take twice the time of one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Turns:
    """Shared by all that is done at the same time.

    Nobody may wait for anybody else without having :meth:`left`: whoever is waited for may need the turn.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        # Inflating and hashing much at a time lets go of the interpreter: there processors are what counts.
        self._processors = threading.Semaphore(os.cpu_count() or 1)
        self._own = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """The block computes."""
        if self._is_mine:
            yield
            return
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def left(self) -> Iterator[None]:
        """The block waits for something, so that another one computes meanwhile."""
        self._announce()
        if not self._is_mine:
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take()

    @contextmanager
    def long_work(self) -> Iterator[None]:
        """The block computes for long, in large pieces: as many at once as there are processors."""
        with self.left(), self._processors:
            yield

    @contextmanager
    def announced(self, waiting: Callable[[], None]) -> Iterator[None]:
        """``waiting`` is called once: when the block leaves its turn for the first time, at the latest at its end."""
        self._own.waiting = waiting
        try:
            yield
        finally:
            self._announce()

    def _announce(self) -> None:
        waiting = getattr(self._own, "waiting", None)
        if waiting is not None:
            self._own.waiting = None
            waiting()

    @property
    def _is_mine(self) -> bool:
        return getattr(self._own, "turn", False)

    def _take(self) -> None:
        self._turn.acquire()
        self._own.turn = True

    def _give(self) -> None:
        self._own.turn = False
        self._turn.release()
