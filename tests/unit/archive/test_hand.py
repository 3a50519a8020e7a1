from __future__ import annotations

import threading
from functools import partial

import pytest

from getmodules.archive.hand import Hand


class BoomError(Exception):
    pass


def boom() -> None:
    raise BoomError


def writers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "getmodules-write"]


def test_jobs_are_done_in_their_order() -> None:
    hand, done = Hand(), list[int]()
    for number in range(1_000):
        hand.give(partial(done.append, number), 10)
    assert writers()
    hand.wait()
    assert done == list(range(1_000))
    hand.stop()
    assert not writers()


def test_few_jobs_need_no_thread() -> None:
    hand, done = Hand(), list[int]()
    hand.give(partial(done.append, 1), 10)
    assert done == []
    hand.wait()
    assert done == [1]
    assert not writers()


@pytest.mark.parametrize("count", [1, 500], ids=["without a thread", "with a thread"])
def test_a_failure_comes_back_and_ends_the_work(count: int) -> None:
    hand, done = Hand(), list[int]()

    def work() -> None:
        hand.give(boom, 10)
        for number in range(count):
            hand.give(partial(done.append, number), 1 << 20 if count > 1 else 10)
        hand.wait()

    with pytest.raises(BoomError):
        work()
    hand.stop()
    assert done == []
    assert not writers()


def test_who_shares_a_job_does_it_where_the_thread_has_enough_to_do() -> None:
    hand, done = Hand(), dict[int, str]()
    go_on = threading.Event()

    def job(number: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            assert go_on.wait(10)
        done[number] = threading.current_thread().name

    for number in range(32 * 10):
        hand.share(partial(job, number), 10)
    # One batch in the thread's hands, four before it; the other five would wait for ever otherwise.
    assert len(done) >= 32 * 4
    assert set(done.values()) == {"MainThread"}
    go_on.set()
    hand.wait()
    assert sorted(done) == list(range(32 * 10))
    assert set(done.values()) == {"MainThread", "getmodules-write"}
    hand.stop()
    assert not writers()


def test_a_job_of_ones_own_that_fails_ends_the_work() -> None:
    hand, done = Hand(), list[int]()
    go_on = threading.Event()

    def job(number: int) -> None:
        if threading.current_thread() is threading.main_thread():
            boom()
        assert go_on.wait(10)
        done.append(number)

    def work() -> None:
        for number in range(1_000):
            hand.share(partial(job, number), 10)

    with pytest.raises(BoomError):
        work()
    threading.Timer(0.1, go_on.set).start()
    hand.stop()
    assert len(done) <= 32
    assert not writers()


def test_what_waits_is_not_done_after_a_stop() -> None:
    hand, done = Hand(), list[int]()
    started, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        started.set()
        go_on.wait(10)

    hand.give(slow, 1 << 20)
    hand.give(partial(done.append, 1), 1 << 20)
    hand.give(partial(done.append, 2), 1)
    assert started.wait(10)
    threading.Timer(0.1, go_on.set).start()
    hand.stop()
    assert 2 not in done
    assert not writers()


def test_without_threads_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some containers let us have few."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    hand, done = Hand(), list[int]()
    for number in range(100):
        hand.give(partial(done.append, number), 10)
    for number in range(100, 200):
        hand.share(partial(done.append, number), 10)
    hand.wait()
    assert done == list(range(200))
    with pytest.raises(BoomError):
        hand.give(boom, 1 << 20)
    hand.stop()
