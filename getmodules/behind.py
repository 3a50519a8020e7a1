"""Work on pieces of something large, done behind the back of whoever brings them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Self

from getmodules.threads import started

#: Pieces on their way to the thread: each is up to 1 MiB.
_IN_FLIGHT = 8


class Behind:
    """Gives each piece to ``work``, in order; what comes after the first ``at_once`` bytes, in a thread of its own.

    For little it is not worth a thread. An error of ``work`` is raised where the next piece is put, or at the end of
    the block; the thread is gone when the block is left, whichever way. Pieces must not change after they were put.
    """

    def __init__(self, work: Callable[[bytes], None], *, at_once: int) -> None:
        self._work = work
        self._left = at_once
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._free = threading.Semaphore(_IN_FLIGHT)
        self._thread: threading.Thread | None = None
        self._abandoned = False
        self._failure: BaseException | None = None

    def put(self, piece: bytes) -> None:
        if self._thread is None and self._left <= 0:
            self._thread = started(self._run, "getmodules-behind")
        self._left -= len(piece)
        if self._thread is None:
            self._work(piece)
            return
        self._free.acquire()
        if self._failure is not None:
            raise self._failure
        self._queue.put(piece)

    def _run(self) -> None:
        try:
            while (piece := self._queue.get()) is not None and not self._abandoned:
                self._work(piece)
                self._free.release()
        except BaseException as error:  # noqa: BLE001 -- raised where the pieces come from
            self._failure = error
            self._free.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._thread is None:
            return
        self._abandoned = kind is not None
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None and kind is None:
            raise self._failure
