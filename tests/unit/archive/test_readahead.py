from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from getmodules.archive.readahead import ahead


class BoomError(Exception):
    pass


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "getmodules-read"]


def test_pieces_come_in_their_order() -> None:
    pieces = [b"%d" % n for n in range(1_000)]
    assert list(ahead(pieces)) == pieces
    assert not readers()


def test_without_threads_they_come_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    pieces = [b"%d" % n for n in range(10)]
    assert list(ahead(pieces)) == pieces


def test_a_failure_comes_after_what_was_good() -> None:
    def failing() -> Iterator[bytes]:
        yield b"good"
        raise BoomError

    found = ahead(failing())
    assert next(found) == b"good"
    with pytest.raises(BoomError):
        next(found)
    assert not readers()


def test_closing_ends_an_endless_source() -> None:
    made = 0

    def endless() -> Iterator[bytes]:
        nonlocal made
        while True:
            made += 1
            yield b"x"

    found = ahead(endless())
    next(found)
    found.close()
    assert not readers()
    assert made < 50, "only a few pieces are made in advance"
