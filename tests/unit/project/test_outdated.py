"""What there is besides what is locked."""

from __future__ import annotations

import pytest

from getmodules import LockStaleError
from getmodules.project import outdated as subject
from getmodules.project.reports import OutdatedModule, OutdatedReport
from getmodules.testing import Registry
from getmodules.util.values import replace
from tests.support.fakes import Recorder
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _outdated(project: Project) -> OutdatedReport:
    return subject.outdated(project.workspace())


@pytest.fixture
def locked(project: Project, registry: Registry) -> Project:
    for version in ("1.0.0", "1.1.0"):
        registry.push_module("acme/vpc", version, {"main.tf": version})
    repository = f"oci://{registry.host}/acme/vpc"
    project.wants(
        f'[modules.ranged]\nsource = "{repository}"\nversion = "~> 1.0"\n'
        f'[modules.fixed]\nsource = "{repository}"\nversion = "1.1.0"\n',
        tagged=f"{repository}?tag=1.1.0",
        here="./src",
    )
    assert project.client.lock(project.directory).failures == ()
    return project


def test_all_is_up_to_date(locked: Project) -> None:
    assert _outdated(locked) == OutdatedReport(current=("ranged", "fixed", "tagged", "here"))


def test_newer_versions(locked: Project, registry: Registry) -> None:
    for version in ("1.2.0", "2.0.0", "2.1.0-rc.1", "0.9.0"):
        registry.push_module("acme/vpc", version, {"main.tf": version})
    before = snapshot(locked.directory)
    found = {module.name: module for module in _outdated(locked).modules}
    assert {name: (module.version, module.newest, module.latest, module.moved) for name, module in found.items()} == {
        "ranged": ("1.1.0", "1.2.0", "2.0.0", None),
        "fixed": ("1.1.0", None, "2.0.0", None),
        "tagged": ("1.1.0", None, "2.0.0", None),
    }
    assert snapshot(locked.directory) == before


def test_two_spellings_of_a_version_do_no_harm(locked: Project, registry: Registry) -> None:
    for tag in ("v0.9.0", "0.9.0", "v1.0.0", "1.2.0", "v1.2.0", "2.0.0", "v2.0.0"):
        registry.push_module("acme/vpc", tag, {"main.tf": tag})
    report = _outdated(locked)
    assert report.failures == ()
    assert {module.name: (module.newest, module.latest) for module in report.modules} == {
        "ranged": ("1.2.0", "2.0.0"),
        "fixed": (None, "2.0.0"),
        "tagged": (None, "2.0.0"),
    }


def test_what_moved(locked: Project, registry: Registry) -> None:
    registry.push_module("acme/vpc", "1.1.0", {"main.tf": "moved"})
    locked.write("src/main.tf", "moved")
    found = {module.name: module for module in _outdated(locked).modules}
    assert set(found) == {"ranged", "fixed", "tagged", "here"}
    for module in found.values():
        assert module.moved not in (None, module.current)


def test_new_modules_are_nobodys_business_and_one_failure_hides_no_other(locked: Project, registry: Registry) -> None:
    registry.push_module("acme/vpc", "3.0.0", {"main.tf": "3"})
    (locked.directory / "src").rename(locked.directory / "gone")
    locked.write("getmodules.toml", locked.read("getmodules.toml") + '[modules.new]\nsource = "./new"\n')
    report = _outdated(locked)
    assert [(failure.module, failure.error.code) for failure in report.failures] == [("here", "not-found")]
    assert {module.name for module in report.modules} == {"ranged", "fixed", "tagged"}


def test_an_entry_that_was_edited_is_not_compared_with_what_is_locked(locked: Project, registry: Registry) -> None:
    for version in ("1.0.0", "3.0.0"):
        registry.push_module("acme/other", version, {"main.tf": version})
    repository = f"oci://{registry.host}/acme"
    seen = Recorder()
    locked.wants(
        f'[modules.ranged]\nsource = "{repository}/other"\nversion = ">= 1.0"\n'
        f'[modules.fixed]\nsource = "{repository}/vpc"\nversion = "1.1.0"\n',
        new="./src",
    )
    workspace = locked.workspace()
    assert subject.outdated(
        replace(workspace, operation=replace(workspace.operation, progress=seen))
    ) == OutdatedReport(current=("fixed",), edited=("ranged",))
    assert [event for event in seen.events if event[0] == "notice"] == [
        ("notice", "not looked at, since ranged was edited and not locked again: getmodules lock")
    ]


@pytest.mark.usefixtures("quick_retries")
def test_a_repository_that_is_gone(locked: Project, registry: Registry) -> None:
    registry.stop()
    report = _outdated(locked)
    assert report.modules == ()
    assert {failure.module for failure in report.failures} == {"ranged", "fixed", "tagged"}


def test_without_a_lock(project: Project) -> None:
    project.wants(net="./src//net")
    refusal(LockStaleError, "lock-stale", _outdated, project)


def test_a_source_that_was_edited_is_stale_and_no_move(locked: Project) -> None:
    locked.wants(here="./pkg.zip")
    assert _outdated(locked) == OutdatedReport(edited=("here",))


def test_a_module_is_described() -> None:
    assert OutdatedModule(name="a", source="b", current="c").moved is None
