"""What modules are today."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from getmodules import Elsewhere
from getmodules.project import lock as subject
from getmodules.project.lockfile import parse_lock
from getmodules.project.select import find_targets
from tests.support.fakes import FakeGetter, FakePlugin, a_pin, blob, zip_of
from tests.support.projects import Project


def _targets(project: Project) -> dict[str, Any]:
    workspace = project.workspace()
    return dict(find_targets(workspace.manifest().modules.values(), workspace).done)


def test_fetched_and_thrown_away(project: Project) -> None:
    project.wants(net="./src//net", none="./none")
    outcome = subject.fetch_entries(_targets(project), project.workspace())
    module, package = outcome.done["net"]
    assert (module.package, package.address) == ("./src//net", "./src//net")
    assert [failure.module for failure in outcome.failures] == ["none"]
    assert not (project.directory / "modules").exists()


def test_nothing_to_do(project: Project) -> None:
    project.wants("")
    before = set(project.directory.iterdir())
    assert subject.fetch_entries({}, project.workspace()).done == {}
    assert set(project.directory.iterdir()) == before


def test_what_can_be_asked_for_is_not_fetched(tmp_path: Path) -> None:
    cheap = FakeGetter(schemes=("cheap",), answer=lambda *_: blob(zip_of()))
    cheap.pin = lambda package, _: type(a_pin())(package=package, id="id-1")
    dear = FakeGetter(schemes=("dear",), answer=lambda *_: blob(zip_of()))
    project = Project(tmp_path / "project", plugins=(FakePlugin(cheap, dear),))
    project.wants(cheap="cheap://h/x", dear="dear://h/x")
    project.client.lock(project.directory)
    entries = {name: parse_lock(project.lock, "x").entry(name) for name in ("cheap", "dear")}
    for getter in (cheap, dear):
        getter.asked.clear()
    outcome = subject.current_identities(_targets(project), entries, project.workspace())
    assert outcome.done == {name: package.id for name, (_, package) in entries.items()}
    assert [asked[0] for asked in cheap.asked] == ["resolve"]
    assert "fetch" in [asked[0] for asked in dear.asked]


def test_failures_come_in_order(tmp_path: Path) -> None:
    lost = FakeGetter(schemes=("lost",), pin=Elsewhere(address="lost://h/x"))
    project = Project(tmp_path / "project", plugins=(FakePlugin(lost),))
    project.wants(b="lost://h/x", a="./none", c="lost://h/y")
    lock = dict.fromkeys("abc", Any)
    outcome = subject.current_identities(_targets(project), lock, project.workspace())  # type: ignore[arg-type]
    assert [(failure.module, failure.error.code) for failure in outcome.failures] == [
        ("b", "fetch/too-many-hops"),
        ("a", "not-found"),
        ("c", "fetch/too-many-hops"),
    ]
