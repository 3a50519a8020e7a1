"""Work behind somebody's back: in order, never lost, never left running."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from getmodules.behind import Behind

PIECES = [bytes([n]) * 1000 for n in range(100)]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "getmodules-behind"]


@pytest.mark.parametrize("at_once", [0, 1, 50_000, 1_000_000])
def test_every_piece_is_worked_on_in_order(at_once: int) -> None:
    done: list[bytes] = []
    with Behind(done.append, at_once=at_once) as behind:
        for piece in PIECES:
            behind.put(piece)
    assert done == PIECES


def test_without_threads_it_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    done: list[bytes] = []
    with Behind(done.append, at_once=1500) as behind:
        for number, piece in enumerate(PIECES):
            behind.put(piece)
            assert len(done) == number + 1
    assert done == PIECES


def test_little_is_worked_on_in_the_same_thread() -> None:
    threads: list[threading.Thread] = []
    with Behind(lambda piece: threads.append(threading.current_thread()), at_once=1500) as behind:
        for piece in PIECES[:3]:
            behind.put(piece)
    assert threads[:2] == [threading.current_thread()] * 2
    assert threads[2] is not threading.current_thread()


@pytest.mark.parametrize("fails_at", [0, 1, 50, 99])
@pytest.mark.parametrize("at_once", [0, 1_000_000])
def test_an_error_of_the_work_is_raised(fails_at: int, at_once: int) -> None:
    done = 0

    def work(piece: bytes) -> None:
        nonlocal done
        if done == fails_at:
            raise OSError("full")
        done += 1

    def bring() -> None:
        with Behind(work, at_once=at_once) as behind:
            for piece in PIECES:
                behind.put(piece)

    with pytest.raises(OSError, match="full"):
        bring()
    assert done == fails_at


def test_an_error_of_the_bringer_ends_the_work() -> None:
    """What was put already is of no use to anybody, and is not waited for."""
    begun, go_on, done = threading.Event(), threading.Event(), []

    def work(piece: bytes) -> None:
        begun.set()
        go_on.wait(10)
        done.append(piece)

    def bring() -> None:
        with Behind(work, at_once=0) as behind:
            for piece in PIECES[:5]:
                behind.put(piece)
            begun.wait(10)
            threading.Timer(0.05, go_on.set).start()
            raise KeyError("the line was cut")

    with pytest.raises(KeyError):
        bring()
    assert len(done) < 5


def test_the_bringer_waits_for_the_work() -> None:
    """At most so much is in memory, however slow the disk is."""
    go_on, put = threading.Event(), []

    def bring() -> None:
        with Behind(lambda piece: assert_waited(go_on), at_once=0) as behind:
            for piece in PIECES:
                behind.put(piece)
                put.append(piece)

    thread = threading.Thread(target=bring)
    thread.start()
    thread.join(0.3)
    assert len(put) < 20
    go_on.set()
    thread.join(10)
    assert len(put) == 100


def assert_waited(event: threading.Event) -> None:
    assert event.wait(10)
