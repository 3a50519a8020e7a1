"""Threads that one can do without."""

from __future__ import annotations

import threading

import pytest

from getmodules.threads import started


def test_a_thread_is_at_work() -> None:
    seen: list[str] = []
    thread = started(lambda: seen.append(threading.current_thread().name), "worker")
    assert thread is not None
    thread.join()
    assert seen == ["worker"]
    assert thread.daemon


def test_the_system_gives_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert started(lambda: None, "worker") is None
