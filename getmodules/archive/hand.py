"""A second hand: a thread that writes while the first one reads the next member.

Hashing, inflating and system calls let go of the interpreter, so that two threads overlap where the pieces of
work are large enough. Jobs are handed over in batches, because each handing over costs as much as a small file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Queue

from getmodules.threads import started

Job = Callable[[], None]

#: A batch is handed over when it has this many jobs, or this many bytes.
_BATCH_JOBS, _BATCH_BYTES = 32, 256 << 10
#: Batches that wait: enough to smooth both sides, little enough to be no memory.
_IN_FLIGHT = 4


class Hand:
    """Does jobs in their order, or in any where that is allowed, from the first full batch on in a thread of its own.

    After a failure the thread goes on emptying the queue without doing anything, so that the other side never
    waits for nobody; the failure is raised there at its next step.
    """

    def __init__(self) -> None:
        self._batch: list[Job] = []
        self._batch_bytes = 0
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None
        #: Made with the thread: most packages need neither.
        self._queue: Queue[list[Job] | None]

    def give(self, job: Job, amount: int) -> None:
        """Do ``job`` soon; ``amount`` is the number of bytes that it holds."""
        if self._add(job, amount):
            self._hand_over()

    def share(self, job: Job, amount: int) -> None:
        """The same for a job that may be done in any order: here, when the thread has more than enough to do.

        Between :meth:`give` and :meth:`wait` there is none of these.
        """
        if self._add(job, amount):
            if self._thread is not None and self._queue.full():
                self._do()
            else:
                self._hand_over()

    def wait(self) -> None:
        """Return when everything that was given is done."""
        if self._thread is None:
            self._do()
            return
        if self._batch:
            self._hand_over()
        self._queue.join()
        self._raise_failure()

    def stop(self) -> None:
        """End the thread without doing what still waits."""
        self._batch = []
        if self._thread is not None:
            self._failure = self._failure or InterruptedError()
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _add(self, job: Job, amount: int) -> bool:
        """Whether that makes a batch."""
        self._batch.append(job)
        self._batch_bytes += amount
        return self._batch_bytes >= _BATCH_BYTES or len(self._batch) >= _BATCH_JOBS

    def _do(self) -> None:
        self._raise_failure()
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        for job in batch:
            job()

    def _hand_over(self) -> None:
        self._raise_failure()
        if self._thread is None:
            self._queue = Queue(_IN_FLIGHT)
            self._thread = started(self._run, "getmodules-write")
        if self._thread is None:
            self._do()
            return
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        self._queue.put(batch)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (batch := self._queue.get()) is not None:
            try:
                for job in batch:
                    if self._failure is not None:
                        break
                    job()
            except BaseException as error:  # noqa: BLE001 -- raised by the thread that gives the jobs
                self._failure = error
            finally:
                self._queue.task_done()
