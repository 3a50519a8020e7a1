"""``add`` and ``remove``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from getmodules import ConfigError, InstallError
from getmodules.project.lockfile import parse_lock
from getmodules.project.manifest import read_manifest
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _locked(project: Project) -> list[str]:
    return sorted(parse_lock(project.lock, "x").modules)


def test_adding_to_nothing(project: Project) -> None:
    report = project.client.add("net", "./src//net", project.directory)
    assert [(module.name, module.change) for module in report.modules] == [("net", "new")]
    assert project.read("getmodules.toml") == '[modules.net]\nsource = "./src//net"\n'
    assert _locked(project) == ["net"]
    assert not (project.directory / "modules").exists()


def test_adding_and_removing(project: Project) -> None:
    project.wants("# mine\n", net="./src//net")
    project.client.lock(project.directory)
    before, lock = project.read("getmodules.toml"), project.lock
    project.client.add("zip", "./pkg.zip", project.directory, dest="vendor/zip", expect=None)
    assert project.read("getmodules.toml") == f'{before}\n[modules.zip]\nsource = "./pkg.zip"\ndest = "vendor/zip"\n'
    assert _locked(project) == ["net", "zip"]
    project.client.install(project.directory)
    project.client.remove("zip", project.directory)
    assert (project.read("getmodules.toml"), project.lock) == (before, lock)
    assert (project.directory / "vendor/zip/main.tf").exists()


def test_a_mark_before_the_text_stays(project: Project) -> None:
    project.wants("\ufeff# mine\r\n")
    project.client.add("net", "./src//net", project.directory)
    text = project.manifest.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf# mine\r\n")
    assert text.count(b"\xef\xbb\xbf") == 1
    project.client.add("zip", "./pkg.zip", project.directory)
    project.client.remove("zip", project.directory)
    assert project.manifest.read_bytes() == text


@pytest.mark.parametrize("manifest", ["none/getmodules.toml", "none/", "none/other.toml"])
def test_a_project_in_a_directory_that_is_not_there(manifest: str, project: Project) -> None:
    before = snapshot(project.directory)
    error = refusal(ConfigError, "config", project.client.add, "net", "./src", f"{project.directory}/{manifest}")
    assert (error.message, error.hint) == (
        f"there is no directory {project.directory}/none",
        "make it, or name another one",
    )
    assert snapshot(project.directory) == before


@pytest.mark.parametrize(
    ("source", "code"),
    [pytest.param("./none", "not-found", id="not there"), pytest.param("odd", "address", id="no address")],
)
def test_nothing_is_added_that_does_not_work(source: str, code: str, project: Project) -> None:
    project.wants(net="./src//net")
    before = snapshot(project.directory)
    report = project.client.add("bad", source, project.directory)
    assert [(failure.module, failure.error.code) for failure in report.failures] == [("bad", code)]
    assert snapshot(project.directory) == before


def test_what_cannot_be_changed(project: Project) -> None:
    before = snapshot(project.directory)
    refusal(ConfigError, "config", project.client.remove, "net", project.directory)
    refusal(ConfigError, "config", project.client.add, "a b", "./src", project.directory)
    assert snapshot(project.directory) == before
    project.wants(net="./src//net")
    before = snapshot(project.directory)
    refusal(ConfigError, "config", project.client.add, "net", "./src", project.directory)
    refusal(ConfigError, "config", project.client.remove, "nett", project.directory)
    assert snapshot(project.directory) == before


@pytest.mark.parametrize("leads_to", ["a file", "nothing"])
def test_a_manifest_that_is_a_link_to_somewhere_else(leads_to: str, project: Project, tmp_path: Path) -> None:
    """It cannot be written, so the lock is not either."""
    if leads_to == "a file":
        (tmp_path / "other.toml").write_text('[modules.net]\nsource = "./src//net"\n')
    project.manifest.symlink_to(tmp_path / "other.toml")
    before = snapshot(tmp_path)
    refusal(InstallError, "install/protected", project.client.add, "zip", "./pkg.zip", project.directory)
    if leads_to == "a file":
        refusal(InstallError, "install/protected", project.client.remove, "net", project.directory)
    assert snapshot(tmp_path) == before


def test_many_at_once(project: Project) -> None:
    """Nobody's change is lost to one that was begun before it."""
    names = [f"m{number}" for number in range(6)]
    project.wants(old="./src")
    with ThreadPoolExecutor(len(names) + 1) as executor:
        changes = [executor.submit(project.client.add, name, "./src//net", project.directory) for name in names]
        changes.append(executor.submit(project.client.remove, "old", project.directory))
        for change in changes:
            change.result()
    assert sorted(read_manifest(project.manifest).modules) == _locked(project) == names


def test_removing_what_was_never_locked(project: Project) -> None:
    project.wants(net="./src//net")
    project.client.remove("net", project.directory)
    assert project.read("getmodules.toml") == ""
    assert not project.has_lock
