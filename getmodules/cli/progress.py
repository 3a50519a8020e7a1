"""Progress for people: one updated line for each package on a terminal, or a line for each module that is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from getmodules.api.ports import Phase, Progress
from getmodules.cli import interrupt
from getmodules.cli.options import nearest
from getmodules.cli.render import Console, cells, harmless, shorten
from getmodules.errors import ConfigError
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from getmodules.client import Client
    from getmodules.plugins.guard import Guard

AUTO, PLAIN, NONE = "auto", "plain", "none"
BUILT_IN = (AUTO, PLAIN, NONE)

_SECONDS_BETWEEN_UPDATES = 0.1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_WIDEST_PHASE = max(map(len, Phase))
_CACHED = "from the cache"
_ASKING = (Phase.RESOLVING, Phase.DOWNLOADING)
_MOVING = (Phase.DOWNLOADING, Phase.PUBLISHING)
#: The last phase of a package whose modules are there, and the word for it. What is looked at for a lock is unpacked
#: and not installed.
_DONE = {Phase.UNPACKING: "fetched", Phase.INSTALLING: "installed", Phase.PUBLISHING: "published"}


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


class Forwarding(Progress):
    """Forwards reports to the progress that is shown."""

    def __init__(self, shown: Progress) -> None:
        self.shown = shown

    def planned(self, packages: int) -> None:
        self.shown.planned(packages)

    def modules(self, package: str, names: Sequence[str]) -> None:
        self.shown.modules(package, names)

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self.shown.phase(package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        self.shown.advance(package, amount)

    def notice(self, package: str, message: str) -> None:
        self.shown.notice(package, message)

    def finished(self, package: str, error: BaseException | None) -> None:
        self.shown.finished(package, error)


class InterruptibleProgress(Forwarding):
    """Forwards reports, and checks for signals at each: reports are made between pieces of work."""

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        interrupt.check()
        super().phase(package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        interrupt.check()
        super().advance(package, amount)


class Traffic(Forwarding):
    """Forwards reports, and counts what is downloaded, for the summary of a command."""

    def __init__(self, shown: Progress) -> None:
        super().__init__(shown)
        self.began = time.monotonic()
        self._downloading: dict[str, bool] = {}
        self._bytes: dict[str, int] = {}

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._downloading[package] = phase is Phase.DOWNLOADING
        super().phase(package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        if self._downloading.get(package):
            self._bytes[package] = self._bytes.get(package, 0) + amount
        super().advance(package, amount)

    @property
    def bytes(self) -> int:
        """The number of bytes that were downloaded."""
        return sum(self._bytes.values())

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts in the addresses of the packages that were downloaded."""
        return frozenset(filter(None, map(host_of, self._bytes)))


def host_of(package: str) -> str:
    """Return the host in the address of a package."""
    return package.partition("?")[0].partition("://")[2].partition("/")[0].rpartition("@")[2]


class PluginProgress(Progress):
    """The progress of a plugin, whose exceptions are errors of the plugin."""

    def __init__(self, shown: Progress, guard: Guard, where: str) -> None:
        self._shown = shown
        self._guard = guard
        self._where = where

    def planned(self, packages: int) -> None:
        self._guard.call(self._where, self._shown.planned, packages)

    def modules(self, package: str, names: Sequence[str]) -> None:
        self._guard.call(self._where, self._shown.modules, package, names)

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


@valueclass(kw_only=False, frozen=False)
class _PackageState:
    """The state of a package. Its own thread changes it; other threads may read old values."""

    names: Sequence[str]
    phase: Phase | None = None
    total: int | None = None
    since: float = 0.0
    #: The bytes of the phase.
    done: int = 0
    #: The bytes that were downloaded, or published.
    moved: int = 0
    #: Its source was asked, for what the address means or for the content.
    asked: bool = False

    def enter(self, phase: Phase, total: int | None, now: float) -> None:
        self.phase, self.total, self.since, self.done = phase, total, now, 0
        self.asked = self.asked or phase in _ASKING

    def advance(self, amount: int) -> None:
        self.done += amount
        if self.phase in _MOVING:
            self.moved += amount


