"""The caller's progress, as plugins and the core call it."""

from __future__ import annotations

from collections.abc import Callable

from getmodules.ports import Phase, Progress


class Reporting(Progress):
    """Remembers what the caller's own progress raised: that cancels, whoever called it and whatever they make of it.

    A plugin calls it through its context, where any exception would be taken for the plugin's own fault; and one
    that swallows it meets it again at the next report.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.cancelled_by: BaseException | None = None

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._report(self._progress.phase, package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        self._report(self._progress.advance, package, amount)

    def notice(self, package: str, message: str) -> None:
        self._report(self._progress.notice, package, message)

    def finished(self, package: str, error: BaseException | None) -> None:
        self._progress.finished(package, error)

    def _report(self, method: Callable[..., None], *arguments: object) -> None:
        if self.cancelled_by is not None:
            raise self.cancelled_by
        try:
            method(*arguments)
        except BaseException as error:
            self.cancelled_by = error
            raise
