"""The project's own tests, where somebody has installed other people's plugins beside getmodules."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

#: A policy that refuses everything, and a getter that claims a scheme of ours.
STRANGER = """
from getmodules import Gate, VerificationError, hookimpl


class Refuses:
    name = "stranger"
    gates = (Gate.PIN, Gate.BYTES, Gate.TREE)

    def verify(self, gate, subject, context):
        raise VerificationError("the stranger says no")


class Claims:
    schemes = ("https",)

    def fetch(self, pin, wants, context):
        raise NotImplementedError


@hookimpl
def getmodules_verifiers():
    return (Refuses(),)


@hookimpl
def getmodules_getters():
    return (Claims(),)
"""
ENTRY_POINTS = "[getmodules]\nstranger = stranger_plugin\nbroken = stranger_that_is_missing\n"
#: In this process, in a child of an environment of its own, with a plugin of a test's own, through git.
TRIED = (
    "tests/unit/cli/test_get.py",
    "tests/functional/test_cli_outcomes.py::test_success",
    "tests/functional/test_cli_outcomes.py::test_a_failure_of_a_getter",
    "tests/functional/test_git_isolation.py::test_inside_a_hook_of_the_callers_repository",
)


def with_strangers(place: Path) -> Path:
    """Return a Python that has what this one has, and strangers."""
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    library = next(place.glob("lib/python*/site-packages"))
    (library / "all.pth").write_text("\n".join((str(ROOT), *(each for each in sys.path if "site-packages" in each))))
    (library / "stranger_plugin.py").write_text(STRANGER)
    metadata = library / "stranger_bits-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger-bits\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    command = place / "bin" / "getmodules"
    command.write_text(f"#!{python}\nimport sys\nfrom getmodules.cli.main import entry\nsys.exit(entry())\n")
    command.chmod(0o755)
    return python


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the command of the environment is a script")
def test_with_a_strangers_plugin_installed_our_own_tests_pass(tmp_path: Path) -> None:
    python = with_strangers(tmp_path / "venv")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GETMODULES_")}
    command = [python.with_name("getmodules"), "plugins"]
    seen = subprocess.run(command, capture_output=True, text=True, env=environ, check=False).stdout
    assert "stranger-bits 1.0" in seen  # or nothing is tried
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TRIED],
        capture_output=True, text=True, cwd=ROOT, env=environ, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-5000:]
