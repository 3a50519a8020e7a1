"""``getmodules install``."""

from __future__ import annotations

import pytest

from tests.support.commandline import call, without_seconds
from tests.support.projects import Project


@pytest.fixture
def project(project: Project) -> Project:
    project.wants(net="./src//net", packed="./pkg.zip")
    return project


def test_a_line_for_each_module(project: Project) -> None:
    done = call("install")
    assert without_seconds(done.out) == (
        "net     installed  modules/net\npacked  installed  modules/packed\n2 installed\n"
    )
    assert (done.code, done.err) == (0, "note: getmodules.lock was written\n")
    again = call("install")
    assert (again.code, again.err) == (0, "")
    assert without_seconds(again.out).splitlines()[1:] == ["packed  unchanged  modules/packed", "2 unchanged"]


def test_as_json(project: Project) -> None:
    done = call("install", "net", "--json").object
    assert [(module["name"], module["action"], module["subdir"]) for module in done["modules"]] == [
        ("net", "installed", "")
    ]
    assert (done["lock_written"], done["errors"], done["seconds"] >= 0) == (True, [], True)


def test_failures_decide_the_exit_code(project: Project) -> None:
    project.wants(net="./src//net", none="./none")
    failed = call("install")
    assert failed.code == 1
    assert without_seconds(failed.out) == "net  installed  modules/net\n1 installed, 1 failed\n"
    assert failed.err.startswith("error: none: there is nothing at ")


def test_locked(project: Project) -> None:
    refused = call("install", "--locked")
    assert (refused.code, refused.out) == (5, "")
    assert "getmodules.lock does not say what the manifest says: there is no getmodules.lock" in refused.err


def test_quiet(project: Project) -> None:
    assert call("install", "-q")[:] == (0, "", "")


def test_force(project: Project) -> None:
    call("install")
    project.write("modules/net/net.tf", "mine")
    refused = call("install")
    assert (refused.code, "modified net.tf" in refused.err) == (1, True)
    assert call("install", "--force").code == 0
    assert project.tree("modules/net") == {"net.tf": b"# net\n"}


def test_nobody_is_asked_for_a_frozen_project(project: Project) -> None:
    call("lock")
    project.manifest.unlink()
    assert call("install", "--frozen", "--offline").code == 0


def test_pruning(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip", edited="./src")
    call("install")
    project.write("modules/edited/main.tf", "mine")
    project.wants(packed="./pkg.zip")
    assert call("install", "packed", "--prune", "--json").object["pruned"] == []
    done = call("install", "--prune")
    assert (done.code, without_seconds(done.out).splitlines()) == (
        0,
        [
            "packed  unchanged  modules/packed",
            "modules/edited  kept     it is not what was installed there",
            "modules/net     removed",
            "1 unchanged, 1 removed, 1 kept",
        ],
    )
    assert call("install", "--prune", "--json").object["pruned"] == [
        {"dest": "modules/edited", "state": "kept", "reason": "it is not what was installed there"}
    ]
    assert call("install", "--json").object["pruned"] == []
    assert call("install", "--prune", "-q")[:] == (0, "", "")


def test_a_destination_is_named_as_seen_from_here(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    call("install")
    project.write("modules/net/net.tf", "mine")
    monkeypatch.chdir(project.directory / "src/net")
    failed = call("install")
    assert without_seconds(failed.out) == "packed  unchanged  ../../modules/packed\n1 unchanged, 1 failed\n"
    assert "error: net: ../../modules/net is not what was installed there" in failed.err
    monkeypatch.chdir(project.directory.parent)
    done = call("install", "--manifest", "project", "--force")
    assert done.out.startswith("net     installed  project/modules/net\npacked  unchanged  project/modules/packed\n")
