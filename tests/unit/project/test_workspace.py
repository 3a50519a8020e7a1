"""What work on a project is done with."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from getmodules import ConfigError, InstallError, Limits, NetworkError
from getmodules.project import workspace as subject
from getmodules.project.lockfile import Lock
from getmodules.project.manifest import ProjectFiles
from getmodules.util.values import replace
from tests.support.processes import as_each_user
from tests.support.projects import Project
from tests.support.refusals import refusal


def test_relative_sources_start_beside_the_manifest(project: Project) -> None:
    project.wants("")
    assert str(project.workspace().detect("./src//net")) == f"file://{project.directory}/src//net"


def test_the_lock_is_written_only_where_it_changes(project: Project) -> None:
    project.wants("")
    workspace = project.workspace()
    assert workspace.lock() is None
    assert workspace.write_lock(Lock())
    assert workspace.lock() == Lock()
    assert not workspace.write_lock(Lock())


def test_a_run_that_was_cancelled(project: Project) -> None:
    project.wants("")
    workspace = project.workspace()
    workspace.checkpoint()
    workspace.operation.cancelled.set()
    refusal(InstallError, "install/cancelled", workspace.checkpoint)


def test_destinations_lie_in_the_project(project: Project, tmp_path: Path) -> None:
    project.wants("")
    workspace = project.workspace()
    assert workspace.dest("modules/vpc") == project.directory / "modules/vpc"
    (project.directory / "inside").symlink_to("src")
    assert workspace.dest("inside/vpc") == project.directory / "inside/vpc"
    (project.directory / "outside").symlink_to(tmp_path)
    (project.directory / "up").symlink_to("..")
    (project.directory / ".git").mkdir()
    (project.directory / "deep").mkdir()
    (project.directory / "repository").symlink_to(".git")
    (project.directory / "deep/repository").symlink_to("../.git")
    (project.directory / "ours").symlink_to(".getmodules")
    for dest in ("outside/vpc", "outside/a/b", "up/vpc", "repository/hooks", "deep/repository/hooks", "ours/vpc"):
        error = refusal(InstallError, "install/protected", workspace.dest, dest)
        assert dest in error.message


def test_a_project_that_is_reached_through_a_link(project: Project, tmp_path: Path) -> None:
    project.wants("")
    (tmp_path / "link").symlink_to(project.directory)
    other = Project.__new__(Project)
    other.directory, other.client = tmp_path / "link", project.client
    assert other.workspace().dest("modules/vpc") == tmp_path / "link/modules/vpc"


def test_relative_sources_of_a_project_that_is_reached_through_a_link(project: Project, tmp_path: Path) -> None:
    """As for whoever went there: ``..`` is above the project, not above the link."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere/link"
    link.symlink_to(project.directory)
    project.wants("")
    workspace = replace(project.workspace(), files=ProjectFiles.from_path(link))
    assert str(workspace.detect("../src")) == str(project.workspace().detect("../src")) == f"file://{tmp_path}/src"


def test_which_modules() -> None:
    known = ("a", "b", "c")
    assert subject.choose_modules((), known) == known
    assert subject.choose_modules(("c", "a", "c"), known) == ("c", "a")
    assert refusal(ConfigError, "config", subject.choose_modules, ("x",), known).hint == "known: a, b, c"


def test_nobody_waits_for_a_turn_longer_than_an_operation_may_take(project: Project) -> None:
    project.wants("")
    workspace = project.workspace()
    hurried = replace(workspace, operation=replace(workspace.operation, limits=Limits(seconds=1)))

    def wait() -> None:
        with hurried.exclusive():
            pytest.fail("it was somebody else's turn")

    with workspace.exclusive():
        refusal(NetworkError, "network/timeout", wait)
    with hurried.exclusive():
        assert (project.directory / ".getmodules/busy").exists()


def test_a_private_directory_is_gone_afterwards(project: Project) -> None:
    project.wants("")

    def fail() -> None:
        with subject.private_directory(project.workspace()) as spare:
            assert spare.parent == project.directory
            (spare / "x").mkdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert project.leftovers() == set()


@as_each_user
def test_a_private_directory_where_the_project_is_only_read(place: Path) -> None:
    project = Project(place / "project")
    project.wants("")
    project.directory.chmod(0o555)
    with subject.private_directory(project.workspace()) as spare:
        assert spare.parent == (project.directory if os.geteuid() == 0 else Path(tempfile.gettempdir()))
    assert not spare.exists()


def test_the_manifest_is_there_only_where_it_was_read(project: Project) -> None:
    project.wants(net="./src//net")
    assert list(project.workspace().manifest().modules) == ["net"]
    with pytest.raises(AssertionError):
        project.workspace(read=False).manifest()
