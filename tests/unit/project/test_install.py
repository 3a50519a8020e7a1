"""Bringing the trees to what the lock says, and the lock to what the manifest says."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from getmodules import (
    Client,
    ConfigError,
    DestinationExistsError,
    DigestMismatchError,
    InstallError,
    LockMismatchError,
    LockStaleError,
    NotFoundError,
    Phase,
    Progress,
)
from getmodules.pipeline.batch import Pace
from getmodules.project import install as subject
from getmodules.project.install import InstallOptions
from getmodules.project.reports import InstallReport
from getmodules.testing import Registry
from tests.support import processes
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _install(project: Project, *names: str, **wishes: bool) -> InstallReport:
    workspace = project.workspace(read=not wishes.get("frozen"))
    return subject.install(InstallOptions(names=names, **wishes), workspace)


def _actions(report: InstallReport) -> dict[str, str]:
    return {module.name: module.action for module in report.modules}


def _codes(report: InstallReport) -> dict[str, str]:
    return {failure.module: failure.error.code for failure in report.failures}


def test_what_is_new_is_installed_and_locked(project: Project) -> None:
    project.wants(whole="./src", net="./src//net", packed="./pkg.zip//net")
    report = _install(project)
    assert _actions(report) == dict.fromkeys(("whole", "net", "packed"), "installed")
    assert (report.failures, report.locked) == ((), True)
    assert project.tree("modules/whole") == {"main.tf": b"# main\n", "net/net.tf": b"# net\n"}
    assert project.tree("modules/net") == project.tree("modules/packed") == {"net.tf": b"# net\n"}
    assert set(project.installed) == {"modules/whole", "modules/net", "modules/packed"}
    assert project.read(".getmodules/.gitignore") == "*\n"


def test_what_is_there_is_left_alone_and_the_lock_not_written(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _install(project)
    before = snapshot(project.directory)
    inodes = (project.directory / "getmodules.lock").stat().st_ino
    report = _install(project)
    assert _actions(report) == {"net": "unchanged", "packed": "unchanged"}
    assert not report.locked
    assert snapshot(project.directory) == before
    assert (project.directory / "getmodules.lock").stat().st_ino == inodes


@pytest.mark.parametrize("wishes", [{}, {"locked": True}, {"frozen": True}], ids=["", "locked", "frozen"])
def test_from_the_lock(wishes: dict[str, bool], project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _install(project)
    expected = snapshot(project.directory / "modules")
    shutil.rmtree(project.directory / "modules")
    shutil.rmtree(project.directory / ".getmodules")
    report = _install(project, **wishes)
    assert (_actions(report), report.locked) == ({"net": "installed", "packed": "installed"}, False)
    assert snapshot(project.directory / "modules") == expected


def test_only_some(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    assert _actions(_install(project, "net")) == {"net": "installed"}
    assert not (project.directory / "modules/packed").exists()
    assert "packed" not in project.lock
    assert _actions(_install(project, "packed", "packed")) == {"packed": "installed"}
    error = refusal(ConfigError, "config", _install, project, "nett")
    assert error.hint == "did you mean net?"


@pytest.mark.parametrize("source", ["./src//net", "./pkg.zip//net"], ids=["directory", "archive"])
@pytest.mark.parametrize("wishes", [{}, {"locked": True}, {"frozen": True}], ids=["", "locked", "frozen"])
def test_content_that_differs_from_the_lock_is_refused(source: str, wishes: dict[str, bool], project: Project) -> None:
    project.wants(net=source)
    _install(project)
    shutil.rmtree(project.directory / "modules")
    project.write("src/net/net.tf", "# evil\n")
    project.repack(**{"net/net.tf": "# evil\n"})
    lock = project.lock
    report = _install(project, **wishes)
    (failure,) = report.failures
    assert (type(failure.error), failure.error.code, failure.error.exit_code) == (LockMismatchError, "lock-mismatch", 3)
    assert project.lock == lock
    assert not (project.directory / "modules").exists()


def test_a_lock_that_was_tampered_with(project: Project) -> None:
    project.wants(packed="./pkg.zip")
    _install(project)
    shutil.rmtree(project.directory / "modules")
    h1 = next(line for line in project.lock.splitlines() if line.startswith("h1 = "))
    project.write("getmodules.lock", project.lock.replace(h1, 'h1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="'))
    assert _codes(_install(project)) == {"packed": "lock-mismatch"}
    assert not (project.directory / "modules").exists()


# --------------------------------------------------------------------------------------------- edited trees


def test_a_tree_that_was_edited_is_not_overwritten(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _install(project)
    project.write("modules/packed/main.tf", "# mine\n")
    project.write("modules/packed/new.tf", "# mine\n")
    (project.directory / "modules/packed/net/net.tf").unlink()
    before = snapshot(project.directory)
    report = _install(project)
    (failure,) = report.failures
    assert (type(failure.error), failure.error.exit_code) == (DestinationExistsError, 1)
    assert failure.error.message.endswith(": modified main.tf (content); missing net/net.tf; added new.tf")
    assert "--force" in (failure.error.typed_hint or "")
    assert _actions(report) == {"net": "unchanged"}
    assert snapshot(project.directory) == before
    assert _actions(_install(project, force=True)) == {"net": "unchanged", "packed": "installed"}
    assert project.tree("modules/packed") == {"main.tf": b"# main\n", "net/net.tf": b"# net\n"}


def test_a_tree_that_is_as_it_was_installed_follows_the_lock(project: Project) -> None:
    """After ``git pull``: the lock is another one, and does not know any more what was there."""
    project.wants(packed="./pkg.zip")
    _install(project)
    project.repack(**{"main.tf": "# newer\n"})
    project.client.lock(project.directory, upgrade=True)
    assert _actions(_install(project, locked=True)) == {"packed": "installed"}
    assert project.tree("modules/packed")["main.tf"] == b"# newer\n"


class _AtWork(Progress):
    """Somebody who edits a file while its module is fetched."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        if phase is Phase.UNPACKING:
            self._file.write_bytes(b"# mine\n")


