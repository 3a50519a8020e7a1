"""Measuring, judging and printing for all benchmarks: rivals take turns, a goal bounds a ratio, a row shows both.

Nothing else in this directory takes turns, or prints a result.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Protocol

#: A tmpfs, since the disk is not what is compared.
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
_QUICK_ROUNDS = 3


# ------------------------------------------------------------------------------------------ turns


def _nothing(place: Path) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Rival:
    """A program or function that does the work, each time in a new directory."""

    name: str
    #: The work that is timed.
    work: Callable[[Path], object]
    #: Returns the result, to be compared with that of the others; None if there is none.
    made: Callable[[Path], object] = _nothing
    #: Work before that, which is not timed.
    prepare: Callable[[Path], object] = _nothing


class Counter(Protocol):
    """Servers that count."""

    def forget(self) -> None:
        """Set the counters to zero."""

    def traffic(self) -> tuple[int, int]:
        """Return the number of requests, and of bytes in the bodies of the answers."""


@dataclass(frozen=True)
class Measured:
    """The medians of the times of all rounds, and the maxima of the traffic."""

    seconds: float
    #: Processor time of this process and of those that it has waited for.
    busy: float
    requests: int
    sent: int


def take_turns(
    rivals: Sequence[Rival],
    rounds: int,
    work: Path,
    *,
    expected: object = None,
    counter: Counter | None = None,
    keep: bool = False,
) -> dict[str, Measured]:
    """Each rival's medians, by its name.

    Each round begins with another rival. Before those that count there is one in which all have to make the same,
    and what is ``expected``, where something is. ``keep`` leaves all that is made where it is.
    """
    taken: dict[str, list[Measured]] = {rival.name: [] for rival in rivals}
    made: dict[str, object] = {} if expected is None else {"what was expected": expected}
    for number in range(rounds + 1):
        first = number % len(rivals)
        for rival in (*rivals[first:], *rivals[:first]):
            with _place(work, keep=keep) as place:
                rival.prepare(place)
                once = _measure(rival, place, counter)
                if number:
                    taken[rival.name].append(once)
                else:
                    made[rival.name] = rival.made(place)
        if not number:
            _compare({name: found for name, found in made.items() if found is not None})
        _tell_progress(number, rounds)
    return {name: _middle(found) for name, found in taken.items()}


def _measure(rival: Rival, place: Path, counter: Counter | None) -> Measured:
    if counter is not None:
        counter.forget()
    busy, began = _processor_seconds(), time.perf_counter()
    rival.work(place)
    seconds, busy = time.perf_counter() - began, _processor_seconds() - busy
    requests, sent = (0, 0) if counter is None else counter.traffic()
    return Measured(seconds, busy, requests, sent)


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _middle(taken: Sequence[Measured]) -> Measured:
    return Measured(
        median(each.seconds for each in taken),
        median(each.busy for each in taken),
        max(each.requests for each in taken),
        max(each.sent for each in taken),
    )


def _compare(made: Mapping[str, object]) -> None:
    for name, found in made.items():
        model = next(iter(made))
        if found != made[model]:
            raise SystemExit(f"not the same: {model}, and what {name} made")


@contextmanager
def _place(work: Path, *, keep: bool) -> Iterator[Path]:
    if keep:
        yield Path(tempfile.mkdtemp(dir=work))
    else:
        with fresh(work) as place:
            yield place


@contextmanager
def fresh(work: Path) -> Iterator[Path]:
    """Make a new directory, which is removed afterwards."""
    place = Path(tempfile.mkdtemp(dir=work))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _tell_progress(number: int, rounds: int) -> None:
    if sys.stderr.isatty():
        print(f"  round {number} of {rounds}" if number < rounds else "\033[K", end="\r", file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------------------ verdicts


@dataclass(frozen=True)
class Goal:
    """A bound for a value, and an aim beyond it."""

    bound: float
    is_ceiling: bool
    aim: float | None = None

    def is_reached(self, value: float) -> bool:
        return value <= self.bound if self.is_ceiling else value >= self.bound

    def __str__(self) -> str:
        aim = "" if self.aim is None else f" (aim: {self.aim:g})"
        return f"at {'most' if self.is_ceiling else 'least'} {self.bound:g}{aim}"


def at_most(bound: float, aim: float | None = None) -> Goal:
    return Goal(bound, is_ceiling=True, aim=aim)


def at_least(bound: float, aim: float | None = None) -> Goal:
    return Goal(bound, is_ceiling=False, aim=aim)


@dataclass(frozen=True)
class Row:
    """A line of a table; without a value where the machine lacks something, and ``note`` says what."""

    name: str
    value: float | None
    unit: str = ""
    note: str = ""
    goal: Goal | None = None


#: Says something more of a rival, who stands beside the one that all are compared with.
Note = Callable[[Measured, Measured], str]


def no_note(each: Measured, base: Measured) -> str:
    return ""


def of_processors(each: Measured, base: Measured) -> str:
    """Return a note of processor times, which mean something even on a busy machine."""
    return f"{each.busy / base.busy:6.2f} x the processors' time"


def of_traffic(each: Measured, base: Measured) -> str:
    return f"{each.requests:5} requests, {each.sent:12,} bytes"


def compared(
    measured: Mapping[str, Measured], base: str, *, goals: Mapping[str, Goal] | None = None, note: Note = no_note
) -> list[Row]:
    """All of them, in times of the time that ``base`` took."""
    other, goals = measured[base], goals or {}
    return [
        Row(name, each.seconds / other.seconds, "x", note(each, other), goals.get(name))
        for name, each in measured.items()
    ]


def times_as_fast(measured: Mapping[str, Measured], ours: str, peer: str, goal: Goal) -> Row:
    name = f"times as fast as {peer}"
    if peer not in measured:
        return Row(name, None, note="it is not here")
    return Row(name, measured[peer].seconds / measured[ours].seconds, goal=goal)


def show(title: str, rows: Iterable[Row]) -> bool:
    """Print a table; return whether all its goals were reached."""
    lines = [_line(row) for row in rows]
    print(f"\n{title}", *(text for text, _ in lines), sep="\n", flush=True)
    return all(reached for _, reached in lines)


def _line(row: Row) -> tuple[str, bool]:
    if row.value is None:
        return f"  {row.name:48} {'–':>9}     {row.note}", True
    digits = 0 if isinstance(row.value, int) else 2 if row.value >= 0.1 else 3
    shown = f"{row.value:,.{digits}f}"
    reached = row.goal is None or row.goal.is_reached(row.value)
    goal = "" if row.goal is None else f"goal: {row.goal}, {'reached' if reached else 'MISSED'}"
    said = "   ".join(filter(None, (row.note, goal)))
    return f"  {row.name:48} {shown:>9} {row.unit:3} {said}".rstrip(), reached


# ------------------------------------------------------------------------------------------ the command line


def arguments(
    about: str | None, jobs: Iterable[str], *, rounds: int = 7, work: Path | None = MEMORY
) -> argparse.ArgumentParser:
    """Parse the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"turns of each rival (default: {rounds})")
    parser.add_argument(
        "--quick",
        dest="rounds",
        action="store_const",
        const=_QUICK_ROUNDS,
        help=f"{_QUICK_ROUNDS} rounds: does it run, and about where are we?",
    )
    names = list(jobs)
    parser.add_argument(
        "--only", nargs="+", action="extend", choices=names, metavar="JOB", help=f"of {', '.join(names)}"
    )
    parser.add_argument("--work", type=Path, default=work, metavar="DIRECTORY", help="where all of it is done")
    return parser


@contextmanager
def workplace(directory: Path | None) -> Iterator[Path]:
    """A new directory below ``directory``, which is made where there is none; gone afterwards.

    Also where this is told to end, as ``timeout`` does: memory is full soon, and servers would go on.
    """
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        with tempfile.TemporaryDirectory(prefix="getmodules-bench-", dir=directory) as work:
            yield Path(work)
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def perform(jobs: Mapping[str, Callable[[], bool]], only: Sequence[str] | None) -> int:
    """Do the jobs that were chosen, else all; the exit code is 1 where a goal was missed."""
    reached = [job() for name, job in jobs.items() if not only or name in only]
    return 0 if all(reached) else 1
