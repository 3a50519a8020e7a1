"""``remove`` and ``install --prune``: only what is as it was installed goes, and nobody else's goes with it."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules import Client, InstallError
from getmodules.project import removal as subject
from getmodules.project.reports import FormerDirectory, FormerState
from tests.support import processes
from tests.support.processes import bind_mount, in_mount_namespace
from tests.support.projects import KEPT, Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot

_EDITED = "it is not what was installed there"


def _remove(project: Project, name: str = "net", *, keep: bool = False) -> FormerDirectory:
    return project.client.remove(name, project.directory, keep=keep).directory


def _names(project: Project) -> set[str]:
    return {path.name for path in project.directory.iterdir()} - KEPT


@pytest.fixture
def installed(project: Project) -> Project:
    project.wants(net="./src//net", packed="./pkg.zip")
    project.client.install(project.directory)
    return project


# ---------------------------------------------------------------------------------------------------------- remove


def test_the_directory_goes_and_those_above_it_that_are_empty(project: Project) -> None:
    project.wants('[modules.net]\nsource = "./src//net"\ndest = "vendor/far/net"\n', packed="./pkg.zip")
    project.client.install(project.directory)
    report = project.client.remove("net", project.directory)
    assert (report.name, report.directory) == ("net", FormerDirectory(dest="vendor/far/net", state=FormerState.REMOVED))
    assert _names(project) == {"src", "pkg.zip", "modules"}
    assert set(project.installed) == {"modules/packed"}
    assert _remove(project, "packed").state == "removed"
    assert _names(project) == {"src", "pkg.zip"}
    assert project.read("getmodules.toml") == ""


def test_other_modules_stay(installed: Project) -> None:
    before = installed.tree("modules/packed")
    assert _remove(installed).state == "removed"
    assert installed.tree("modules/packed") == before
    assert [module.action for module in installed.client.install(installed.directory, locked=True).modules] == [
        "unchanged"
    ]


def _edit(project: Project) -> None:
    project.write("modules/net/net.tf", "# mine\n")
    project.write("modules/net/new.tf", "# mine\n")


def _execute(project: Project) -> None:
    (project.directory / "modules/net/net.tf").chmod(0o755)


def _link(project: Project) -> None:
    (project.directory / "modules/net").rename(project.directory / "elsewhere")
    (project.directory / "modules/net").symlink_to("../elsewhere")


def _file(project: Project) -> None:
    (project.directory / "modules/net").rename(project.directory / "elsewhere")
    project.write("modules/net", "mine")


def _fifo(project: Project) -> None:
    os.mkfifo(project.directory / "modules/net/pipe")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(_edit, f"{_EDITED}: modified net.tf (content); added new.tf", id="edited"),
        pytest.param(_execute, f"{_EDITED}: modified net.tf (executable bit)", id="an execute bit"),
        pytest.param(_link, "it is a link", id="a link"),
        pytest.param(_file, "it is no directory", id="a file"),
        pytest.param(_fifo, "'pipe' is a device, fifo or socket: it has no hash", id="a fifo"),
    ],
)
def test_what_is_not_as_it_was_installed_stays_and_is_named(
    change: Callable[[Project], None], reason: str, installed: Project
) -> None:
    change(installed)
    before = {name: found for name, found in snapshot(installed.directory).items() if name.split("/")[0] not in KEPT}
    assert _remove(installed) == FormerDirectory(dest="modules/net", state=FormerState.KEPT, reason=reason)
    after = {name: found for name, found in snapshot(installed.directory).items() if name.split("/")[0] not in KEPT}
    assert after == before
    assert "net" not in installed.read("getmodules.toml") + installed.lock


def test_what_is_to_be_kept_is_kept(installed: Project) -> None:
    before = snapshot(installed.directory / "modules")
    known = installed.installed
    assert _remove(installed, keep=True) == FormerDirectory(dest="modules/net", state=FormerState.KEPT)
    assert (snapshot(installed.directory / "modules"), installed.installed) == (before, known)


def test_what_is_not_there(installed: Project) -> None:
    processes.remove_tree(installed.directory / "modules/net")
    (installed.directory / "modules/net").mkdir()
    assert _remove(installed) == FormerDirectory(dest="modules/net", state=FormerState.MISSING)
    assert _remove(installed, "packed").state == "removed"
    assert os.listdir(installed.directory / "modules") == ["net"]


def test_what_was_never_locked(project: Project) -> None:
    project.wants(net="./src//net", zip="./pkg.zip")
    project.write("modules/net/net.tf", "# net\n")
    found = _remove(project)
    assert (found.state, found.reason) == ("kept", subject._NOT_LOCKED)
    assert _remove(project, "zip").state == "missing"
    assert (project.read("getmodules.toml"), project.has_lock) == ("", False)


def test_where_another_module_has_the_same_directory_through_a_link(installed: Project) -> None:
    (installed.directory / "vendor").symlink_to("modules")
    installed.wants('[modules.other]\nsource = "./src"\ndest = "vendor/net"\n', net="./src//net", packed="./pkg.zip")
    found = _remove(installed)
    assert (found.state, found.reason) == ("kept", "the module other needs it")
    assert installed.tree("modules/net") == {"net.tf": b"# net\n"}


def test_where_another_module_copies_it(installed: Project) -> None:
    installed.wants(net="./src//net")
    installed.client.lock(installed.directory)
    installed.wants(copy="./modules/packed", net="./src//net")
    assert installed.client.install(installed.directory).failures == ()
    report = installed.client.install(installed.directory, prune=True)
    assert report.pruned == (
        FormerDirectory(dest="modules/packed", state=FormerState.KEPT, reason="the module copy needs it"),
    )


def test_a_directory_behind_a_link_goes_and_the_link_stays(project: Project) -> None:
    (project.directory / "shared").mkdir()
    (project.directory / "modules").symlink_to("shared")
    project.client.add("net", "./src//net", project.directory)
    assert _remove(project).state == "removed"
    assert list((project.directory / "shared").iterdir()) == []
    assert (project.directory / "modules").is_symlink()


def test_the_current_directory_stays(installed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(installed.directory / "modules/net")
    found = _remove(installed)
    assert (found.state, "the current directory" in (found.reason or "")) == ("kept", True)
    monkeypatch.chdir(installed.directory / "modules")
    processes.remove_tree(installed.directory / "modules/net")
    assert _remove(installed, "packed").state == "removed"
    assert os.listdir() == []


def test_a_mount_point_stays(installed: Project, tmp_path: Path) -> None:
    def work() -> None:
        bind_mount(installed.directory / "modules/net", installed.directory / "modules/net")
        found = _remove(installed)
        assert (found.state, "mount point" in (found.reason or "")) == ("kept", True)
        assert installed.tree("modules/net") == {"net.tf": b"# net\n"}

    in_mount_namespace(work)


def test_what_cannot_be_removed_stays_and_is_named(installed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(source: Path, target: Path) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "rename", denied)
    found = _remove(installed)
    assert found.state == "kept"
    assert (found.reason or "").startswith("cannot remove ")
    assert installed.tree("modules/net") == {"net.tf": b"# net\n"}


def test_where_the_manifest_cannot_be_written_all_stays(installed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before, replace = snapshot(installed.directory), os.replace

    def full(source: Path, target: Path) -> None:
        if target.name == "getmodules.toml":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    refusal(InstallError, "install/no-space", installed.client.remove, "net", installed.directory)
    assert snapshot(installed.directory) == before


# ----------------------------------------------------------------------------------------------------------- prune


def _prune(project: Project, **options: bool) -> dict[str, str]:
    report = project.client.install(project.directory, prune=True, **options)
    assert report.failures == ()
    return {each.dest: each.state.value for each in report.pruned}


def test_what_the_lock_lacks_is_taken_away(installed: Project) -> None:
    installed.wants(packed="./pkg.zip")
    assert _prune(installed) == {"modules/net": "removed"}
    assert os.listdir(installed.directory / "modules") == ["packed"]
    assert set(installed.installed) == {"modules/packed"}
    assert _prune(installed) == {}
    installed.wants()
    assert _prune(installed) == {"modules/packed": "removed"}
    assert _names(installed) == {"src", "pkg.zip"}


def test_without_prune_it_stays(installed: Project) -> None:
    installed.wants(packed="./pkg.zip")
    assert installed.client.install(installed.directory).pruned == ()
    assert (installed.directory / "modules/net").is_dir()
    assert _prune(installed) == {"modules/net": "removed"}


def test_what_a_module_left_behind_when_it_moved(installed: Project) -> None:
    installed.wants('[modules.net]\nsource = "./src//net"\ndest = "vendor/net"\n', packed="./pkg.zip")
    assert _prune(installed) == {"modules/net": "removed"}
    assert installed.tree("vendor/net") == {"net.tf": b"# net\n"}


def test_from_the_lock_alone(installed: Project) -> None:
    installed.wants(packed="./pkg.zip")
    installed.client.lock(installed.directory)
    installed.manifest.unlink()
    assert _prune(installed, frozen=True) == {"modules/net": "removed"}


@pytest.mark.parametrize("change", [_edit, _execute, _link, _file, _fifo])
def test_what_was_edited_stays(change: Callable[[Project], None], installed: Project) -> None:
    change(installed)
    installed.wants(packed="./pkg.zip")
    before = snapshot(installed.directory / "modules/net")
    for _ in range(2):
        assert _prune(installed) == {"modules/net": "kept"}
    assert snapshot(installed.directory / "modules/net") == before


def test_with_names_nothing_is_taken(installed: Project) -> None:
    installed.wants(packed="./pkg.zip")
    report = installed.client.install(installed.directory, names=["packed"], prune=True)
    assert (report.failures, report.pruned) == ((), ())
    assert (installed.directory / "modules/net").is_dir()


def test_where_a_module_failed_nothing_is_taken(installed: Project) -> None:
    installed.wants(packed="./pkg.zip", none="./none")
    report = installed.client.install(installed.directory, prune=True)
    assert ([failure.module for failure in report.failures], report.pruned) == (["none"], ())
    assert (installed.directory / "modules/net").is_dir()


def test_what_was_never_installed_here_stays(installed: Project) -> None:
    installed.write("modules/mine/main.tf", "# mine\n")
    installed.wants(packed="./pkg.zip")
    assert _prune(installed) == {"modules/net": "removed"}
    assert installed.tree("modules/mine") == {"main.tf": b"# mine\n"}


@pytest.mark.parametrize("dest", ["../mine", "/etc", "modules/../src", ".git/hooks", "", "modules"])
def test_a_memory_that_somebody_else_wrote(dest: str, installed: Project) -> None:
    """Nothing outside of the project is looked at, and nothing that modules of the lock are in."""
    hashes = installed.installed["modules/packed"]
    memory = json.dumps({**installed.installed, dest: hashes})
    installed.write(".getmodules/installed.json", memory)
    installed.write("../mine/main.tf", "# mine\n")
    before = snapshot(installed.directory.parent)
    assert _prune(installed) == {dest: "kept"}
    assert snapshot(installed.directory.parent) == before


def test_a_run_that_was_killed_is_made_good(installed: Project) -> None:
    """After the files, before the directory; and while it was being removed."""

    def work() -> None:
        rename = os.rename

        def renamed(source: Path, target: Path) -> None:
            rename(source, target)
            if Path(target).name == "old":
                os.kill(os.getpid(), signal.SIGKILL)

        os.rename = renamed  # type: ignore[assignment]
        _remove(installed)

    assert processes.run(work) == -signal.SIGKILL
    assert installed.leftovers() != set()
    assert "modules/net" in installed.installed
    installed.client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)  # it has swept nowhere yet
    assert _prune(installed) == {}
    assert set(installed.installed) == {"modules/packed"}
    assert os.listdir(installed.directory / "modules") == ["packed"]
