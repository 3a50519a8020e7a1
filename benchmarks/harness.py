"""What the benchmarks share: finding peers, a far-away network, whole processes, turns, verdicts."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from getmodules.redact import printable

TOOLS = Path(os.environ.get("GETMODULES_TOOLS") or Path.home() / ".cache" / "getmodules-tools")
GETMODULES = Path(sys.executable).with_name("getmodules")
#: What is compared is not the disk.
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
DELAY_SECONDS = 0.010  # each way

#: Does its work in the directory that it is given.
Rival = Callable[[Path], None]


def tool(name: str) -> str | None:
    """A program: where the variable of its name says (``TOFU``, ``GO_GETTER``), among our tools, on ``PATH``."""
    own = TOOLS / name
    return os.environ.get(name.upper().replace("-", "_")) or (str(own) if own.exists() else shutil.which(name))


def environment(place: Path) -> dict[str, str]:
    """A user without settings, at home in ``place``, whose programs call nobody home."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "CHECKPOINT_DISABLE": "1",
        "GETMODULES_CACHE_DIR": "",
    }


def run(*command: str | os.PathLike[str], place: Path, environ: Mapping[str, str] | None = None) -> None:
    """A whole process; where it fails, this one ends with what it had to say."""
    done = subprocess.run(
        command,
        cwd=place,
        env={**environment(place), **(environ or {})},
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if done.returncode != 0:
        raise SystemExit(f"{command} failed: {printable(done.stderr.decode(errors='replace'), 2_000)}")


@contextmanager
def delayed(target: str, seconds: float = DELAY_SECONDS, megabits: float | None = None) -> Iterator[str]:
    """A way to ``target`` that is longer, in a process of its own: it must not take our interpreter's time."""
    program = [sys.executable, str(Path(__file__).with_name("delay.py")), target, str(seconds)]
    process = subprocess.Popen(
        program + ([] if megabits is None else [str(megabits)]), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def fresh(work: Path) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(dir=work))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def measure(rivals: Mapping[str, Rival], rounds: int, work: Path) -> dict[str, float]:
    """Medians of interleaved rounds; every run gets a fresh place."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for number in range(rounds):
        for name, rival in rivals.items():
            with fresh(work) as place:
                began = time.perf_counter()
                rival(place)
                times[name].append(time.perf_counter() - began)
        print(f"  round {number + 1} of {rounds}", end="\r", file=sys.stderr)
    return {name: statistics.median(found) for name, found in times.items()}


def show(title: str, medians: Mapping[str, float]) -> None:
    print(f"\n{title}")
    for name, median in medians.items():
        print(f"  {name:44} {median * 1000:9.1f} ms")


def verdict(text: str, value: float, goal: float, *, at_most: bool, aim: float | None = None) -> bool:
    """Say whether ``value`` is where it has to be, and where we would like it."""
    reached = value <= goal if at_most else value >= goal
    bound = f"goal: at {'most' if at_most else 'least'} {goal:g}" + ("" if aim is None else f", aim: {aim:g}")
    print(f"  → {text}: {value:.2f} ({bound}) {'reached' if reached else 'MISSED'}", flush=True)
    return reached
