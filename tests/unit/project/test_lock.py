"""``lock`` and ``lock --check``."""

from __future__ import annotations

import shutil

import pytest

from getmodules import ConfigError
from getmodules.project import lock as subject
from getmodules.project.lock import Upgrade
from getmodules.project.lockfile import parse_lock
from getmodules.project.reports import CheckReport, LockReport
from getmodules.testing import Registry
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _lock(project: Project, upgrade: Upgrade | None = None) -> LockReport:
    return subject.lock(upgrade, project.workspace())


def _check(project: Project) -> CheckReport:
    return subject.check(project.workspace())


def _changes(report: LockReport) -> dict[str, str]:
    return {module.name: module.change for module in report.modules}


def test_locking_installs_nothing(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip//net")
    before = set(snapshot(project.directory))
    report = _lock(project)
    assert (_changes(report), report.written, report.failures) == ({"net": "new", "packed": "new"}, True, ())
    assert set(snapshot(project.directory)) - before == {"getmodules.lock"}
    lock = parse_lock(project.lock, "x")
    assert lock.modules["net"].h1 == lock.modules["packed"].h1
    assert (lock.modules["net"].package, lock.modules["net"].subdir) == ("./src//net", "")
    assert lock.modules["packed"].package.startswith("./pkg.zip?checksum=sha256:")
    assert lock.modules["packed"].subdir == "net"


def test_again_changes_nothing(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _lock(project)
    text, inode = project.lock, (project.directory / "getmodules.lock").stat().st_ino
    report = _lock(project)
    assert (_changes(report), report.written) == ({"net": "unchanged", "packed": "unchanged"}, False)
    assert (project.lock, (project.directory / "getmodules.lock").stat().st_ino) == (text, inode)


def test_two_who_lock_write_the_same(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _lock(project)
    first = project.lock
    (project.directory / "getmodules.lock").unlink()
    project.wants(packed="./pkg.zip", net="./src//net")
    _lock(project)
    assert project.lock == first


def test_an_entry_changes_when_it_was_edited_or_is_upgraded(project: Project) -> None:
    project.wants(net="./src//net", packed="./pkg.zip")
    _lock(project)
    project.write("src/net/net.tf", "# other\n")
    project.repack(**{"net/net.tf": "# other\n"})
    assert _changes(_lock(project)) == {"net": "unchanged", "packed": "unchanged"}
    assert _changes(_lock(project, Upgrade(("net",)))) == {"net": "changed", "packed": "unchanged"}
    assert _changes(_lock(project, Upgrade())) == {"net": "unchanged", "packed": "changed"}
    project.wants(net="./src", packed="./pkg.zip")
    assert _changes(_lock(project)) == {"net": "changed", "packed": "unchanged"}


def test_what_is_new_and_what_is_gone(project: Project) -> None:
    project.wants(net="./src//net")
    _lock(project)
    project.wants(packed="./pkg.zip")
    assert _changes(_lock(project)) == {"net": "removed", "packed": "new"}
    assert "./src//net" not in project.lock


def test_nothing_is_written_where_one_fails(project: Project) -> None:
    project.wants(net="./src//net")
    _lock(project)
    before = snapshot(project.directory)
    project.wants(net="./src", none="./none", odd="odd")
    report = _lock(project)
    assert {failure.module: failure.error.code for failure in report.failures} == {
        "none": "not-found",
        "odd": "address",
    }
    assert (report.modules, report.written) == ((), False)
    (project.directory / "getmodules.toml").write_bytes(before["getmodules.toml"][1])
    assert snapshot(project.directory) == before


def test_an_upgrade_of_what_is_not_there(project: Project) -> None:
    project.wants(net="./src//net")
    assert refusal(ConfigError, "config", _lock, project, Upgrade(("nett",))).hint == "did you mean net?"
    assert not project.has_lock


def test_another_checkout_can_use_it(project: Project) -> None:
    """Relative sources and destinations stay relative to the lock's directory."""
    project.wants(net="./src//net", packed="./pkg.zip", layout="oci-layout::./layout//net?tag=1.0.0")
    project.client.push(project.directory / "src", "oci-layout::./layout?tag=1.0.0", base=project.directory)
    assert project.client.install(project.directory).failures == ()
    lock = project.lock
    assert str(project.directory) not in lock
    elsewhere = Project(project.directory.parent / "elsewhere")
    shutil.rmtree(elsewhere.directory)
    shutil.move(project.directory, elsewhere.directory)
    shutil.rmtree(elsewhere.directory / "modules")
    assert elsewhere.client.install(elsewhere.directory, locked=True).failures == ()
    assert elsewhere.tree("modules/net") == elsewhere.tree("modules/layout") == {"net.tf": b"# net\n"}
    assert _changes(_lock(elsewhere, Upgrade())) == dict.fromkeys(("net", "packed", "layout"), "unchanged")
    assert elsewhere.lock == lock


# --------------------------------------------------------------------------------------------------- checking


def test_a_lock_that_holds(project: Project, registry: Registry) -> None:
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "one"})
    oci = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    project.wants(net="./src//net", packed="./pkg.zip", vpc=oci)
    _lock(project)
    before = snapshot(project.directory)
    assert _check(project) == CheckReport()
    assert snapshot(project.directory) == before


def test_what_is_stale(project: Project) -> None:
    project.wants(net="./src//net")
    assert _check(project).stale == ("there is no getmodules.lock", "net is new")
    _lock(project)
    project.wants(net="./src", packed="./pkg.zip")
    report = _check(project)
    assert (report.stale, report.moved) == (("net has another source", "packed is new"), ())


def test_what_has_moved(project: Project, registry: Registry) -> None:
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "one"})
    oci = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    project.wants(net="./src//net", packed="./pkg.zip", vpc=oci, main="./src")
    _lock(project)
    locked = parse_lock(project.lock, "x")
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "two"})
    project.repack(**{"main.tf": "two"})
    project.write("src/main.tf", "two")
    before = snapshot(project.directory)
    report = _check(project)
    assert sorted(moved.name for moved in report.moved) == ["main", "packed", "vpc"]
    for moved in report.moved:
        assert moved.locked == locked.entry(moved.name)[1].id
        assert moved.now != moved.locked
    assert snapshot(project.directory) == before


