"""``getmodules add``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import call
from tests.projects import Project

NO_CACHE = {"GETMODULES_CACHE_DIR": ""}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path / "project")
    monkeypatch.chdir(made.directory)
    return made


def test_adding(project: Project) -> None:
    done = call("add", "net", "./src//net", "--dest", "vendor/net", environ=NO_CACHE)
    assert done[:] == (0, "new  net  ./src//net\n", "")
    assert project.read("getmodules.toml") == '[modules.net]\nsource = "./src//net"\ndest = "vendor/net"\n'
    more = call("add", "zip", "./pkg.zip", "--json", environ=NO_CACHE).object
    assert [(module["name"], module["change"]) for module in more["modules"]] == [("net", "unchanged"), ("zip", "new")]


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        pytest.param(("x", "./none"), 1, "error: x: there is nothing at", id="nothing there"),
        pytest.param(("a b", "./src"), 2, "is no name for a module", id="a name"),
        pytest.param(("x", "./src", "--version", "~> 1"), 2, "file addresses have none", id="a version"),
        pytest.param(("x", "./src", "--expect", f"h1:{'A' * 43}="), 3, "error: x: ", id="an expectation"),
        pytest.param(("x", "./src", "--dest", "/x"), 2, "does not lie below", id="a place"),
    ],
)
def test_what_cannot_be_added(argv: tuple[str, ...], code: int, message: str, project: Project) -> None:
    failed = call("add", *argv, environ=NO_CACHE)
    assert (failed.code, failed.out) == (code, "")
    assert message in failed.err
    assert not project.manifest.exists()
    assert not project.has_lock
