"""The caller's progress, as plugins and the core call it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from getmodules.api.ports import Phase, Progress
from getmodules.turns import Turns


class Reporting(Progress):
    """Remembers what the caller's own progress raised: that cancels, whoever called it and whatever they make of it.

    A plugin calls it through its context, where any exception would be taken for the plugin's own fault; and one
    that swallows it meets it again at the next report.
    """

    def __init__(self, progress: Progress, turns: Turns) -> None:
        self._progress = progress
        self._turns = turns
        self._is_heard = type(progress) is not Progress
        self._may_wait = getattr(progress, "may_wait", True)  # it need not be one of ours
        self.cancelled_by: BaseException | None = None

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._report(self._progress.phase, package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        self._report(self._progress.advance, package, amount)

    def notice(self, package: str, message: str) -> None:
        self._report(self._progress.notice, package, message)

    def finished(self, package: str, error: BaseException | None) -> None:
        if self._is_heard:
            with self._unhurried():
                self._progress.finished(package, error)

    def _report(self, method: Callable[..., None], *arguments: object) -> None:
        if self.cancelled_by is not None:
            raise self.cancelled_by
        if not self._is_heard:
            return
        try:
            with self._unhurried():
                method(*arguments)
        except BaseException as error:
            self.cancelled_by = error
            raise

    def _unhurried(self) -> AbstractContextManager[None]:
        """Whatever the caller may wait for in the block."""
        return self._turns.left() if self._may_wait else nullcontext()
