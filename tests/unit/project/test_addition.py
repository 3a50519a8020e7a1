"""``add``: manifest, lock and destination change together, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from getmodules import Client, ConfigError, DestinationExistsError, InstallError
from getmodules.project.lockfile import parse_lock
from getmodules.project.manifest import read_manifest
from tests.support import processes
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _locked(project: Project) -> list[str]:
    return sorted(parse_lock(project.lock, "x").modules)


def test_adding_to_nothing(project: Project) -> None:
    report = project.client.add("net", "./src//net", project.directory)
    assert [(module.name, module.change) for module in report.modules] == [("net", "new")]
    assert report.installed is not None
    assert (report.written, report.installed.name, report.installed.action) == (True, "net", "installed")
    assert project.read("getmodules.toml") == '[modules.net]\nsource = "./src//net"\n'
    assert _locked(project) == ["net"]
    assert project.tree("modules/net") == {"net.tf": b"# net\n"}
    assert project.installed["modules/net"] == {"h1": report.installed.h1, "t1": report.installed.t1}
    assert project.client.install(project.directory, locked=True).modules[0].action == "unchanged"


def test_adding_without_installing(project: Project) -> None:
    report = project.client.add("net", "./src//net", project.directory, install=False)
    assert ([module.name for module in report.modules], report.installed) == (["net"], None)
    assert (_locked(project), {path.name for path in project.directory.iterdir()}) == (
        ["net"],
        {"src", "pkg.zip", "getmodules.toml", "getmodules.lock"},
    )


def test_nothing_else_is_installed_but_locked(project: Project) -> None:
    project.wants(net="./src//net")
    assert project.client.add("zip", "./pkg.zip", project.directory).failures == ()
    assert _locked(project) == ["net", "zip"]
    assert os.listdir(project.directory / "modules") == ["zip"]


@pytest.mark.parametrize("source", ["./src//net", "./pkg.zip//net"])
def test_a_destination_that_is_just_this_is_left_alone(source: str, project: Project) -> None:
    project.write("modules/net/net.tf", "# net\n")
    inode = (project.directory / "modules/net").stat().st_ino
    report = project.client.add("net", source, project.directory)
    assert report.installed is not None
    assert report.installed.action == "unchanged"
    assert (project.directory / "modules/net").stat().st_ino == inode
    assert "modules/net" in project.installed


def test_what_was_kept_of_an_earlier_module_is_replaced(project: Project) -> None:
    project.client.add("m", "./src//net", project.directory)
    project.client.remove("m", project.directory, keep=True)
    project.client.add("m", "./pkg.zip", project.directory)
    assert project.tree("modules/m") == {"main.tf": b"# main\n", "net/net.tf": b"# net\n"}
    project.client.remove("m", project.directory, keep=True)
    project.write("modules/m/main.tf", "# mine\n")
    before = snapshot(project.directory)
    (failure,) = project.client.add("m", "./src//net", project.directory).failures
    assert failure.error.code == "destination-exists"
    assert snapshot(project.directory) == before


def _a_file(project: Project) -> None:
    project.write("modules/net", "mine")


def _a_link(project: Project) -> None:
    (project.directory / "modules").mkdir()
    (project.directory / "modules/net").symlink_to("../src")


def _another_directory(project: Project) -> None:
    project.write("modules/net/net.tf", "# mine\n")


@pytest.mark.parametrize("occupy", [_a_file, _a_link, _another_directory])
@pytest.mark.parametrize("manifest", ["", "# mine\n"], ids=["no manifest", "a manifest"])
def test_where_it_cannot_be_installed_all_stays(
    manifest: str, occupy: Callable[[Project], None], project: Project
) -> None:
    if manifest:
        project.wants(manifest, zip="./pkg.zip")
        project.client.lock(project.directory)
    occupy(project)
    before = snapshot(project.directory)
    (failure,) = project.client.add("net", "./src//net", project.directory).failures
    assert (failure.module, type(failure.error), failure.error.code) == (
        "net",
        DestinationExistsError,
        "destination-exists",
    )
    assert failure.error.hint == "choose another dest, or move that away"
    assert snapshot(project.directory) == before


@pytest.mark.parametrize("step", ["lock", "manifest", "tree"])
@pytest.mark.parametrize("begun", [False, True], ids=["a new project", "a project"])
def test_whatever_cannot_be_written_all_stays(
    begun: bool, step: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    if begun:
        project.wants("\ufeff# mine\r\n", zip="./pkg.zip")
        project.client.install(project.directory)
    before = snapshot(project.directory)
    where = {"lock": "getmodules.lock", "manifest": "getmodules.toml", "tree": "net"}[step]

    def full(rename: Callable[..., None]) -> Callable[..., None]:
        struck = []

        def renamed(source: str | Path, target: str | Path) -> None:
            if Path(target).name == where and not struck:
                struck.append(target)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            rename(source, target)

        return renamed

    monkeypatch.setattr(os, "replace", full(os.replace))
    monkeypatch.setattr(os, "rename", full(os.rename))
    (failure,) = project.client.add("net", "./src//net", project.directory).failures
    assert isinstance(failure.error, InstallError)
    assert snapshot(project.directory) == before


@pytest.mark.parametrize("place", ["the lock", "the manifest"])
def test_a_run_that_was_killed_right_after(place: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run goes on: with the module where the manifest has it, and without where only the lock has."""
    written = {"the lock": "getmodules.lock", "the manifest": "getmodules.toml"}[place]

    def work() -> None:
        replace = os.replace

        def replaced(source: Path, target: Path) -> None:
            replace(source, target)
            if target.name == written:
                os.kill(os.getpid(), signal.SIGKILL)

        os.replace = replaced  # type: ignore[assignment]
        project.client.add("net", "./src//net", project.directory)

    assert processes.run(work) == -signal.SIGKILL
    assert _locked(project) == ["net"]
    assert not (project.directory / "modules/net").exists()
    project.client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)  # it has swept nowhere yet
    if place == "the manifest":
        assert [module.action for module in project.client.install(project.directory).modules] == ["installed"]
        return
    project.write("src/net/net.tf", "# newer\n")  # what is locked stays so
    (failure,) = project.client.add("net", "./src//net", project.directory).failures
    assert failure.error.code == "lock-mismatch"
    project.write("src/net/net.tf", "# net\n")
    report = project.client.add("net", "./src//net", project.directory)
    assert report.installed is not None
    assert (report.failures, report.written, report.installed.action) == ((), False, "installed")
    assert project.client.verify(project.directory).ok