class _States(Notices):
    """Shows notices, and keeps the state of each running package."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._clock = clock
        self._states: dict[str, _PackageState] = {}

    def modules(self, package: str, names: Sequence[str]) -> None:
        self._state(package).names = names

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._state(package).enter(phase, total, self._clock())

    def advance(self, package: str, amount: int) -> None:
        self._state(package).advance(amount)

    def finished(self, package: str, error: BaseException | None) -> None:
        self._states.pop(package, None)

    def _state(self, package: str) -> _PackageState:
        # What is no package, such as a registry, has no modules: it is named itself.
        return self._states.setdefault(package, _PackageState((package,)))


class Plain(_States):
    """Shows a line when a module is there, which suits logs."""

    def finished(self, package: str, error: BaseException | None) -> None:
        state = self._states.get(package)
        super().finished(package, error)
        word = None if error is not None or state is None or state.phase is None else _DONE.get(state.phase)
        if word is None or state is None:
            return
        how = _how(state)
        for name in state.names:
            self._console.message(f"{word} {harmless(name)}{f' ({how})' if how else ''}")


def _how(state: _PackageState) -> str:
    """Return how a package came, or where it was."""
    if state.phase is Phase.PUBLISHING:
        return "there already" if state.total == 0 else format_bytes(state.moved)
    if not state.asked:
        return _CACHED
    # The bytes are those of the package: of several modules nobody knows whose they are.
    return format_bytes(state.moved) if state.moved and len(state.names) == 1 else ""


class Lines(_States):
    """Shows a line for each running package, and one for all of them, updated in place.

    A thread of its own draws them: reports do not slow the work down, and the lines change even while nothing
    arrives. Packages that are done at once are never drawn.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console, clock)
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

    def advance(self, package: str, amount: int) -> None:
        super().advance(package, amount)
        if self._state(package).phase is Phase.DOWNLOADING:
            self._bytes += amount

    def finished(self, package: str, error: BaseException | None) -> None:
        super().finished(package, error)
        self._finished += 1

    def _draw_until_stopped(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN_UPDATES):
            self._console.block(self.render(self._console.width - 1, self._console.height - 1))

    def render(self, width: int, height: int) -> list[str]:
        """Return the current lines, at most ``height`` of them with at most ``width`` columns."""
        # All modules of a package may have failed alone: none is left to be named.
        states = [state for state in dict(self._states).values() if state.phase is not None and state.names]
        total = self._total(len(states), width) if self._planned > 1 and states else []
        most = max(height - len(total), 1)
        return [self._line(state, width) for state in states[:most]] + total

    def _total(self, running: int, width: int) -> list[str]:
        done = f"{self._finished} of {self._planned} packages"
        return [shorten(f"{done}, {running} running  {format_bytes(self._bytes)}", width)]

    def _line(self, state: _PackageState, width: int) -> str:
        """Return the line of a package: the name is cut only where it is wider than the terminal."""
        head = f"{state.phase:{_WIDEST_PHASE}}  "
        for figures in self._figures(state):
            room = width - len(head) - len(figures)
            if (title := title_of(state.names, room)) is not None:
                return f"{head}{title}{figures}"
        return shorten(harmless(state.names[0]), width)

    def _figures(self, state: _PackageState) -> Iterator[str]:
        """Yield what is said behind the name, then less and less of it."""
        if not state.asked:
            yield f"  {_CACHED}"
        elif state.done or state.total is not None:
            done = f"  {format_bytes(state.done)}"
            total = "" if state.total is None else f" of {format_bytes(state.total)}"
            elapsed = self._clock() - state.since
            if elapsed > 0:
                yield f"{done}{total}  {format_bytes(state.done / elapsed)}/s"
            yield f"{done}{total}"
            yield done
        yield ""


def title_of(names: Sequence[str], width: int) -> str | None:
    """Return the names of a package's modules, or the first and how many more, in ``width`` columns; else None."""
    first, *more = map(harmless, names)
    for title in (", ".join((first, *more)), f"{first} and {len(more)} more" if more else first):
        if cells(title) <= width:
            return title
    return None


def format_bytes(number: float) -> str:
    """Return a number of bytes with at most three figures and a unit."""
    unit = 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number /= 1024
        unit += 1
    digits = 0 if unit == 0 or number >= 100 else 1
    return f"{number:.{digits}f} {_UNITS[unit]}"
