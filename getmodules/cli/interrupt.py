"""Signals as exceptions, so that a signal cleans up whatever an error does.

The first signal is raised wherever the program is; later ones are ignored, because they would interrupt the clean-up.
The first can get lost: Python drops exceptions in ``__del__`` and while a generator is finalised, and a plugin may
catch everything. So the work calls :func:`check` between its pieces.
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

#: The signals that end a program. Windows does not have SIGHUP.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
#: The exit code of a program that a signal ended is this and the signal's number.
_ENDED_BY_SIGNAL = 128

#: The first signal that this process received; global, as signals are.
_received: list[int] = []


class Interrupted(KeyboardInterrupt):
    """A signal. Code that handles Ctrl-C handles SIGTERM in the same way."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        return _ENDED_BY_SIGNAL + self.number


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Raise signals as :class:`Interrupted` inside the block, and ignore them afterwards, while the process ends."""
    # Ignored signals stay ignored: so nohup, and shells with background jobs, protect a process.
    handled = [number for number in _numbers() if signal.getsignal(number) is not signal.SIG_IGN]
    sys.unraisablehook = _hide_what_is_raised_again
    for number in handled:
        signal.signal(number, _on_signal)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_IGN)
        sys.unraisablehook = sys.__unraisablehook__


def check() -> None:
    """Raise the signal that was received, in case its exception got lost."""
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
