"""GitPython in this process: imported once, without a trace, and shared with a program that uses it itself."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from getmodules import ToolMissingError
from getmodules.getters.git import process as gitpython
from getmodules.getters.git.process import runner
from tests.support.refusals import refusal
from tests.support.tools import need

IMPORTED = """
import os
ours, before = os.environ, dict(os.environ)
from getmodules.getters.git.process import runner
print(runner().__name__)
assert os.environ is ours
assert os.environ == before
"""
#: A program that uses GitPython itself, before or after.
THEIRS_TOO = {
    "theirs after ours": "runner(); import git; theirs = git.Git",
    "theirs before ours": "import git; theirs = git.Git; runner()",
}
SURROUNDINGS = {
    "nothing": {},
    "traces": {"GIT_TRACE": "{place}/trace", "GIT_TRACE2_EVENT": "{place}/trace", "GIT_PYTHON_TRACE": "full"},
    "broken settings": {"GIT_CONFIG_COUNT": "x", "GIT_CONFIG_PARAMETERS": "'"},
    "no git": {"PATH": "{place}"},
    "no git, and GitPython may say so": {"PATH": "{place}", "GIT_PYTHON_REFRESH": "warn"},
    "no git, and GitPython must say so": {"PATH": "{place}", "GIT_PYTHON_REFRESH": "raise"},
    "no git where GitPython looks": {"GIT_PYTHON_GIT_EXECUTABLE": "{place}/git"},
    "a wish that GitPython does not know": {"GIT_PYTHON_REFRESH": "x"},
}


def run(code: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("environ", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_no_variable_shows_and_nothing_is_printed(environ: dict[str, str], tmp_path: Path) -> None:
    """GitPython runs git when it is imported."""
    assert run(IMPORTED, **{name: value.format(place=tmp_path) for name, value in environ.items()}) == "Git"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("order", THEIRS_TOO.values(), ids=THEIRS_TOO)
def test_beside_a_program_that_uses_it(order: str) -> None:
    need("git")
    check = "print(theirs().version_info >= (2,), git.Repo.__name__, git.GIT_OK, runner() is theirs)"
    assert run(f"from getmodules.getters.git.process import runner\n{order}\n{check}") == "True Repo True True"


def test_the_program_chooses_the_git_of_gitpython(tmp_path: Path) -> None:
    chosen = tmp_path / "git"
    chosen.symlink_to(need("git"))
    code = "from getmodules.getters.git.process import runner\nprint(runner().GIT_PYTHON_GIT_EXECUTABLE)"
    assert run(code, GIT_PYTHON_GIT_EXECUTABLE=str(chosen)) == str(chosen)


def test_once() -> None:
    assert runner() is runner()


@pytest.mark.parametrize("module", [None, os], ids=["not there", "another module of that name"])
def test_a_gitpython_that_cannot_be_used(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = os.environ
    monkeypatch.setitem(sys.modules, "git", module)
    error = refusal(ToolMissingError, "tool-missing", gitpython._imported.__wrapped__)
    assert "GitPython cannot be used" in error.message
    assert "install getmodules again" in (error.hint or "")
    assert os.environ is environ


@pytest.mark.parametrize("script", ["exit 1", "exit 0"], ids=["fails", "says nothing"])
def test_a_git_that_does_not_work(script: str, tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    git.chmod(0o755)
    code = """
from getmodules import ToolMissingError
from getmodules.getters.git.process import runner
try:
    runner()
except ToolMissingError as error:
    print(error.hint)
"""
    assert "`git version` works" in run(code, PATH=str(tmp_path))


def test_an_import_that_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gitpython._imported.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "git", None)
        refusal(ToolMissingError, "tool-missing", runner)
    assert runner().__name__ == "Git"


def test_other_threads_see_and_change_the_environment_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TRACE", "1")
    monkeypatch.setenv("GONE_SOON", "x")

    def another() -> tuple[str | None, bool]:
        seen = os.environ.get("GIT_TRACE"), os.environ.copy() == dict(os.environ)
        os.environ["SET_MEANWHILE"] = "y"
        os.environ.update(SET_AS_WELL="z")
        del os.environ["GONE_SOON"]
        return seen

    with gitpython._environ_without_git(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(another).result() == ("1", True)
        assert "GIT_TRACE" not in os.environ
        assert os.environ.copy() == dict(os.environ)
    assert (os.environ.pop("SET_MEANWHILE"), os.environ.pop("SET_AS_WELL")) == ("y", "z")
    assert os.environ["GIT_TRACE"] == "1"
    assert "GONE_SOON" not in os.environ
    monkeypatch.setenv("GONE_SOON", "x")
