"""The examples of the page about plugins work as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.support.checkout import DOCS, ROOT

PAGE = DOCS / "how-to" / "write-a-plugin.rst"


def blocks() -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", page, re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def test_a_getter_that_asks_a_server_is_tested_with_responses(tmp_path: Path) -> None:
    plugin, test = blocks()
    (tmp_path / "getmodules_acme.py").write_text(plugin, encoding="utf-8")
    (tmp_path / "test_acme.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
