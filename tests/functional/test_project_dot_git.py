"""``.git`` in the modules of a project: what the lock, ``install``, ``verify`` and destinations say of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from getmodules import hash_tree
from tests.support.commandline import Result, run
from tests.support.fakes import installed_files, zip_of
from tests.support.snapshots import snapshot, write_tree

FILES = {"main.tf": b"# main\n", ".git/config": b"[core]\n\tfsmonitor = x\n"}


@pytest.fixture(params=["directory", "zip"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project with the module ``vpc``, locked."""
    root = tmp_path / "project"
    source = "./src" if request.param == "directory" else "./pkg.zip"
    if request.param == "directory":
        write_tree(root / "src", FILES)
    else:
        root.mkdir()
        (root / "pkg.zip").write_bytes(zip_of(FILES))
    (root / "getmodules.toml").write_text(f'[modules.vpc]\nsource = "{source}"\n')
    assert here(root, "lock").code == 0
    return root


def here(root: Path, *argv: str) -> Result:
    return run(*argv, cwd=root, GETMODULES_PLUGINS="")


def test_the_lock_and_what_is_installed_agree(project: Path) -> None:
    assert here(project, "install").code == 0
    dest = project / "modules" / "vpc"
    assert installed_files(dest) == {"main.tf": b"# main\n"}
    assert f'h1 = "{hash_tree(dest)}"' in (project / "getmodules.lock").read_text()
    for argv in (["verify"], ["lock", "--check"], ["install", "--locked"]):
        assert here(project, *argv).code == 0


def test_a_lock_that_counts_it_does_not_hold(project: Path) -> None:
    """As earlier versions made it: with the hash of a tree that has a ``.git``."""
    write_tree(project.parent / "before", FILES)
    lock = project / "getmodules.lock"
    old = re.sub(r'"h1:[^"]*"', f'"{hash_tree(project.parent / "before")}"', lock.read_text())
    lock.write_text(old)
    before = snapshot(project)
    result = here(project, "install", "--json")
    assert result.code == 3
    (error,) = result.object["errors"]
    assert error["code"] == "lock-mismatch"
    assert "its .git is left out" in error["hint"]
    assert "getmodules lock --upgrade vpc" in error["hint"]
    after = snapshot(project)
    assert {name: after[name] for name in after if not name.startswith(".getmodules")} == before
    assert here(project, "lock", "--upgrade", "vpc").code == 0
    assert here(project, "install").code == 0
    assert here(project, "verify").code == 0


def test_a_git_that_was_added_is_seen(project: Path) -> None:
    assert here(project, "install").code == 0
    write_tree(project / "modules" / "vpc", {".git/config": b"x"})
    result = here(project, "verify", "--json")
    assert result.code != 0
    assert json.dumps(".git/config") in result.out
    assert result.object["modules"][0]["extra"] == [".git/config"]


def test_a_destination_is_none_of_its_spellings(project: Path) -> None:
    manifest = project / "getmodules.toml"
    text = manifest.read_text()
    for dest in (".git/x", "a/.GIT", "git~1", "a/.g\u200cit/b"):
        manifest.write_text(f'{text}dest = "{dest}"\n')
        before = snapshot(project)
        assert here(project, "install").code == 2
        assert snapshot(project) == before
