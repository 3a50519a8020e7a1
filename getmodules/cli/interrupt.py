"""Signals as exceptions, so that everything that is cleaned on an error is cleaned on a signal as well.

The first signal is raised wherever the program is; later ones are ignored, because they would interrupt the
cleaning. The first can get lost: Python drops what is raised in ``__del__`` and while a generator is finalised,
and a plugin may catch everything. So the work calls :func:`check` between its pieces.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: What ends a program that people or their machines do not want any more. Windows has no SIGHUP.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
#: What a shell reports of a program that a signal ended, less the signal's number.
_ENDED_BY_SIGNAL = 128

#: The first signal of this process. A process has one set of signals, so this is not anybody's own.
_received: list[int] = []


class Interrupted(KeyboardInterrupt):
    """A signal. What knows how to behave on Ctrl-C behaves the same way on SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        return _ENDED_BY_SIGNAL + self.number


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Signals raise :class:`Interrupted` in here; afterwards the process only ends, and is deaf to them."""
    # What is ignored stays so: that is how nohup, and shells with a background job, protect a process.
    heard = [number for number in _numbers() if signal.getsignal(number) is not signal.SIG_IGN]
    sys.unraisablehook = _hide_what_is_raised_again
    for number in heard:
        signal.signal(number, _on_signal)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)
        sys.unraisablehook = sys.__unraisablehook__


def check() -> None:
    """Raise again what got lost."""
    if _received:
        raise Interrupted(_received[0])


def _numbers() -> list[int]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _on_signal(number: int, frame: FrameType | None) -> None:
    if not _received:
        _received.append(number)
        raise Interrupted(number)


def _hide_what_is_raised_again(unraisable: UnraisableHookArgs) -> None:
    if not isinstance(unraisable.exc_value, Interrupted):
        sys.__unraisablehook__(unraisable)
