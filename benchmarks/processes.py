"""Programs for the benchmarks: their paths and environment, and the delay to their servers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from getmodules.util.redact import printable

TOOLS = Path(os.environ.get("GETMODULES_TOOLS") or Path.home() / ".cache" / "getmodules-tools")
GETMODULES = Path(sys.executable).with_name("getmodules")
DELAY_SECONDS = 0.010  # each way


def tool(name: str) -> str | None:
    """Find a program by the variable of its name (``TOFU``, ``GO_GETTER``), among our tools, or on ``PATH``."""
    own = TOOLS / name
    return os.environ.get(name.upper().replace("-", "_")) or (str(own) if own.exists() else shutil.which(name))


def environment(place: Path) -> dict[str, str]:
    """Return the environment of a user without settings, whose home is ``place``."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "CHECKPOINT_DISABLE": "1",
        "GETMODULES_CACHE_DIR": "",
    }


def run(*command: str | os.PathLike[str], place: Path, environ: Mapping[str, str] | None = None) -> None:
    """Run a process; if it fails, end this one with its output."""
    _run(command, place, environ, subprocess.DEVNULL)


def peak_memory(*command: str | os.PathLike[str], place: Path, environ: Mapping[str, str] | None = None) -> float:
    """The most memory that a whole process needed, in MiB.

    A little process starts it: what a parent holds is counted as its child's, until the child holds more.
    """
    said = _run((sys.executable, "-c", _STARTER, *command), place, environ, subprocess.PIPE)
    return int(said) / (1 << 20 if sys.platform == "darwin" else 1 << 10)


_STARTER = """\
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet), 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _run(
    command: Sequence[str | os.PathLike[str]], place: Path, environ: Mapping[str, str] | None, stdout: int
) -> bytes:
    done = subprocess.run(
        command,
        cwd=place,
        env={**environment(place), **(environ or {})},
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
    if done.returncode != 0:
        raise SystemExit(f"{command} failed: {printable(done.stderr.decode(errors='replace'), 2_000)}")
    return done.stdout or b""


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
