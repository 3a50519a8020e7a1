"""How long ``getmodules --help`` takes, against a Python that does nothing but import argparse.

    python benchmarks/startup.py [--runs N]

Both run in turns, so that whatever else the machine does hits both. The result is the ratio of the medians;
the goal is at most 2, and this ends with 1 where it is missed. The other rows are there to compare with.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

BASELINE = "python -c 'import argparse'"
GOAL = 2.0
#: The installed command, run by the same Python as the baseline.
SCRIPT = str(Path(sys.executable).with_name("getmodules"))
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    BASELINE: ["-c", "import argparse"],
    "getmodules --help": [SCRIPT, "--help"],
    "getmodules --version": [SCRIPT, "--version"],
    "getmodules get --help": [SCRIPT, "get", "--help"],
    "getmodules detect ./a": [SCRIPT, "detect", "./a"],
    "python -m getmodules --help": ["-m", "getmodules", "--help"],
}
JUDGED = "getmodules --help"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="how often each is run (default: 40)")
    runs = parser.parse_args().runs
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(runs + 1):
        for name, arguments in COMMANDS.items():
            taken = _time_of([sys.executable, *arguments])
            if turn:  # the first turn compiles modules and warms caches
                seconds[name].append(taken)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"{'median of ' + str(runs):28} {'ms':>7} {'fastest':>8} {'ratio':>6}")
    for name, median in medians.items():
        ratio = median / medians[BASELINE]
        print(f"{name:28} {median * 1000:7.1f} {min(seconds[name]) * 1000:8.1f} {ratio:6.2f}")
    ratio = medians[JUDGED] / medians[BASELINE]
    met = ratio <= GOAL
    print(f"\n{JUDGED}: {ratio:.2f} times {BASELINE}; the goal of {GOAL:g} is {'met' if met else 'MISSED'}")
    return 0 if met else 1


def _time_of(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
