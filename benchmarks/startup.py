"""How long ``getmodules --help`` takes, against a Python that does nothing but import argparse.

    python benchmarks/startup.py [--runs N]

The result is the ratio of the medians; the goal is at most 1.8, and this ends with 1 where it is missed. The other
rows are there to compare with.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.harness import MEMORY, Rival, at_most, compared, show, take_turns, workplace
from benchmarks.processes import GETMODULES, run

BASELINE = "python -c 'import argparse'"
JUDGED = "getmodules --help"
GOAL = at_most(1.8)
#: All of them, and the installed command too, by the same Python.
COMMANDS: dict[str, list[str | Path]] = {
    "python -c pass": ["-c", "pass"],
    BASELINE: ["-c", "import argparse"],
    JUDGED: [GETMODULES, "--help"],
    "getmodules --version": [GETMODULES, "--version"],
    "getmodules get --help": [GETMODULES, "get", "--help"],
    "getmodules detect ./a": [GETMODULES, "detect", "./a"],
    "python -m getmodules --help": ["-m", "getmodules", "--help"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="how often each is run (default: 40)")
    runs = parser.parse_args().runs
    with workplace(MEMORY) as work:
        rivals = [Rival(name, partial(_python, command)) for name, command in COMMANDS.items()]
        measured = take_turns(rivals, runs, work)
    return 0 if show("start-up, whole processes", compared(measured, BASELINE, goals={JUDGED: GOAL})) else 1


def _python(arguments: list[str | Path], place: Path) -> None:
    run(sys.executable, *arguments, place=place)


if __name__ == "__main__":
    sys.exit(main())
