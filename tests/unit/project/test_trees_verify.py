"""The trees on disk against the lock."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from getmodules import ConfigError, LockStaleError
from getmodules.project import trees as subject
from getmodules.project.reports import Difference, Differences, TreeState, VerifiedModule
from getmodules.testing import Registry
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot

EDITED = {"main.tf": (Difference.CONTENT,)}


def _verify(project: Project, *names: str) -> dict[str, VerifiedModule]:
    report = subject.verify(names, project.workspace(read=False))
    assert report.ok is all(module.state is TreeState.OK for module in report.modules)
    return {module.name: module for module in report.modules}


@pytest.fixture
def installed(project: Project) -> Project:
    project.wants(net="./src//net", packed="./pkg.zip")
    assert project.client.install(project.directory).failures == ()
    return project


def test_all_is_well(installed: Project) -> None:
    before = snapshot(installed.directory)
    installed.manifest.unlink()
    assert {name: module.state for name, module in _verify(installed).items()} == {"net": "ok", "packed": "ok"}
    del before["getmodules.toml"]
    assert snapshot(installed.directory) == before


def test_what_differs_is_told_file_by_file(installed: Project) -> None:
    installed.write("modules/packed/main.tf", "# mine\n")
    installed.write("modules/packed/sub/new.tf", "# mine\n")
    (installed.directory / "modules/packed/net/net.tf").unlink()
    before = snapshot(installed.directory)
    found = _verify(installed)["packed"]
    assert found.state is TreeState.MODIFIED
    assert found.found not in (None, found.h1)
    assert found.differences == Differences(changed=EDITED, missing=("net/net.tf",), extra=("sub/new.tf",))
    assert snapshot(installed.directory) == before


def test_missing(installed: Project) -> None:
    shutil.rmtree(installed.directory / "modules/packed")
    (installed.directory / "modules/packed").mkdir()
    shutil.rmtree(installed.directory / "modules/net")
    for found in _verify(installed).values():
        assert (found.state, found.differences) == (TreeState.MISSING, None)


@pytest.mark.parametrize("what", ["file", "link"])
def test_something_else_in_its_place(what: str, installed: Project) -> None:
    dest = installed.directory / "modules/net"
    shutil.rmtree(dest)
    if what == "file":
        dest.write_text("x")
    else:
        dest.symlink_to(installed.directory / "src/net")
    found = _verify(installed)["net"]
    assert (found.state, found.found) == (TreeState.MODIFIED, None)
    assert found.error is not None
    assert found.error.code == "install/protected"
    assert {"file": "no directory", "link": "is a link"}[what] in found.error.message
    assert "install" in (found.error.hint or "")


@pytest.mark.parametrize(
    ("where", "code", "word"),
    [
        pytest.param("outside", "install/protected", "behind a link", id="a link out of the project"),
        pytest.param(".git", "install/protected", "behind a link", id="a link to where no module may be"),
        pytest.param("file", "install", "cannot look at", id="a file"),
    ],
)
def test_something_else_in_the_place_of_its_parent(where: str, code: str, word: str, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants(last="./pkg.zip", text='[modules.net]\nsource = "./src//net"\ndest = "first/net"\n')
    assert project.client.install(project.directory).failures == ()
    moved = tmp_path / "elsewhere" if where != ".git" else project.directory / ".git"
    (project.directory / "first").rename(moved)
    if where == "file":
        (project.directory / "first").write_text("x")
    else:
        (project.directory / "first").symlink_to(moved)
    before = snapshot(tmp_path)
    found = _verify(project)
    assert {name: module.state for name, module in found.items()} == {"net": "modified", "last": "ok"}
    assert found["net"].error is not None
    assert (found["net"].error.code, found["net"].found) == (code, None)
    assert word in found["net"].error.message
    assert found["last"].error is None
    assert snapshot(tmp_path) == before


def test_a_link_in_a_tree_that_leads_nowhere(installed: Project) -> None:
    (installed.directory / "modules/net/link").symlink_to("nowhere")
    found = _verify(installed)["net"]
    assert (found.state, found.found, found.differences) == (TreeState.MODIFIED, None, None)
    assert found.error is not None
    assert found.error.code == "unsafe-content/link-dangling"


def test_only_some(installed: Project) -> None:
    assert list(_verify(installed, "net")) == ["net"]
    assert refusal(ConfigError, "config", _verify, installed, "nett").hint == "did you mean net?"


def test_without_a_lock(project: Project) -> None:
    project.wants(net="./src//net")
    assert refusal(LockStaleError, "lock-stale", _verify, project).exit_code == 5


@pytest.mark.parametrize("cached", [True, False])
def test_nobody_is_asked(cached: bool, tmp_path: Any, registry: Registry) -> None:
    """The cache may know what was there; a server is never asked for it."""
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "one"})
    project = Project(tmp_path / "project", use_cache=cached, cache_dir=tmp_path / "cache")
    project.wants(vpc=f"oci://{registry.host}/acme/vpc?tag=1.0.0")
    project.client.install(project.directory)
    project.write("modules/vpc/main.tf", "two")
    registry.forget_requests()
    found = _verify(project)["vpc"]
    assert found.state is TreeState.MODIFIED
    assert found.differences == (Differences(changed=EDITED) if cached else None)
    assert not registry.requests
    assert project.leftovers() == set()


def test_an_empty_module(project: Project) -> None:
    (project.directory / "empty").mkdir()
    project.wants(m="./empty")
    project.client.install(project.directory)
    assert _verify(project)["m"].state is TreeState.OK
