"""Remember answers that are asked for more than once in an operation, by any of its threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")
_TICK_SECONDS = 0.1


class Memo:
    """Answers by key. Lives as long as one operation (a call of the client, a batch) and is shared by its threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._answers: dict[Hashable, object] = {}

    def once(self, key: Hashable, make: Callable[[], T], checkpoint: Callable[[], None]) -> T:
        """Return ``make()``, or its earlier result for ``key``. Other threads wait meanwhile, and call ``checkpoint``.

        A failure is not kept: it may have been the fault of the package that asked, its deadline for example.
        """
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=_TICK_SECONDS):
            checkpoint()
        try:
            if key not in self._answers:
                self._answers[key] = make()
            return cast("T", self._answers[key])
        finally:
            lock.release()