@pytest.mark.parametrize("locked", [False, True])
def test_what_is_edited_while_its_module_is_fetched_is_not_replaced(locked: bool, project: Project) -> None:
    project.wants(packed="./pkg.zip", beside="./src")
    _install(project)
    project.repack(**{"main.tf": "# newer\n"})
    project.wants(packed="./pkg.zip//", beside="./src")
    if locked:
        project.client.lock(project.directory, upgrade=True)
    main = project.directory / "modules/packed/main.tf"
    report = project.client.install(project.directory, progress=_AtWork(main))
    (failure,) = report.failures
    assert (failure.module, failure.error.code) == ("packed", "destination-exists")
    assert "was edited while the module was fetched" in failure.error.message
    assert main.read_bytes() == b"# mine\n"
    (again,) = _install(project).failures
    assert again.error.code == "destination-exists"
    assert _install(project, force=True).failures == ()
    assert main.read_bytes() == b"# newer\n"


class _Enough(Progress):
    """Ends the run when the second package is done: as Ctrl-C does, or as nobody hears."""

    def __init__(self, how: str) -> None:
        self._how = how
        self._done = 0

    def finished(self, package: str, error: BaseException | None) -> None:
        self._done += 1
        if self._done == 2:
            if self._how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt


@pytest.mark.parametrize("how", ["interrupted", "killed"])
@pytest.mark.parametrize("update", [False, True], ids=["into nothing", "over what was there"])
def test_what_a_run_that_was_ended_has_installed_follows_the_lock(how: str, update: bool, project: Project) -> None:
    project.wants(one="./pkg.zip", two="./src//net", three="./src")
    if update:
        _install(project)
        project.repack(**{"main.tf": "# new\n"})
        project.write("src/net/net.tf", "# new\n")
    project.client.lock(project.directory, upgrade=True)

    def work() -> int:
        with suppress(KeyboardInterrupt):
            project.client.install(project.directory, pace=Pace(jobs=1), progress=_Enough(how))
        return 0

    assert processes.run(work) == (-signal.SIGKILL if how == "killed" else 0)
    project.client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)  # it has swept nowhere yet
    project.repack(**{"main.tf": "# newer\n"})
    project.write("src/net/net.tf", "# newer\n")
    project.client.lock(project.directory, upgrade=True)
    report = _install(project, locked=True)
    assert (_actions(report), report.failures) == (dict.fromkeys(("one", "two", "three"), "installed"), ())
    assert set(map(type, project.installed.values())) == {dict}


