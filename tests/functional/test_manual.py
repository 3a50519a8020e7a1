"""The manual page is made from the page about the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from getmodules.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_manual_page_has_each_command(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-b", "man", "-d", tmp_path / "trees", "docs", tmp_path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    page = (tmp_path / "getmodules.1").read_text(encoding="utf-8").replace("\\-", "-")
    headings = [line.lower() for line in page.splitlines() if line.startswith((".SH", ".SS"))]
    assert '.TH "GETMODULES" "1"' in page
    for name in COMMANDS:
        assert any(f"getmodules {name}" in heading for heading in headings)
    for option in ("--help-all", "--progress", "--mirror", "--upgrade"):
        assert option in page
