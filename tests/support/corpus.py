"""All hostile archives, each by name, with verdict and reason. Nothing binary is checked in.

``python -m tests.support.corpus DIRECTORY`` writes them with an index, to be looked at with other tools.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.support.hostiletars import tar_cases
from tests.support.hostilezips import zip_cases
from tests.support.securitycases import Case

CASES: tuple[Case, ...] = (*zip_cases(), *tar_cases())


def write(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    lines = []
    for case in CASES:
        name = f"{re.sub(r'[^a-z0-9]+', '-', case.name.lower()).strip('-')}.{case.kind}"
        (directory / name).write_bytes(case.build())
        lines.append(f"{name}\t{case.code or 'accepted'}\t{case.why}\n")
    (directory / "INDEX").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
