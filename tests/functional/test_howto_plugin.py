"""The examples of the page about plugins work as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import responses

from getmodules import Client, VerificationError
from getmodules.testing import zip_of
from tests.support.checkout import DOCS, ROOT
from tests.support.refusals import refusal

PAGE = DOCS / "how-to" / "write-a-plugin.rst"


def blocks() -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^( *)\.\. code-block:: python\n\n((?:\1    .*\n|\n)+)", page, re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def test_a_verifier_judges_pins_before_anything_is_fetched(tmp_path: Path) -> None:
    verifier = ModuleType("getmodules_only_ours")
    exec(blocks()[0], vars(verifier))
    (tmp_path / "theirs").mkdir()
    with Client(environ={"GETMODULES_PLUGINS": ""}, plugins=[verifier]) as client:
        refusal(VerificationError, "verification", client.get, str(tmp_path / "theirs"), tmp_path / "dest")
        assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
        with responses.RequestsMock() as server:
            server.get("https://modules.acme.example/vpc.zip", body=zip_of({"main.tf": b"# vpc"}))
            installed = client.get("https://modules.acme.example/vpc.zip", tmp_path / "vpc")
    assert [(each.check, each.value) for each in installed.evidence] == [("only-ours", "from modules.acme.example")]


def test_a_getter_that_asks_a_server_is_tested_with_responses(tmp_path: Path) -> None:
    _, plugin, test = blocks()
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
