"""Who computes: one thread at a time, while the others wait for their servers, their disk, or their turn.

The interpreter runs one thread at a time anyway. Left to itself it changes threads at every system call, of which
unpacking makes thousands: sixteen threads with small packages then take twice the time of one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any


def surely(end: Callable[[], None]) -> None:
    """``end()``, which may be called twice: an interrupt that hits just this moment comes through afterwards."""
    try:
        end()
    except BaseException:
        end()
        raise


class Turns:
    """Shared by all that is done at the same time.

    Nobody may wait for anybody else without having :meth:`left`: whoever is waited for may need the turn. An interrupt
    may hit any line in here, so the locks themselves know who has them, and nobody gives back what he has not.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._turn: Any = threading.RLock()
        # Inflating and hashing much at a time lets go of the interpreter: there processors are what counts.
        self._processors = threading.Semaphore(os.cpu_count() or 1)
        self._own = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """The block computes."""
        outside = self._depth
        try:
            self._own.depth = outside + 1
            self._come_back()  # it is there already where an interrupt kept an earlier block from giving it back
            yield
        finally:
            surely(partial(self._end, outside))

    @contextmanager
    def left(self) -> Iterator[None]:
        """The block waits for something, so that another one computes meanwhile."""
        if self._has_processor:
            with self._without_processor():
                self._announce()
                yield
        elif self._is_mine():
            try:
                self._turn.release()
                self._announce()  # not before: whoever is called may have to wait for room
                yield
            finally:
                # Where an interrupt hit the end of this block, this line is reached when the block is collected: by
                # then there may be nothing to come back to.
                if self._depth:
                    self._come_back()
        else:
            self._announce()
            yield

    @contextmanager
    def long_work(self) -> Iterator[None]:
        """The block computes for long, in large pieces: as many at once as there are processors."""
        with self.left():
            try:
                self._take_processor()
                yield
            finally:
                self._give_processor()

    @contextmanager
    def announced(self, waiting: Callable[[], None]) -> Iterator[None]:
        """``waiting`` is called once, when the block leaves its turn for the first time; never, if it does not."""
        self._own.waiting = waiting
        try:
            yield
        finally:
            self._own.waiting = None

    def _announce(self) -> None:
        waiting = getattr(self._own, "waiting", None)
        if waiting is not None:
            self._own.waiting = None
            waiting()

    @property
    def _depth(self) -> int:
        """In how many blocks that compute this thread is."""
        return getattr(self._own, "depth", 0)

    def _end(self, outside: int) -> None:
        self._own.depth = outside
        if self._is_mine():
            self._turn.release()

    def _come_back(self) -> None:
        if not self._is_mine():
            self._turn.acquire()

    def _is_mine(self) -> bool:
        if self._process != os.getpid():
            depth = self._depth
            self._begin()  # after a fork: whoever had the turn is not in this process
            self._own.depth = depth
        return bool(self._turn._is_owned())

    # ------------------------------------------------------------------------------------------ the processors

    @property
    def _has_processor(self) -> bool:
        return getattr(self._own, "processor", False)

    @contextmanager
    def _without_processor(self) -> Iterator[None]:
        self._give_processor()
        try:
            yield
        finally:
            self._take_processor()

    def _take_processor(self) -> None:
        self._processors.acquire()
        self._own.processor = True

    def _give_processor(self) -> None:
        if self._has_processor:
            self._own.processor = False
            self._processors.release()
