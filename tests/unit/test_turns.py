from __future__ import annotations

import gc
import os
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from getmodules.turns import Turns

_SECONDS = 30


class Crowd:
    """How many are at work, and how many ever were at one time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now = 0
        self.most = 0

    def __enter__(self) -> None:
        with self._guard:
            self._now += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._now -= 1


def in_threads(count: int, work: object) -> None:
    assert callable(work)
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(work) for _ in range(count)]:
            future.result(_SECONDS)


def test_one_computes_at_a_time() -> None:
    turns, crowd = Turns(), Crowd()

    def work() -> None:
        for _ in range(50):
            with turns.taken(), crowd:
                os.stat(".")  # lets go of the interpreter

    in_threads(8, work)
    assert crowd.most == 1


def test_whoever_waits_lets_others_compute() -> None:
    turns = Turns()
    all_here = threading.Barrier(4)

    def work() -> None:
        with turns.taken(), turns.left():
            all_here.wait(_SECONDS)  # nobody would come here, if it were one after the other

    in_threads(4, work)


def test_the_turn_is_back_after_the_wait() -> None:
    turns, crowd = Turns(), Crowd()

    def work() -> None:
        with turns.taken():
            for _ in range(20):
                with turns.left():
                    os.stat(".")
                with crowd:
                    os.stat(".")

    in_threads(8, work)
    assert crowd.most == 1


def test_who_has_the_turn_can_take_it_again() -> None:
    turns = Turns()
    with turns.taken(), turns.taken():
        pass
    with turns.taken():  # it was given back once, and is free
        pass


def test_there_is_nothing_to_leave_for_who_has_no_turn() -> None:
    turns = Turns()
    with turns.left():
        in_threads(1, lambda: turns.taken().__enter__())


@pytest.mark.parametrize("way", ["taken", "left", "long_work"])
def test_an_error_leaves_the_turn_where_it_was(way: str) -> None:
    turns = Turns()
    with pytest.raises(KeyError), turns.taken(), getattr(turns, way)():
        raise KeyError

    def work() -> None:
        with turns.taken():
            pass

    in_threads(2, work)


def test_long_work_is_done_by_as_many_as_there_are_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    turns, crowd = Turns(), Crowd()
    three = threading.Barrier(3)

    def work() -> None:
        with turns.taken(), turns.long_work(), crowd:
            three.wait(_SECONDS)

    in_threads(6, work)
    assert crowd.most == 3


@pytest.mark.parametrize(
    "holds_the_turn", [pytest.param(True, id="computing"), pytest.param(False, id="without a turn")]
)
def test_the_first_wait_is_announced_and_only_that(*, holds_the_turn: bool) -> None:
    turns = Turns()
    said: list[str] = []
    with turns.announced(lambda: said.append("waiting")):
        if holds_the_turn:
            with turns.taken():
                assert said == []
                with turns.left():
                    assert said == ["waiting"]
                with turns.left():
                    pass
        else:
            with turns.left():
                assert said == ["waiting"]
    assert said == ["waiting"]


def test_without_a_wait_nothing_is_announced() -> None:
    turns = Turns()
    said: list[str] = []
    with turns.announced(lambda: said.append("waiting")), turns.taken():
        pass
    with turns.left():
        pass
    assert said == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("own", [True, False], ids=["we have the turn", "another thread has it"])
def test_after_a_fork_the_turn_is_free(*, own: bool) -> None:
    turns = Turns()
    taken, release = threading.Event(), threading.Event()

    def hold() -> None:
        with turns.taken():
            taken.set()
            release.wait(_SECONDS)

    if own:
        with turns.taken():
            assert _status_of_child(turns) == 0
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(hold)
            taken.wait(_SECONDS)
            assert _status_of_child(turns) == 0
            release.set()
    in_threads(2, lambda: turns.taken().__enter__())


def _status_of_child(turns: Turns) -> int:
    child = os.fork()
    if not child:
        signal.alarm(_SECONDS)
        with turns.taken(), turns.long_work():
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_an_interrupt_while_the_turn_is_awaited_gives_back_nobody_elses() -> None:
    turns = Turns()
    has, release = threading.Event(), threading.Event()

    def other() -> None:
        with turns.taken():
            has.set()
            time.sleep(0.1)  # by then the main thread waits; where it does not, it is interrupted all the same
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            release.wait(_SECONDS)

    def wait_for_the_turn(pool: ThreadPoolExecutor) -> None:
        with turns.taken():
            with turns.left():
                futures.append(pool.submit(other))
                has.wait(_SECONDS)
            raise AssertionError("it has the turn, which is another one's")

    futures: list[Future[None]] = []
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            wait_for_the_turn(pool)
        release.set()
        futures[0].result(_SECONDS)
    in_threads(2, lambda: turns.taken().__enter__())


def test_others_are_called_when_the_turn_is_theirs_to_take() -> None:
    """An executor may let whoever calls it wait until one of its threads is free."""
    turns, free = Turns(), list[bool]()

    def waiting() -> None:
        def look() -> None:
            free.append(turns._turn.acquire(blocking=False))
            if free[-1]:
                turns._turn.release()

        other = threading.Thread(target=look)
        other.start()
        other.join()

    with turns.taken(), turns.announced(waiting), turns.left():
        pass
    with turns.long_work(), turns.announced(waiting), turns.left():
        pass
    assert free == [True, True]


def test_a_block_that_was_cut_short_takes_no_turn_when_it_is_collected() -> None:
    turns = Turns()
    with turns.taken():
        cut_short = turns.left()
        cut_short.__enter__()
        assert not turns._is_mine()
    del cut_short
    gc.collect()
    assert not turns._is_mine()
