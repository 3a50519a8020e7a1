"""What is worth asking only once in an operation, whoever of its threads asks first."""

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
        """``make()``, or what it gave before for ``key``. Who comes meanwhile waits, looking at ``checkpoint``.

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
