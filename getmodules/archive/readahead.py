"""Decompression beside the work on what it brings."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from queue import SimpleQueue

from getmodules.threads import started

#: Pieces between the two threads: each is up to 2 MiB.
_IN_FLIGHT = 3


def ahead(pieces: Iterable[bytes]) -> Generator[bytes]:
    """``pieces``, made in a thread of their own, a few ahead of the consumer. Closing it ends the thread."""
    queue: SimpleQueue[bytes | None] = SimpleQueue()
    free = threading.Semaphore(_IN_FLIGHT)
    stopped = threading.Event()
    failures: list[BaseException] = []

    def produce() -> None:
        try:
            for piece in pieces:
                queue.put(piece)
                free.acquire()
                if stopped.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 -- raised by the consumer, where its place in the stream is
            failures.append(error)
        queue.put(None)

    thread = started(produce, "getmodules-read")
    if thread is None:
        yield from pieces
        return
    try:
        while (piece := queue.get()) is not None:
            yield piece
            free.release()
    finally:
        stopped.set()
        free.release()
        thread.join()
    if failures:
        raise failures[0]