def test_a_newer_version_is_no_move_but_a_tag_that_moved_is(project: Project, registry: Registry) -> None:
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "one"})
    project.wants(f'[modules.vpc]\nsource = "oci://{registry.host}/acme/vpc"\nversion = "~> 1.0"')
    _lock(project)
    registry.push_module("acme/vpc", "1.1.0", {"main.tf": "newer"})
    assert _check(project) == CheckReport()
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "moved"})
    assert [moved.name for moved in _check(project).moved] == ["vpc"]


def test_a_checksum_of_another_algorithm_has_not_moved(project: Project) -> None:
    import hashlib

    digest = hashlib.sha512((project.directory / "pkg.zip").read_bytes()).hexdigest()
    project.wants(packed=f"./pkg.zip?checksum=sha512:{digest}")
    _lock(project)
    assert _check(project) == CheckReport()


@pytest.mark.parametrize("gone", ["src", "pkg.zip"])
def test_what_is_not_there_any_more_is_a_failure(gone: str, project: Project) -> None:
    project.wants(m=f"./{gone}")
    _lock(project)
    (project.directory / gone).rename(project.directory / "gone")
    report = _check(project)
    assert [(failure.module, failure.error.code) for failure in report.failures] == [("m", "not-found")]


def test_two_branches_that_upgrade_one_module_each_merge_into_a_lock_that_is_good(project: Project) -> None:
    project.wants(net="./pkg.zip//net", whole="./pkg.zip")
    _lock(project)
    before = project.lock
    project.repack(**{"main.tf": "newer"})
    _lock(project, Upgrade(("net", "whole")))
    after = project.lock
    lone = before[before.index("[[package]]") : before.index("[[module]]")]
    merged = after.replace("[[module]]", f"{lone}[[module]]", 1)
    project.write("getmodules.lock", merged)
    assert _check(project) == CheckReport()
    assert project.client.install(project.directory, locked=True).failures == ()
    assert project.lock == merged
    report = _lock(project)
    assert (_changes(report), report.written) == ({"net": "unchanged", "whole": "unchanged"}, True)
    assert project.lock == after
