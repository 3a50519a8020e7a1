"""Run jobs in a second thread that release the interpreter: hashing, inflating, system calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Self

Job = Callable[[], None]

#: A batch goes to the thread when it has this many jobs, or this many bytes.
_BATCH_JOBS: Final = 32
_BATCH_BYTES: Final = 256 << 10
#: Batches that wait: enough to keep both threads busy, few enough to need little memory.
_WAITING: Final = 4


class Worker:
    """Run jobs in one thread, in the order in which they are given, while the caller goes on.

    Jobs go to the thread in batches, because each handing over costs as much as a small file. The caller's thread
    runs them itself for the first ``inline_bytes``, where they never fill a batch, and where the system gives no
    thread, as in a container that may have few.

    After a job failed, no other is run. Its error is raised at the caller's next step: in :meth:`give`, in
    :meth:`wait`, or at the end of a ``with`` block. What jobs hold must not change after they were given.
    """

    def __init__(self, name: str, *, inline_bytes: int = 0) -> None:
        self._name = name
        self._inline_bytes = inline_bytes
        self._batch: list[Job] = []
        self._batch_bytes = 0
        # Both are written in C: an interrupt leaves no lock of theirs held, as it does one of queue.Queue.
        self._batches: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._done: SimpleQueue[None] = SimpleQueue()
        #: Batches that the thread has not reported as done.
        self._waiting = 0
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._is_stopped = False

    def give(self, job: Job, size: int, *, in_order: bool = True) -> None:
        """Run ``job`` soon; ``size`` is the number of bytes that it works on.

        A job that need not be run ``in_order`` may overtake others: while the thread has enough to do, the caller
        runs it instead of waiting. None of these may come between a job in order and the next :meth:`wait`.
        """
        self._raise_failure()
        if self._inline_bytes > 0:
            self._inline_bytes -= size
            job()
            return
        self._batch.append(job)
        self._batch_bytes += size
        if len(self._batch) < _BATCH_JOBS and self._batch_bytes < _BATCH_BYTES:
            return
        if in_order or not self._is_busy():
            self._hand_over()
        else:
            self._run_here()

    def wait(self) -> None:
        """Return when every job has been run."""
        self._raise_failure()
        if self._thread is None:
            self._run_here()
        else:
            self._hand_over()
            while self._waiting:
                self._wait_for_one()
            self._raise_failure()

    def stop(self) -> None:
        """End the thread after the job that it is at; those that wait are not run."""
        try:
            self._stop()
        except BaseException:  # an interrupt that hits just this moment: finish, then let it through
            self._stop()
            raise

    def _stop(self) -> None:
        self._is_stopped = True
        self._batch = []
        if self._thread is not None:
            self._batches.put(None)
            if self._thread.is_alive():
                self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            self.stop()

    def _hand_over(self) -> None:
        if self._thread is None:
            self._start()
        if self._thread is None:
            self._run_here()
            return
        while self._waiting >= _WAITING:
            self._wait_for_one()
        self._batches.put(self._take_batch())
        self._waiting += 1

    def _is_busy(self) -> bool:
        """Return whether the thread has as many batches as may wait."""
        while self._waiting and not self._done.empty():
            self._wait_for_one()
        return self._waiting >= _WAITING

    def _wait_for_one(self) -> None:
        self._done.get()
        self._waiting -= 1

    def _start(self) -> None:
        # Stored before it runs: an interrupt in between must not leave a thread that is never ended.
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the system gives no more threads
            self._thread = None

    def _run_here(self) -> None:
        for job in self._take_batch():
            job()

    def _take_batch(self) -> list[Job]:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        return batch

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            try:
                for job in batch:
                    # All batches are reported even then, so that a caller who waits for one goes on.
                    if self._is_stopped or self._failure is not None:
                        break
                    job()
            except BaseException as error:  # noqa: BLE001 -- raised at the caller's next step
                self._failure = error
            finally:
                self._done.put(None)
