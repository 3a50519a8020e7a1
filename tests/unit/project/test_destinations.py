"""No two modules in each other's way, whatever links make of their destinations."""

from __future__ import annotations

import pytest

from getmodules import Client, ConfigError, InstallError
from getmodules.project import destinations as subject
from getmodules.project.manifest import Manifest, ModuleEntry
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _wants(project: Project, **modules: tuple[str, str]) -> None:
    project.wants(
        "".join(f'[modules.{name}]\nsource = "{source}"\ndest = "{dest}"\n' for name, (source, dest) in modules.items())
    )


def _check(project: Project) -> None:
    workspace = project.workspace()
    subject.check_manifest(workspace.manifest(), None, lambda name: True, workspace)


PACKED, WHOLE, NET = "./pkg.zip", "./src", "./src//net"


@pytest.mark.parametrize(
    ("modules", "word"),
    [
        pytest.param({"a": (PACKED, "modules/a"), "b": (PACKED, "lnk/a")}, "are the same: modules/a", id="equal"),
        pytest.param({"a": (PACKED, "modules"), "b": (PACKED, "lnk/a")}, "lie one in the other", id="nested"),
        pytest.param({"a": (PACKED, "modules/a"), "b": (PACKED, "to-be/x")}, "lie one in the other", id="not there"),
        pytest.param(
            {"a": (WHOLE, "modules/a"), "b": (PACKED, "src/vendor/b")},
            "the destination of [modules.b], src/vendor/b, lies in the directory that [modules.a] copies: ./src",
            id="in a source",
        ),
        pytest.param({"a": (WHOLE, "modules/a"), "b": (PACKED, "src")}, "[modules.a] copies", id="a source itself"),
        pytest.param({"a": (WHOLE, "modules/a"), "b": (PACKED, "deep/b")}, "[modules.a] copies", id="behind a link"),
        pytest.param({"a": (NET, "modules/a"), "b": (NET, "src/net/b")}, "[modules.a] copies", id="a source of both"),
        pytest.param({"a": ("./src//n*", "modules/a"), "b": (PACKED, "src/net/b")}, "[modules.a] copies", id="a glob"),
        pytest.param({"a": ("./none", "modules/a"), "b": (PACKED, "none/b")}, "[modules.a] copies", id="not there yet"),
        pytest.param(
            {"a": ("./Src", "modules/a"), "b": (PACKED, "src/x")}, "[modules.a] copies", id="in other letters"
        ),
    ],
)
def test_what_is_refused_before_anything_starts(
    modules: dict[str, tuple[str, str]], word: str, project: Project
) -> None:
    (project.directory / "modules").mkdir()
    (project.directory / "lnk").symlink_to("modules")
    (project.directory / "to-be").symlink_to("modules/a")
    (project.directory / "deep").symlink_to("src/net")
    _wants(project, **modules)
    before = snapshot(project.directory)
    for work in (project.client.install, project.client.lock):
        error = refusal(ConfigError, "config", work, project.directory)
        assert error.message.startswith("getmodules.toml: ")
        assert word in error.message
        assert snapshot(project.directory) == before


@pytest.mark.parametrize(
    "modules",
    [
        pytest.param({"a": (PACKED, "modules/a"), "b": (PACKED, "lnk/b")}, id="beside each other"),
        pytest.param({"a": (NET, "modules/a"), "b": (PACKED, "src/vendor/b")}, id="beside what is copied"),
        pytest.param({"a": (PACKED, "modules/a"), "b": (PACKED, "pkg.zip/b")}, id="below an archive"),
        pytest.param({"a": ("./src//n*", "modules/a"), "b": (PACKED, "src/vendor/b")}, id="beside a glob"),
        pytest.param({"a": (f"./{'n' * 300}", "modules/a"), "b": (PACKED, "none/b")}, id="a name that cannot be"),
        pytest.param({"a": ("odd", "modules/a"), "b": (PACKED, "modules/b")}, id="no address"),
        pytest.param({"a": ("git::./src", "modules/a"), "b": (PACKED, "src/b")}, id="a repository"),
    ],
)
def test_what_is_nobody_elses_way(modules: dict[str, tuple[str, str]], project: Project) -> None:
    (project.directory / "modules").mkdir()
    (project.directory / "lnk").symlink_to("modules")
    _wants(project, **modules)
    _check(project)


def test_a_lock_that_is_installed_by_itself(project: Project) -> None:
    _wants(project, a=(WHOLE, "modules/a"), b=(PACKED, "vendor/b"))
    assert project.client.lock(project.directory).failures == ()
    (project.directory / "vendor").symlink_to("src")
    before = snapshot(project.directory)
    error = refusal(ConfigError, "config", project.client.install, project.directory, frozen=True)
    assert error.message.startswith("getmodules.lock: the destination of [modules.b]")
    assert snapshot(project.directory) == before


def test_what_is_locked_under_a_pin_is_not_looked_at(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    _wants(project, a=(PACKED, "modules/a"), b=(PACKED, "modules/b"))
    project.client.lock(project.directory)
    workspace = project.workspace()
    monkeypatch.setattr(type(workspace), "detect", None)
    subject.check_manifest(workspace.manifest(), workspace.lock(), lambda name: False, workspace)


@pytest.mark.parametrize(
    ("source", "relation"),
    [
        pytest.param(".", "lies inside the source {}", id="project"),
        pytest.param("../project", "lies inside the source {}", id="project from above"),
        pytest.param("./src", "lies inside the source {}/src", id="directory"),
        pytest.param("./src/a", "is the source itself", id="the same"),
        pytest.param("./src/a/b", "contains the source {}/src/a/b", id="directory in it"),
    ],
)
def test_a_module_in_its_own_source(source: str, relation: str, project: Project) -> None:
    """Named as what it is, and not as the private directory that it would be fetched into."""
    (project.directory / "src/a/b").mkdir(parents=True)
    _wants(project, a=(source, "src/a"))
    for work in (Client.lock, Client.install):
        (failure,) = work(project.client, project.directory).failures
        assert failure.error.code == "install/inside-source"
        where = project.directory
        assert failure.error.message == f"the destination {where}/src/a {relation.format(where)}"
    workspace = project.workspace()
    entry = ModuleEntry(name="a", source=source, dest="src/a")
    refusal(InstallError, "install/inside-source", subject.check_own, entry, workspace.detect(source), workspace)
    assert not project.has_lock


def test_an_empty_manifest(project: Project) -> None:
    project.wants("")
    subject.check_manifest(Manifest(), None, lambda name: True, project.workspace())
