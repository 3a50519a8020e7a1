"""Jobs in a second thread: in order, never lost, never left running."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from getmodules.util.worker import Worker

#: One job of this size is a batch.
LARGE = 1 << 20
PIECES = [bytes([n]) * 1000 for n in range(100)]


class BoomError(Exception):
    pass


def boom() -> None:
    raise BoomError


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "getmodules-test"]


def a_worker(inline_bytes: int = 0) -> Worker:
    return Worker("getmodules-test", inline_bytes=inline_bytes)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not threads()


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some containers let us have few."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


# ---------------------------------------------------------------------------------------------- order


def test_jobs_are_run_in_their_order() -> None:
    worker, done = a_worker(), list[int]()
    for number in range(1_000):
        worker.give(partial(done.append, number), 10)
    assert [thread.daemon for thread in threads()] == [True]
    worker.wait()
    assert done == list(range(1_000))
    worker.stop()
    assert not threads()


def test_few_jobs_need_no_thread() -> None:
    worker, done = a_worker(), list[int]()
    worker.give(partial(done.append, 1), 10)
    assert done == []
    worker.wait()
    assert done == [1]
    assert not threads()


@pytest.mark.parametrize("inline_bytes", [0, 1, 50_000, 1_000_000])
def test_every_job_is_run_before_the_block_ends(inline_bytes: int) -> None:
    done: list[bytes] = []
    with a_worker(inline_bytes) as worker:
        for piece in PIECES:
            worker.give(partial(done.append, piece), len(piece))
    assert done == PIECES


def test_the_first_bytes_are_worked_on_in_the_same_thread() -> None:
    seen: list[threading.Thread] = []
    with a_worker(inline_bytes=LARGE + 1) as worker:
        for number in range(3):
            worker.give(lambda: seen.append(threading.current_thread()), LARGE)
            if number < 2:
                assert len(seen) == number + 1
    assert seen[:2] == [threading.current_thread()] * 2
    assert seen[2].name == "getmodules-test"


# ---------------------------------------------------------------------------------------------- sharing


def test_the_caller_runs_jobs_in_any_order_while_the_thread_has_enough_to_do() -> None:
    worker, done = a_worker(), dict[int, str]()
    go_on = threading.Event()

    def job(number: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            assert go_on.wait(10)
        done[number] = threading.current_thread().name

    for number in range(32 * 10):
        worker.give(partial(job, number), 10, in_order=False)
    # The thread is at one batch, four wait for it; the other five would wait for ever otherwise.
    assert len(done) >= 32 * 4
    assert set(done.values()) == {"MainThread"}
    go_on.set()
    worker.wait()
    assert sorted(done) == list(range(32 * 10))
    assert set(done.values()) == {"MainThread", "getmodules-test"}
    worker.stop()


def test_the_caller_waits_for_jobs_in_order() -> None:
    """At most so much is in memory, however slow the disk is."""
    go_on, given = threading.Event(), list[int]()

    def give() -> None:
        with a_worker() as worker:
            for number in range(100):
                worker.give(partial(assert_waited, go_on), LARGE)
                given.append(number)

    thread = threading.Thread(target=give)
    thread.start()
    thread.join(0.3)
    assert len(given) < 20
    go_on.set()
    thread.join(10)
    assert len(given) == 100


def assert_waited(event: threading.Event) -> None:
    assert event.wait(10)


# ---------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("count", [1, 500], ids=["without a thread", "with a thread"])
def test_a_failure_comes_back_and_ends_the_work(count: int) -> None:
    worker, done = a_worker(), list[int]()

    def work() -> None:
        worker.give(boom, 10)
        for number in range(count):
            worker.give(partial(done.append, number), LARGE if count > 1 else 10)
        worker.wait()

    with pytest.raises(BoomError):
        work()
    worker.stop()
    assert done == []


@pytest.mark.parametrize("fails_at", [0, 1, 50, 99])
@pytest.mark.parametrize("size", [10, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("inline_bytes", [0, 1000 * LARGE], ids=["behind", "at once"])
def test_a_failure_is_raised_at_the_end_of_the_block_at_the_latest(fails_at: int, size: int, inline_bytes: int) -> None:
    done = 0

    def job() -> None:
        nonlocal done
        if done == fails_at:
            raise OSError("full")
        done += 1

    def give() -> None:
        with a_worker(inline_bytes) as worker:
            for _ in range(100):
                worker.give(job, size)

    with pytest.raises(OSError, match="full"):
        give()
    assert done == fails_at


def test_a_failure_is_raised_at_the_next_step() -> None:
    """Even where that fills no batch."""
    worker = a_worker()
    worker.give(boom, LARGE)

    def go_on() -> None:
        for _ in range(31):
            time.sleep(0.02)
            worker.give(lambda: None, 1)

    with pytest.raises(BoomError):
        go_on()
    worker.stop()


def test_a_job_that_fails_in_the_callers_thread_ends_the_work() -> None:
    worker, done = a_worker(), list[int]()
    go_on = threading.Event()

    def job(number: int) -> None:
        if threading.current_thread() is threading.main_thread():
            boom()
        assert go_on.wait(10)
        done.append(number)

    def work() -> None:
        for number in range(1_000):
            worker.give(partial(job, number), 10, in_order=False)

    with pytest.raises(BoomError):
        work()
    threading.Timer(0.1, go_on.set).start()
    worker.stop()
    assert len(done) <= 32


# ---------------------------------------------------------------------------------------------- the end


def held_up() -> tuple[Callable[[], None], threading.Event, threading.Event]:
    """A job that takes until the second event; the first says that it is being run."""
    begun, go_on = threading.Event(), threading.Event()

    def job() -> None:
        begun.set()
        go_on.wait(10)

    return job, begun, go_on


def test_what_waits_is_not_run_after_a_stop() -> None:
    worker, done = a_worker(), list[int]()
    slow, begun, go_on = held_up()
    worker.give(slow, LARGE)
    worker.give(partial(done.append, 1), LARGE)
    worker.give(partial(done.append, 2), 1)
    assert begun.wait(10)
    threading.Timer(0.1, go_on.set).start()
    worker.stop()
    worker.stop()
    assert done == []


def test_an_error_of_the_caller_ends_the_work() -> None:
    """What was given already is of no use any more, and is not waited for."""
    slow, begun, go_on = held_up()
    done = list[int]()

    def give() -> None:
        with a_worker() as worker:
            worker.give(slow, LARGE)
            for number in range(3):
                worker.give(partial(done.append, number), LARGE)
            assert begun.wait(10)
            threading.Timer(0.05, go_on.set).start()
            raise KeyError("the line was cut")

    with pytest.raises(KeyError):
        give()
    assert done == []


def test_an_interrupt_while_the_thread_starts_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), a_worker() as worker:
        worker.give(lambda: None, LARGE)
    assert not threads()


# ---------------------------------------------------------------------------------------------- no threads


@pytest.mark.usefixtures("no_threads")
def test_without_threads_the_caller_runs_everything() -> None:
    worker, done = a_worker(), list[int]()
    for number in range(100):
        worker.give(partial(done.append, number), 10)
    worker.wait()
    for number in range(100, 200):
        worker.give(partial(done.append, number), 10, in_order=False)
    worker.wait()
    assert done == list(range(200))
    with pytest.raises(BoomError):
        worker.give(boom, LARGE)
    worker.stop()


@pytest.mark.usefixtures("no_threads")
def test_without_threads_large_jobs_are_run_at_once() -> None:
    done: list[int] = []
    with a_worker(inline_bytes=1500) as worker:
        for number in range(100):
            worker.give(partial(done.append, number), LARGE)
            assert len(done) == number + 1
    assert done == list(range(100))
