"""One class of GitPython, and no sign of it in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from getmodules import ToolMissingError
from getmodules.git import gitpython
from getmodules.git.gitpython import Apart, runner
from tests.refusals import refusal
from tests.tools import need

LOADED = """
import os, sys
before = dict(os.environ)
from getmodules.git.gitpython import runner
runner()
assert os.environ == before
print([name for name in sys.modules if name.partition(".")[0] in ("git", "gitdb")])
"""
#: A program that uses GitPython itself: it gets the whole one, and ours goes on working beside it.
THEIRS_TOO = {
    "theirs after ours": "runner(); import git; theirs = git.Git",
    "theirs before ours": "import git; theirs = git.Git; runner()",
}


def run(code: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_nothing_else_of_it_is_loaded_and_nothing_is_run(tmp_path: Path) -> None:
    """Its own ``__init__`` runs git, which would write this trace; without a git it would not even be imported."""
    trace = tmp_path / "trace"
    assert run(LOADED, GIT_TRACE=str(trace)) == "[]"
    assert not trace.exists()
    assert run(LOADED, PATH=str(tmp_path)) == "[]"


@pytest.mark.parametrize("order", THEIRS_TOO.values(), ids=THEIRS_TOO)
def test_beside_a_program_that_uses_it(order: str) -> None:
    need("git")
    check = "print(theirs().version_info >= (2,), git.Repo.__name__, runner() is not theirs)"
    assert run(f"from getmodules.git.gitpython import runner\n{order}\n{check}") == "True Repo True"


def test_once() -> None:
    assert runner() is runner()
    apart = Apart()
    assert issubclass(apart.module("git.cmd").GitCommandError, apart.module("git.exc").GitError)


@pytest.mark.parametrize("name", ["git.there_is_none", "there_is_none.cmd"])
def test_what_is_not_there(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="there_is_none"):
        Apart().module(name)


def test_a_module_that_fails_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "half_installed"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit", encoding="ascii")
    (package / "cmd.py").write_text("import nowhere_to_be_found", encoding="ascii")
    monkeypatch.syspath_prepend(str(tmp_path))
    apart = Apart()
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
            apart.module("half_installed.cmd")


def test_a_gitpython_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Apart):
        def module(self, name: str) -> object:  # type: ignore[override]
            raise ImportError(f"{name} is broken")

    monkeypatch.setattr(gitpython, "Apart", Broken)
    error = refusal(ToolMissingError, "tool-missing", runner.__wrapped__)
    assert "git.cmd is broken" in error.message
    assert "install getmodules again" in (error.hint or "")
