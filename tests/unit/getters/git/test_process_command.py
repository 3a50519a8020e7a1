"""git itself: which one, with which environment, and what it costs when there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules import FetchError, ToolMissingError
from getmodules.getters.git.environment import environment
from getmodules.getters.git.process import Git
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.tools import need

ENVIRON = {"PATH": os.environ["PATH"]}


def a_git(**environ: str) -> Git:
    need("git")
    return Git(a_context(environ=ENVIRON | environ))


def fake(directory: Path, script: str) -> str:
    directory.mkdir()
    program = directory / "git"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    program.chmod(0o755)
    return str(directory)


def test_no_git(tmp_path: Path) -> None:
    error = refusal(ToolMissingError, "tool-missing", Git, a_context(environ={"PATH": str(tmp_path)}))
    assert "2.31" in (error.hint or "")


def test_a_git_that_cannot_be_run(tmp_path: Path) -> None:
    broken = fake(tmp_path / "bin", "")
    (tmp_path / "bin" / "git").write_bytes(b"\x7fELF rubbish")
    git = Git(a_context(environ={"PATH": broken}))
    with pytest.raises(FetchError) as caught:
        git.run(["version"], environment(os.environ, tmp_path))
    assert caught.value.code == "fetch/unreadable"


def test_a_run(tmp_path: Path) -> None:
    git = a_git()
    done = git.run(["version"], environment(ENVIRON, tmp_path))
    assert done.code == 0
    assert done.output.startswith(b"git version 2.")
    assert git.run(["hash-object", "--stdin"], environment(ENVIRON, tmp_path), given=b"").output == (
        b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
    )


def test_nothing_of_this_process_gets_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_EVIL", "SOMETHING_ELSE", "GETMODULES_TOKEN_ghcr_io"):
        monkeypatch.setenv(name, "evil")
    bin_path = fake(tmp_path / "bin", "/usr/bin/env")
    git = Git(a_context(environ={"PATH": bin_path}))
    told = git.run([], environment({"HOME": "/home/ada"}, tmp_path / "store")).output.decode()
    assert "evil" not in told
    assert "HOME=/home/ada\n" in told
    assert f"GIT_DIR={tmp_path}/store\n" in told


@pytest.mark.parametrize(
    ("version", "too_old"),
    [("2.30.9", True), ("1.99.0", True), ("2.31.0", False), ("2.50.1 (Apple Git-155)", False), ("3.0.0", False)],
)
def test_the_floor(version: str, too_old: bool, tmp_path: Path) -> None:
    git = Git(a_context(environ={"PATH": fake(tmp_path / "bin", f"echo 'git version {version}'")}))
    environ = environment({}, tmp_path)
    if too_old:
        assert (
            version.rpartition(".")[0] in refusal(ToolMissingError, "tool-missing", git.check_version, environ).message
        )
    else:
        git.check_version(environ)
