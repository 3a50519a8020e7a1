"""What is asked once, however many ask."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from getmodules import NetworkError
from getmodules.util.once import Memo
from tests.support.refusals import refusal


def _go_on() -> None:
    return None


def test_one_answer_for_each_key() -> None:
    memo = Memo()
    assert memo.once("a", lambda: 1, _go_on) == 1
    assert memo.once("a", lambda: 2, _go_on) == 1
    assert memo.once("b", lambda: 3, _go_on) == 3


def test_nothing_is_an_answer_too() -> None:
    memo = Memo()
    assert memo.once("a", lambda: None, _go_on) is None
    assert memo.once("a", lambda: 1, _go_on) is None


def test_threads_ask_once() -> None:
    memo, asked, all_here = Memo(), [], threading.Barrier(8, timeout=20)

    def ask(_: int) -> int:
        all_here.wait()
        return memo.once("key", lambda: asked.append(1) or len(asked), _go_on)  # type: ignore[func-returns-value]

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {1}
    assert asked == [1]


def test_a_failure_is_not_kept() -> None:
    memo = Memo()

    def fail() -> int:
        raise NetworkError("not now")

    refusal(NetworkError, "network", memo.once, "a", fail, _go_on)
    assert memo.once("a", lambda: 7, _go_on) == 7


def test_who_waits_can_be_stopped() -> None:
    memo, started, release = Memo(), threading.Event(), threading.Event()

    def slow() -> int:
        started.set()
        assert release.wait(20)
        return 1

    def stop() -> None:
        raise NetworkError("no time left", part="timeout")

    thread = threading.Thread(target=memo.once, args=("a", slow, _go_on))
    thread.start()
    try:
        assert started.wait(20)
        refusal(NetworkError, "network/timeout", memo.once, "a", slow, stop)
    finally:
        release.set()
        thread.join(20)
    assert memo.once("a", lambda: pytest.fail("asked again"), _go_on) == 1
