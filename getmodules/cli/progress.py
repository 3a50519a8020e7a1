"""Progress for people: one updated line for each package on a terminal, or a line for each phase."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from getmodules.api.ports import Phase, Progress
from getmodules.cli import interrupt
from getmodules.cli.options import nearest
from getmodules.cli.render import Console, cells, harmless
from getmodules.errors import ConfigError
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from getmodules.client import Client
    from getmodules.plugins.guard import Guard

AUTO, PLAIN, NONE = "auto", "plain", "none"
BUILT_IN = (AUTO, PLAIN, NONE)

_SECONDS_BETWEEN_UPDATES = 0.1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
#: Addresses are not shortened below this, even if the terminal is too narrow.
_SHORTEST_ADDRESS = 8


@contextmanager
def open_progress(name: str, client: Client, console: Console) -> Iterator[Progress]:
    """Open the progress that ``--progress NAME`` asks for, until the block ends."""
    if name not in BUILT_IN:
        yield InterruptibleProgress(_plugin_progress(name, client, console))
    elif name == PLAIN and not console.quiet:
        yield InterruptibleProgress(Plain(console))
    elif name == AUTO and not console.quiet and console.animates:
        lines = Lines(console)
        try:
            lines.start()
            yield InterruptibleProgress(lines)
        finally:
            lines.stop()
    else:
        yield notices(console)


def notices(console: Console) -> Progress:
    """Return a progress that shows only notices."""
    return InterruptibleProgress(Notices(console))


def _plugin_progress(name: str, client: Client, console: Console) -> Progress:
    sinks = client.catalog.progress
    if name not in sinks:
        known = [*BUILT_IN, *sinks.names]
        near = nearest(name, known)
        raise ConfigError(
            f"there is no progress {name!r}",
            hint=f"did you mean {near}?" if near else f"known: {', '.join(known)}",
        )
    sink = sinks[name]
    return PluginProgress(sink.open(console.stderr), sink.plugin.guard, f"progress {name!r}")


class InterruptibleProgress(Progress):
    """Forwards reports, and checks for signals at each: reports are made between pieces of work."""

    def __init__(self, shown: Progress) -> None:
        self.shown = shown

    def planned(self, packages: int) -> None:
        self.shown.planned(packages)

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        interrupt.check()
        self.shown.phase(package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        interrupt.check()
        self.shown.advance(package, amount)

    def notice(self, package: str, message: str) -> None:
        self.shown.notice(package, message)

    def finished(self, package: str, error: BaseException | None) -> None:
        self.shown.finished(package, error)


class PluginProgress(Progress):
    """The progress of a plugin, whose exceptions are errors of the plugin."""

    def __init__(self, shown: Progress, guard: Guard, where: str) -> None:
        self._shown = shown
        self._guard = guard
        self._where = where

    def planned(self, packages: int) -> None:
        self._guard.call(self._where, self._shown.planned, packages)

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._guard.call(self._where, self._shown.phase, package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        self._guard.call(self._where, self._shown.advance, package, amount)

    def notice(self, package: str, message: str) -> None:
        self._guard.call(self._where, self._shown.notice, package, message)

    def finished(self, package: str, error: BaseException | None) -> None:
        self._guard.call(self._where, self._shown.finished, package, error)


class Notices(Progress):
    """Shows notices only."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def notice(self, package: str, message: str) -> None:
        if not self._console.quiet:
            self._console.labelled("note", f"{message}\naddress: {package}" if package else message)


class Plain(Notices):
    """Shows a line for each phase, which suits logs."""

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        size = "" if total is None else f" ({format_bytes(total)})"
        self._console.message(f"{phase} {harmless(package)}{size}")


@valueclass(kw_only=False, frozen=False)
class _PackageState:
    """The state of a package. Its own thread changes it; other threads may read old values."""

    phase: Phase
    total: int | None
    since: float
    done: int = 0


class Lines(Notices):
    """Shows a line for each running package, and one for all of them, updated in place.

    A thread of its own draws them: reports do not slow the work down, and the lines change even while nothing
    arrives. Packages that are done at once are never drawn.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._clock = clock
        self._states: dict[str, _PackageState] = {}
        self._planned = self._finished = self._bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_until_stopped, name="progress", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and remove the lines; may be called even if the start was interrupted."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._console.block(())

    def planned(self, packages: int) -> None:
        self._planned, self._finished = packages, 0

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._states[package] = _PackageState(phase, total, self._clock())

    def advance(self, package: str, amount: int) -> None:
        state = self._states.get(package)
        if state is not None:
            state.done += amount
            if state.phase is Phase.DOWNLOADING:
                self._bytes += amount

    def finished(self, package: str, error: BaseException | None) -> None:
        self._states.pop(package, None)
        self._finished += 1

    def _draw_until_stopped(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN_UPDATES):
            self._console.block(self.render(self._console.width - 1, self._console.height - 1))

    def render(self, width: int, height: int) -> list[str]:
        """Return the current lines, at most ``height`` of them with at most ``width`` columns."""
        states = dict(self._states)
        total = self._total(len(states), width) if self._planned > 1 and states else []
        most = max(height - len(total), 1)
        return [self._line(package, state, width) for package, state in list(states.items())[:most]] + total

    def _total(self, running: int, width: int) -> list[str]:
        done = f"{self._finished} of {self._planned} packages"
        return [shorten(f"{done}, {running} running  {format_bytes(self._bytes)}", width)]

    def _line(self, package: str, state: _PackageState, width: int) -> str:
        head, tail = f"{state.phase}  ", self._figures(state)
        columns = max(width - len(head) - len(tail), _SHORTEST_ADDRESS)
        return shorten(f"{head}{shorten(harmless(package), columns)}{tail}", width)

    def _figures(self, state: _PackageState) -> str:
        if not state.done and state.total is None:
            return ""
        total = "" if state.total is None else f" of {format_bytes(state.total)}"
        elapsed = self._clock() - state.since
        rate = f"  {format_bytes(state.done / elapsed)}/s" if elapsed > 0 else ""
        return f"  {format_bytes(state.done)}{total}{rate}"


def format_bytes(number: float) -> str:
    """Return a number of bytes with at most three figures and a unit."""
    unit = 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number /= 1024
        unit += 1
    digits = 0 if unit == 0 or number >= 100 else 1
    return f"{number:.{digits}f} {_UNITS[unit]}"


def shorten(text: str, width: int) -> str:
    """Shorten ``text`` to ``width`` columns, cutting out its middle."""
    if cells(text) <= width:
        return text
    gap = "..."[: max(width, 0)]
    left = right = ""
    start, end = 0, len(text) - 1
    while True:
        from_left = cells(left) <= cells(right)
        character = text[start] if from_left else text[end]
        if cells(left + right + character) > width - len(gap):
            return f"{left}{gap}{right}"
        if from_left:
            left, start = left + character, start + 1
        else:
            right, end = character + right, end - 1
