"""What h1 does not see, on the way into the lock, the tree and the memory of a checkout."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from getmodules import Client, ConfigError, DestinationExistsError, GetModulesError, LockMismatchError, hash_tree
from getmodules.project import install as subject, lock as locking, trees
from getmodules.project.install import InstallOptions
from getmodules.project.lock import Upgrade
from getmodules.project.lockfile import parse_lock
from getmodules.project.reports import InstallReport, Moved
from tests.support.fakes import zip_of
from tests.support.modeless import without_modes
from tests.support.projects import Project
from tests.support.snapshots import snapshot


def _install(project: Project, *names: str, **wishes: bool) -> InstallReport:
    workspace = project.workspace(read=not wishes.get("frozen"))
    return subject.install(InstallOptions(names=names, **wishes), workspace)


def _actions(report: InstallReport) -> dict[str, str]:
    return {module.name: module.action for module in report.modules}


def _without_t1(project: Project) -> str:
    """Make the lock one of an earlier version, and return it."""
    project.write("getmodules.lock", re.sub(r'^t1 = ".*"\n', "", project.lock, flags=re.MULTILINE))
    assert "\nt1 = " not in project.lock
    return project.lock


@pytest.fixture
def installed(project: Project) -> Project:
    project.write("src/net/run.sh", "#!/bin/sh\n")
    (project.directory / "src/net/run.sh").chmod(0o755)
    project.wants(net="./src//net", packed="./pkg.zip")
    assert _install(project).failures == ()
    return project


def _refused(report: InstallReport) -> GetModulesError:
    (failure,) = report.failures
    return failure.error


# ------------------------------------------------------------------------------------------------------------ the lock


def test_an_entry_has_the_t1_of_what_is_installed(installed: Project) -> None:
    lock = parse_lock(installed.lock, "x")
    for name in ("net", "packed"):
        module, dest = lock.modules[name], installed.directory / "modules" / name
        assert (module.h1, module.t1) == (hash_tree(dest), hash_tree(dest, "t1"))
        assert installed.installed[f"modules/{name}"] == {"h1": module.h1, "t1": module.t1}
        assert lock.packages[module.package].package_h1 in (None, module.h1)
    assert lock.packages[lock.modules["net"].package].id == lock.modules["net"].h1
    assert "\nversion = 1\n" in installed.lock
    assert {report.name: report.t1 for report in _install(installed).modules} == {
        name: module.t1 for name, module in lock.modules.items()
    }


@pytest.mark.parametrize("wishes", [{}, {"locked": True}, {"frozen": True}, {"force": True}], ids=str)
@pytest.mark.parametrize("what", ["bit", "link"])
def test_what_h1_does_not_see_is_refused(what: str, wishes: dict[str, bool], installed: Project) -> None:
    shutil.rmtree(installed.directory / "modules")
    source = installed.directory / "src/net"
    if what == "bit":
        (source / "net.tf").chmod(0o755)
    else:
        shutil.copy(source / "net.tf", source / "same.tf")
        installed.wants(net="./src//net", packed="./pkg.zip")
        assert _install(installed, force=True).failures  # another h1
        locking.lock(Upgrade(("net",)), installed.workspace())
        shutil.rmtree(installed.directory / "modules", ignore_errors=True)
        (source / "same.tf").unlink()
        (source / "same.tf").symlink_to("net.tf")
    lock = installed.lock
    error = _refused(_install(installed, "net", **wishes))
    assert (type(error), error.code, error.exit_code) == (LockMismatchError, "lock-mismatch", 3)
    assert "t1:" in error.message
    assert installed.lock == lock
    assert not (installed.directory / "modules/net").exists()


@pytest.mark.parametrize("wishes", [{}, {"locked": True}, {"frozen": True}], ids=["", "locked", "frozen"])
def test_an_older_lock_is_judged_by_h1_and_stays_as_it_is(wishes: dict[str, bool], installed: Project) -> None:
    lock = _without_t1(installed)
    (installed.directory / "src/net/net.tf").chmod(0o755)
    assert _actions(_install(installed, **wishes)) == {"net": "unchanged", "packed": "unchanged"}
    (installed.directory / "modules/net/run.sh").chmod(0o644)
    assert _actions(_install(installed, **wishes)) == {"net": "unchanged", "packed": "unchanged"}
    shutil.rmtree(installed.directory / "modules")
    report = _install(installed, **wishes)
    assert _actions(report) == {"net": "installed", "packed": "installed"}
    assert [module.t1 for module in report.modules] == [None, None]
    assert not report.locked
    assert installed.lock == lock
    assert locking.check(installed.workspace()).moved == ()
    assert not locking.lock(None, installed.workspace()).written
    assert installed.lock == lock


def test_an_older_entry_gets_it_when_it_is_made_anew(installed: Project) -> None:
    new = installed.lock
    _without_t1(installed)
    report = locking.lock(Upgrade(("net",)), installed.workspace())
    assert {module.name: module.change for module in report.modules} == {"net": "unchanged", "packed": "unchanged"}
    assert report.written
    t1s = {name: module.t1 for name, module in parse_lock(installed.lock, "x").modules.items()}
    assert t1s == {"net": hash_tree(installed.directory / "modules/net", "t1"), "packed": None}
    locking.lock(Upgrade(), installed.workspace())
    assert installed.lock == new


def test_another_destination_does_not_add_it(installed: Project) -> None:
    _without_t1(installed)
    installed.wants(text='[modules.net]\nsource = "./src//net"\ndest = "here"\n', packed="./pkg.zip")
    assert _install(installed).locked
    assert "t1" not in installed.lock


def test_a_module_whose_execute_bits_alone_differ_has_changed(installed: Project) -> None:
    (installed.directory / "src/net/net.tf").chmod(0o755)
    report = locking.lock(Upgrade(), installed.workspace())
    assert {module.name: module.change for module in report.modules} == {"net": "changed", "packed": "unchanged"}


def test_a_check_sees_what_an_install_would_refuse(installed: Project) -> None:
    assert locking.check(installed.workspace()).moved == ()
    before = hash_tree(installed.directory / "src/net", "t1")
    (installed.directory / "src/net/net.tf").chmod(0o755)
    now = hash_tree(installed.directory / "src/net", "t1")
    moved = (Moved(name="net", source="./src//net", locked=before, now=now),)
    assert locking.check(installed.workspace()).moved == moved
    installed.write("src/net/net.tf", "# other\n")
    ((found,),) = [locking.check(installed.workspace()).moved]
    assert (found.locked.partition(":")[0], found.now.partition(":")[0]) == ("h1", "h1")


def test_the_manifest_can_expect_it(project: Project) -> None:
    project.wants(net="./src//net")
    t1 = hash_tree(project.directory / "src/net", "t1")
    project.wants(text=f'[modules.net]\nsource = "./src//net"\nexpect = "{t1}"\n')
    assert _install(project).failures == ()
    assert parse_lock(project.lock, "x").modules["net"].expect == t1
    project.wants(text=f'[modules.net]\nsource = "./src//net"\nexpect = "t1:{"A" * 43}="\n')
    before = snapshot(project.directory)
    error = _refused(_install(project))
    assert (error.code, error.exit_code) == ("digest-mismatch", 3)
    assert snapshot(project.directory) == before


def test_an_expected_t1_counts_where_none_is_locked(project: Project) -> None:
    """A line that somebody takes out of the lock does not make it judge by less than the manifest demands."""
    t1 = hash_tree(project.directory / "src", "t1")
    project.wants(text=f'[modules.net]\nsource = "./pkg.zip"\nexpect = "{t1}"\n')
    _install(project)
    _without_t1(project)
    (project.directory / "modules/net/main.tf").chmod(0o755)
    for wishes in ({}, {"locked": True}, {"frozen": True}):
        error = _refused(_install(project, **wishes))
        assert error.code == "destination-exists"
    (found,) = trees.verify((), project.workspace(read=False)).modules
    assert (found.state, found.t1) == ("modified", t1)


@pytest.mark.parametrize("scheme", ["h1", "t1"])
def test_a_lock_that_is_not_what_it_expects_is_refused(scheme: str, project: Project) -> None:
    """The tree that somebody has put there would be judged by the edited entry alone."""
    expect = hash_tree(project.directory / "src", scheme)
    project.wants(text=f'[modules.net]\nsource = "./pkg.zip"\nexpect = "{expect}"\n')
    _install(project)
    dest = project.directory / "modules/net"
    dest.joinpath("main.tf").write_text("# evil\n")
    edited = project.lock
    for each in ("h1", "t1"):
        edited = re.sub(f'^{each} = ".*"$', f'{each} = "{hash_tree(dest, each)}"', edited, flags=re.MULTILINE)
    project.write("getmodules.lock", edited)
    for wishes in ({}, {"locked": True}, {"frozen": True}, {"force": True}):
        with pytest.raises(ConfigError, match=f"{scheme} is another than expect has"):
            _install(project, **wishes)
    with pytest.raises(ConfigError, match=f"{scheme} is another than expect has"):
        trees.verify((), project.workspace(read=False))


# ----------------------------------------------------------------------------------------------------------- the trees


def _chmod(dest: Path) -> None:
    (dest / "net.tf").chmod(0o755)


def _unchmod(dest: Path) -> None:
    (dest / "run.sh").chmod(0o644)


def _link(dest: Path) -> None:
    shutil.copy(dest / "net.tf", dest.parent / "kept.tf")
    (dest / "net.tf").unlink()
    (dest / "copy.tf").unlink()
    shutil.move(dest.parent / "kept.tf", dest / "net.tf")
    (dest / "copy.tf").symlink_to("net.tf")


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        pytest.param(_chmod, "modified net.tf (executable bit)", id="made executable"),
        pytest.param(_unchmod, "modified run.sh (executable bit)", id="not executable any more"),
        pytest.param(_link, "modified copy.tf (kind)", id="a link in the place of an equal file"),
    ],
)
def test_a_tree_that_h1_does_not_see_as_edited_is_not_overwritten(edit: object, what: str, project: Project) -> None:
    project.write("src/net/run.sh", "#!/bin/sh\n")
    project.write("src/net/copy.tf", "# net\n")
    (project.directory / "src/net/run.sh").chmod(0o755)
    project.wants(net="./src//net")
    _install(project)
    dest = project.directory / "modules/net"
    good = snapshot(dest)
    assert callable(edit)
    edit(dest)
    before = snapshot(project.directory)
    error = _refused(_install(project))
    assert (type(error), error.exit_code) == (DestinationExistsError, 1)
    assert error.message.endswith(f": {what}")
    assert snapshot(project.directory) == before
    assert _actions(_install(project, force=True)) == {"net": "installed"}
    assert snapshot(dest) == good


@pytest.mark.parametrize("older", [False, True], ids=["", "an older lock"])
def test_an_update_does_not_overwrite_what_h1_does_not_see(older: bool, project: Project) -> None:
    """The lock knows the new tree only; that the old one was edited is known from what was installed."""
    project.wants(packed="./pkg.zip")
    if older:
        locking.lock(None, project.workspace())
        _without_t1(project)
    for _ in range(2):
        _install(project)
    project.repack(**{"main.tf": "# newer\n"})
    locking.lock(Upgrade(), project.workspace())
    (project.directory / "modules/packed/main.tf").chmod(0o755)
    assert _refused(_install(project)).code == "destination-exists"
    (project.directory / "modules/packed/main.tf").chmod(0o644)
    assert _actions(_install(project)) == {"packed": "installed"}
    assert project.tree("modules/packed")["main.tf"] == b"# newer\n"


def test_an_older_lock_does_not_make_us_forget_what_we_installed(project: Project) -> None:
    """The source is another one now; the old entry has an h1 alone, which does not see that the tree was edited."""
    project.wants(packed="./pkg.zip")
    _install(project)
    _without_t1(project)
    (project.directory / "modules/packed/main.tf").chmod(0o755)
    project.write("src/main.tf", "# newer\n")
    project.wants(packed="./src")
    before = project.tree("modules/packed")
    assert _refused(_install(project)).code == "destination-exists"
    assert project.tree("modules/packed") == before
    (project.directory / "modules/packed/main.tf").chmod(0o644)
    assert _actions(_install(project)) == {"packed": "installed"}


def test_what_an_earlier_version_installed_is_known_by_its_h1(project: Project) -> None:
    project.wants(packed="./pkg.zip")
    _install(project)
    h1 = parse_lock(project.lock, "x").modules["packed"].h1
    project.write(".getmodules/installed.json", f'{{"modules/packed": "{h1}"}}')
    project.repack(**{"main.tf": "# newer\n"})
    locking.lock(Upgrade(), project.workspace())
    assert _actions(_install(project)) == {"packed": "installed"}


def test_what_lies_there_already_is_compared_with_what_comes(project: Project) -> None:
    project.wants(packed="./pkg.zip")
    shutil.copytree(project.directory / "src", project.directory / "modules/packed")
    (project.directory / "modules/packed/main.tf").chmod(0o755)
    assert _refused(_install(project)).code == "destination-exists"
    (project.directory / "modules/packed/main.tf").chmod(0o644)
    assert _actions(_install(project)) == {"packed": "unchanged"}


# --------------------------------------------------------------------------------- file systems without execute bits


def test_without_modes_h1_alone_is_judged(installed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = installed.lock
    (installed.directory / "modules/net/run.sh").chmod(0o644)
    (installed.directory / "src/net/run.sh").chmod(0o644)
    without_modes(monkeypatch)
    assert _actions(_install(installed)) == {"net": "unchanged", "packed": "unchanged"}
    installed.write("modules/net/run.sh", "# mine\n")
    assert _refused(_install(installed)).message.endswith(": modified run.sh (content)")
    shutil.rmtree(installed.directory / "modules")
    assert _actions(_install(installed)) == {"net": "installed", "packed": "installed"}
    assert installed.lock == lock
    installed.repack(**{"main.tf": "# newer\n"})
    locking.lock(Upgrade(("packed",)), installed.workspace())
    assert _actions(_install(installed)) == {"net": "unchanged", "packed": "installed"}


def test_a_directory_that_shows_no_modes_is_locked_without_t1(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be another on every other machine. An archive knows its own."""
    without_modes(monkeypatch)
    project.wants(net="./src//net", packed="./pkg.zip")
    _install(project)
    modules = parse_lock(project.lock, "x").modules
    assert (modules["net"].t1, modules["packed"].t1) == (None, hash_tree(project.directory / "modules/packed", "t1"))
    assert locking.check(project.workspace()).moved == ()


# ------------------------------------------------------------------------------------------------------- the library


def test_a_program_gets_it(tmp_path: Path) -> None:
    (tmp_path / "p.zip").write_bytes(zip_of())
    client = Client(use_cache=False, environ={"GETMODULES_PLUGINS": ""})
    installed = client.get(str(tmp_path / "p.zip"), tmp_path / "dest")
    assert installed.t1 == hash_tree(tmp_path / "dest", "t1")
    assert client.get(str(tmp_path / "p.zip"), tmp_path / "again", expect=installed.t1).t1 == installed.t1
