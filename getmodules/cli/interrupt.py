"""Signals as exceptions, so that everything that is cleaned on an error is cleaned on a signal as well."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: What ends a program that people or their machines do not want any more. Windows has no SIGHUP.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(KeyboardInterrupt):
    """A signal. What knows how to behave on Ctrl-C behaves the same way on SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raised() -> Iterator[None]:
    """Signals raise :class:`Interrupted` in here; afterwards the process only ends, and is deaf to them."""
    # What is ignored stays so: that is how nohup, and shells with a background job, protect a process.
    heard = [number for number in _numbers() if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)


def _numbers() -> list[int]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _raise(number: int, frame: FrameType | None) -> None:
    """Raise, unless an earlier one is on its way out: cleaning up must not be interrupted again.

    One that was swallowed on its way (Python does that in ``__del__``) does not make us deaf to the next.
    """
    error = sys.exception()
    while error is not None:
        if isinstance(error, Interrupted):
            return
        error = error.__context__
    raise Interrupted(number)