@pytest.mark.parametrize(
    ("source", "written"),
    [
        pytest.param("./net", "./src/net", id="below"),
        pytest.param(".", "./src", id="the directory itself"),
        pytest.param("../pkg.zip//net", "./pkg.zip//net", id="beside the manifest"),
        pytest.param(
            "file::../pkg.zip?checksum=sha256:{sha256}", "file::./pkg.zip?checksum=sha256:{sha256}", id="forced"
        ),
        pytest.param("../pkg.zip?checksum=file:./SUMS", "./pkg.zip?checksum=file:./src/SUMS", id="a checksum file"),
        pytest.param("{here}/pkg.zip", "{here}/pkg.zip", id="absolute"),
    ],
)
def test_a_relative_source_starts_where_the_caller_says(source: str, written: str, project: Project) -> None:
    sha256 = hashlib.sha256((project.directory / "pkg.zip").read_bytes()).hexdigest()
    project.write("src/SUMS", f"{sha256}  pkg.zip\n")
    typed, wanted = (text.format(sha256=sha256, here=project.directory) for text in (source, written))
    report = project.client.add("m", typed, project.directory, base=project.directory / "src", dest="vendor/m")
    assert report.failures == ()
    assert project.read("getmodules.toml") == f'[modules.m]\nsource = "{wanted}"\ndest = "vendor/m"\n'
    assert (project.directory / "vendor/m").is_dir()


def test_adding_and_removing(project: Project) -> None:
    project.wants("# mine\n", net="./src//net")
    project.client.lock(project.directory)
    before, lock = project.read("getmodules.toml"), project.lock
    project.client.add("zip", "./pkg.zip", project.directory, dest="vendor/zip", expect=None)
    assert project.read("getmodules.toml") == f'{before}\n[modules.zip]\nsource = "./pkg.zip"\ndest = "vendor/zip"\n'
    assert _locked(project) == ["net", "zip"]
    assert project.tree("vendor/zip")["main.tf"] == b"# main\n"
    project.client.remove("zip", project.directory)
    assert (project.read("getmodules.toml"), project.lock) == (before, lock)
    assert not (project.directory / "vendor").exists()


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
    assert sorted(os.listdir(project.directory / "modules")) == names