def test_an_interrupt_before_anything_came_leaves_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.wants(one="./pkg.zip", two="./src//net")
    project.client.lock(project.directory)
    before = snapshot(project.directory)

    def interrupt(*_: object) -> None:
        assert set(project.installed) == {"modules/one", "modules/two"}
        raise KeyboardInterrupt

    monkeypatch.setattr(subject, "install_all", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _install(project)
    assert snapshot(project.directory) == before


def test_a_failed_update_forgets_what_was_intended(project: Project) -> None:
    project.wants(packed="./pkg.zip")
    _install(project)
    known = project.installed
    project.repack(**{"main.tf": "# newer\n"})
    project.client.lock(project.directory, upgrade=True)
    project.repack(**{"main.tf": "# evil\n"})
    assert _codes(_install(project)) == {"packed": "lock-mismatch"}
    assert project.installed == known


def test_without_a_memory_it_counts_as_edited(project: Project) -> None:
    project.wants(packed="./pkg.zip")
    _install(project)
    shutil.rmtree(project.directory / ".getmodules")
    project.repack(**{"main.tf": "# newer\n"})
    project.client.lock(project.directory, upgrade=True)
    assert _codes(_install(project)) == {"packed": "destination-exists"}


def test_a_source_that_was_edited_replaces_what_the_lock_knows(project: Project) -> None:
    project.wants(m="./src//net")
    _install(project)
    shutil.rmtree(project.directory / ".getmodules")
    project.wants(m="./src")
    report = _install(project)
    assert (_actions(report), report.locked) == ({"m": "installed"}, True)
    assert "main.tf" in project.tree("modules/m")


def test_what_is_there_already_need_only_be_locked(project: Project) -> None:
    """Trees in version control, or a run that was killed before it wrote the lock."""
    project.wants(packed="./pkg.zip")
    shutil.copytree(project.directory / "src", project.directory / "modules/packed")
    report = _install(project)
    assert (_actions(report), report.locked) == ({"packed": "unchanged"}, True)
    assert project.installed == {"modules/packed": {"h1": report.modules[0].h1, "t1": report.modules[0].t1}}


def test_something_else_in_the_way(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    project.write("modules/packed/precious.txt", "mine")
    report = _install(project)
    assert (_actions(report), _codes(report)) == ({"net": "installed"}, {"packed": "destination-exists"})
    assert not project.has_lock
    assert project.tree("modules/packed") == {"precious.txt": b"mine"}
    assert _install(project, force=True).failures == ()
    assert "precious.txt" not in project.tree("modules/packed")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_never_replaced(kind: str, project: Project) -> None:
    project.wants(packed="./pkg.zip")
    _install(project)
    shutil.rmtree(project.directory / "modules/packed")
    dest = project.directory / "modules/packed"
    if kind == "file":
        dest.write_text("mine")
    else:
        dest.symlink_to(project.directory / "src")
    before = snapshot(project.directory)
    (failure,) = _install(project).failures
    assert failure.error.code == "destination-exists"
    assert failure.error.message == f"modules/packed is {'no directory' if kind == 'file' else 'a link'}"
    assert failure.error.typed_hint == "move it away; getmodules install then brings the module"
    assert _codes(_install(project, force=True)) == {"packed": "install/protected"}
    (project.directory / "getmodules.lock").unlink()
    (failure,) = _install(project).failures
    assert failure.error.hint == "choose another dest, or move it away"
    project.client.lock(project.directory)
    assert snapshot(project.directory) == before


def test_nothing_is_written_through_a_link_that_leaves_the_project(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project.directory / "modules").symlink_to(outside)
    project.wants(packed="./pkg.zip")
    for force in (False, True):
        report = _install(project, force=force)
        (failure,) = report.failures
        assert (type(failure.error), failure.error.code) == (InstallError, "install/protected")
    assert list(outside.iterdir()) == []
    assert not project.has_lock


# ------------------------------------------------------------------------------------- locked, frozen, failures


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        pytest.param({"net": "./src//net", "packed": "./pkg.zip", "x": "./src"}, "x is new", id="new"),
        pytest.param({"net": "./src//net"}, "packed was removed", id="removed"),
        pytest.param({"net": "./src", "packed": "./pkg.zip"}, "net has another source", id="edited"),
    ],
)
def test_locked_refuses_a_difference(edit: dict[str, str], reason: str, project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _install(project)
    project.wants(**edit)
    before = snapshot(project.directory)
    error = refusal(LockStaleError, "lock-stale", _install, project, locked=True)
    assert (reason in error.message, error.exit_code, error.typed_hint) == (
        True,
        5,
        "getmodules lock brings it up to date",
    )
    assert snapshot(project.directory) == before
    assert _install(project).locked


@pytest.mark.parametrize("wishes", [{"locked": True}, {"frozen": True}], ids=["locked", "frozen"])
def test_locked_and_frozen_need_a_lock(wishes: dict[str, bool], project: Project) -> None:
    project.wants(net="./src//net")
    refusal(LockStaleError, "lock-stale", _install, project, **wishes)
    assert not (project.directory / "modules").exists()
    assert not (project.directory / ".getmodules").exists()


def test_frozen_does_not_read_the_manifest(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _install(project)
    shutil.rmtree(project.directory / "modules")
    project.manifest.unlink()
    assert _actions(_install(project, "net", frozen=True)) == {"net": "installed"}


def test_a_failure_does_not_hide_the_others_and_nothing_is_locked(project: Project) -> None:
    project.wants(net="./src//net", none="./none", also="./none.zip", packed="./pkg.zip")
    report = _install(project)
    assert _actions(report) == {"net": "installed", "packed": "installed"}
    assert [(failure.module, type(failure.error)) for failure in report.failures] == [
        ("none", NotFoundError),
        ("also", NotFoundError),
    ]
    assert not project.has_lock
    project.wants(net="./src//net", packed="./pkg.zip")
    again = _install(project)
    assert (_actions(again), again.locked) == ({"net": "installed", "packed": "installed"}, True)


def test_a_failed_run_leaves_nothing(project: Project) -> None:
    project.wants(none="./none")
    before = snapshot(project.directory)
    assert _codes(_install(project)) == {"none": "not-found"}
    assert snapshot(project.directory) == before


def test_an_expectation_that_does_not_hold(project: Project) -> None:
    project.wants('[modules.m]\nsource = "./pkg.zip"\nexpect = "sha256:' + "0" * 64 + '"')
    report = _install(project)
    (failure,) = report.failures
    assert type(failure.error) is DigestMismatchError
    assert failure.error.message.startswith("expect in the manifest wants the archive to be sha256:000")
    assert "--expect" not in (failure.error.hint or "")
    assert not (project.directory / "modules").exists()


def test_another_dest_moves_nothing_but_installs_there(project: Project) -> None:
    project.wants(net="./src//net")
    _install(project)
    project.wants('[modules.net]\nsource = "./src//net"\ndest = "vendor/net"')
    report = _install(project)
    assert (_actions(report), report.locked) == ({"net": "installed"}, True)
    assert project.tree("vendor/net") == project.tree("modules/net")
    assert 'dest = "vendor/net"' in project.lock


def test_what_was_removed_from_the_manifest_leaves_the_lock(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _install(project)
    project.wants(net="./src//net")
    assert _install(project).locked
    assert "pkg.zip" not in project.lock
    assert (project.directory / "modules/packed").is_dir()


def test_an_empty_manifest(project: Project) -> None:
    project.wants("")
    before = snapshot(project.directory)
    report = _install(project)
    assert (report.modules, report.failures, report.locked) == ((), (), False)
    assert snapshot(project.directory) == before


# --------------------------------------------------------------------------------------------- a registry


def test_a_package_is_fetched_once_for_all_its_modules(project: Project, registry: Registry) -> None:
    registry.push_module("acme/mono", "1.0.0", {f"m{n}/main.tf": str(n) for n in range(50)})
    sources = {f"m{n}": f"oci://{registry.host}/acme/mono//m{n}?tag=1.0.0" for n in range(50)}
    project.wants(**sources)
    registry.forget_requests()
    assert _install(project).failures == ()
    assert sum("/blobs/" in request.path for request in registry.requests) == 1
    assert project.lock.count("[[package]]") == 1
    shutil.rmtree(project.directory / "modules")
    registry.forget_requests()
    assert _install(project, locked=True).failures == ()
    assert sum("/blobs/" in request.path for request in registry.requests) == 1


def test_a_tag_that_moved_changes_nothing(project: Project, registry: Registry) -> None:
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "one"})
    project.wants(vpc=f"oci://{registry.host}/acme/vpc?tag=1.0.0")
    _install(project)
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "two"})
    shutil.rmtree(project.directory / "modules")
    lock = project.lock
    assert _actions(_install(project)) == {"vpc": "installed"}
    assert (project.tree("modules/vpc"), project.lock) == ({"main.tf": b"one"}, lock)
