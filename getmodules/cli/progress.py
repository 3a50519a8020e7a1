"""What is going on, for people: lines that are updated on a terminal, one a package, or a line for each phase."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from getmodules.api.ports import Phase, Progress
from getmodules.cli import interrupt
from getmodules.cli.options import nearest
from getmodules.cli.render import Console, cells, whole
from getmodules.errors import ConfigError
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from getmodules.client import Client
    from getmodules.plugins.guard import Guard

AUTO, PLAIN, NONE = "auto", "plain", "none"
OURS = (AUTO, PLAIN, NONE)

_SECONDS_BETWEEN_UPDATES = 0.1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
#: Below this, an address is shortened no further; the terminal is then too narrow for anything.
_SHORTEST_ADDRESS = 8


@contextmanager
def shown(name: str, client: Client, console: Console) -> Iterator[Progress]:
    """The progress that ``--progress NAME`` asks for, for as long as the block runs."""
    if name not in OURS:
        yield Attentive(_of_a_plugin(name, client, console))
    elif name == PLAIN and not console.quiet:
        yield Attentive(Plain(console))
    elif name == AUTO and not console.quiet and console.animates:
        lines = Lines(console)
        try:
            lines.start()
            yield Attentive(lines)
        finally:
            lines.stop()
    else:
        yield notices(console)


def notices(console: Console) -> Progress:
    """For commands that show no progress: what people must know all the same."""
    return Attentive(Notices(console))


def _of_a_plugin(name: str, client: Client, console: Console) -> Progress:
    sinks = client.catalog.progress
    if name not in sinks:
        known = [*OURS, *sinks.names]
        near = nearest(name, known)
        raise ConfigError(
            f"there is no progress {name!r}",
            hint=f"did you mean {near}?" if near else f"known: {', '.join(known)}",
        )
    sink = sinks[name]
    return GuardedProgress(sink.open(console.stderr), sink.plugin.guard, f"progress {name!r}")


class Attentive(Progress):
    """Passes on what is reported; and since that happens between pieces of work, looks for signals there."""

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


class GuardedProgress(Progress):
    """A plugin's way to show progress: what it raises is the plugin's fault, not ours."""

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
    """Nothing but what is worth knowing."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def notice(self, package: str, message: str) -> None:
        if not self._console.quiet:
            self._console.labelled("note", f"{message}\naddress: {package}" if package else message)


class Plain(Notices):
    """A line for each phase: for logs."""

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        size = "" if total is None else f" ({amount(total)})"
        self._console.message(f"{phase} {whole(package)}{size}")


@valueclass(kw_only=False, frozen=False)
class _State:
    """Where a package is. Changed by its own thread; what another thread reads may be a moment old."""

    phase: Phase
    total: int | None
    since: float
    done: int = 0


class Lines(Notices):
    """A line for each package that is being worked on, and one for all of them; written over again and again.

    A thread of its own draws them: the work is not slowed down however often it reports, and they go on changing
    while nothing arrives. Something that is done at once is never drawn.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._clock = clock
        self._states: dict[str, _State] = {}
        self._planned = self._finished = self._bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_again_and_again, name="progress", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """May be called although the start was interrupted."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._console.block(())

    def planned(self, packages: int) -> None:
        self._planned, self._finished = packages, 0

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._states[package] = _State(phase, total, self._clock())

    def advance(self, package: str, amount: int) -> None:
        state = self._states.get(package)
        if state is not None:
            state.done += amount
            if state.phase is Phase.DOWNLOADING:
                self._bytes += amount

    def finished(self, package: str, error: BaseException | None) -> None:
        self._states.pop(package, None)
        self._finished += 1

    def _draw_again_and_again(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN_UPDATES):
            self._console.block(self.drawn(self._console.width - 1, self._console.height - 1))

    def drawn(self, width: int, height: int) -> list[str]:
        """The lines as they are now, in at most ``width`` columns and ``height`` lines."""
        states = dict(self._states)
        total = self._total(len(states), width) if self._planned > 1 and states else []
        room = max(height - len(total), 1)
        return [self._line(package, state, width) for package, state in list(states.items())[:room]] + total

    def _total(self, running: int, width: int) -> list[str]:
        done = f"{self._finished} of {self._planned} packages"
        return [shortened(f"{done}, {running} running  {amount(self._bytes)}", width)]

    def _line(self, package: str, state: _State, width: int) -> str:
        head, tail = f"{state.phase}  ", self._figures(state)
        room = max(width - len(head) - len(tail), _SHORTEST_ADDRESS)
        return shortened(f"{head}{shortened(whole(package), room)}{tail}", width)

    def _figures(self, state: _State) -> str:
        if not state.done and state.total is None:
            return ""
        total = "" if state.total is None else f" of {amount(state.total)}"
        elapsed = self._clock() - state.since
        rate = f"  {amount(state.done / elapsed)}/s" if elapsed > 0 else ""
        return f"  {amount(state.done)}{total}{rate}"


def amount(number: float) -> str:
    """A number of bytes in at most three figures and a unit."""
    unit = 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number /= 1024
        unit += 1
    digits = 0 if unit == 0 or number >= 100 else 1
    return f"{number:.{digits}f} {_UNITS[unit]}"


def shortened(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns; what is in its middle goes first."""
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
