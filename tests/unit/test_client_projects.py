"""What a client does with a whole project."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from getmodules import Client, ConfigError, NotFoundError
from getmodules.pipeline.batch import Pace
from getmodules.project.reports import CheckReport, Difference, Differences, OutdatedReport
from getmodules.testing import Registry
from tests.support.fakes import Recorder
from tests.support.processes import bind_mount, in_mount_namespace
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.wants(net="./src//net", packed="./pkg.zip")
    return made


def test_all_of_it(project: Project) -> None:
    client, place = project.client, project.directory
    assert client.lock(place).written
    assert client.check_lock(place).moved == ()
    assert [module.action for module in client.install(project.manifest).modules] == ["installed", "installed"]
    assert client.verify(place).ok
    assert client.verify(place, names=["net"]).ok
    assert client.outdated(place).modules == ()
    assert not client.lock(place, upgrade=True).written
    assert not client.lock(place, upgrade=["net"]).written
    assert client.add("src", "./src", place).written
    client.remove("src", place)


@pytest.mark.parametrize(
    ("upgrade", "changed"),
    [
        pytest.param(False, set(), id="not at all"),
        pytest.param([], set(), id="of none, none"),
        pytest.param(iter(["net"]), {"net"}, id="one"),
        pytest.param(True, {"net", "packed"}, id="all"),
    ],
)
def test_what_is_upgraded(upgrade: bool | Iterable[str], changed: set[str], project: Project) -> None:
    project.client.lock(project.directory)
    project.write("src/net/net.tf", "# other\n")
    project.repack(**{"net/net.tf": "# other\n"})
    report = project.client.lock(project.directory, upgrade=upgrade)
    assert {module.name for module in report.modules if module.change == "changed"} == changed


def test_the_current_directory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.directory)
    assert project.client.install().failures == ()
    assert project.client.verify().ok


def test_failures_are_in_the_report_and_raised_when_asked(project: Project) -> None:
    project.wants(none="./none")
    report = project.client.install(project.directory)
    assert [failure.module for failure in report.failures] == ["none"]
    refusal(NotFoundError, "not-found", report.check)


def test_a_checkout_that_is_only_read(
    project: Project, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All that changes nothing in it works, and nobody is told of what could not be written."""
    client, place = project.client, project.directory
    assert client.install(place).failures == ()
    shutil.rmtree(place / ".getmodules")
    project.write("modules/packed/main.tf", "mine")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def work() -> None:
        bind_mount(place, place, read_only=True)
        assert client.check_lock(place) == CheckReport()
        assert client.outdated(place) == OutdatedReport(current=("net", "packed"))
        (packed,) = client.verify(place, names=["packed"]).modules
        assert packed.differences == Differences(changed={"main.tf": (Difference.CONTENT,)})
        assert [module.action for module in client.install(place, names=["net"]).modules] == ["unchanged"]
        assert caplog.text == ""

    in_mount_namespace(work)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_executor_of_the_callers(project: Project) -> None:
    with ThreadPoolExecutor(2) as executor:
        report = project.client.install(project.directory, pace=Pace(executor=executor))
        assert report.failures == ()
        assert executor.submit(lambda: 1).result() == 1  # it stays open


def test_events_instead_of_prints(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    seen = Recorder()
    project.client.install(project.directory, progress=seen)
    assert {event[0] for event in seen.events} >= {"phase", "finished"}
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("quick_retries")
def test_what_the_manifest_says_about_hosts_is_for_that_project_alone(tmp_path: Path) -> None:
    with Registry() as registry:
        registry.push_module("acme/vpc", "1", {"main.tf": ""})
        mirrored = Project(tmp_path / "mirrored")
        mirrored.wants(
            f'[mirrors]\n"oci://r.invalid" = "oci://{registry.host}"\n', vpc="oci://r.invalid/acme/vpc?tag=1"
        )
        client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)
        assert client.install(mirrored.directory).failures == ()
        plain = Project(tmp_path / "plain")
        plain.wants(vpc="oci://r.invalid/acme/vpc?tag=1")
        assert [failure.module for failure in client.install(plain.directory).failures] == ["vpc"]


@pytest.mark.usefixtures("quick_retries")
def test_the_registry_of_the_manifest(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants('[defaults]\nregistry = "r.invalid"\n', m="acme/vpc/aws")
    (failure,) = project.client.install(project.directory).failures
    assert (failure.error.address or "").startswith("tfr://r.invalid/acme/vpc/aws")


def test_a_manifest_that_is_not_there(tmp_path: Path) -> None:
    client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)
    before = snapshot(tmp_path)
    for work in (client.lock, client.install, client.check_lock, client.outdated):
        refusal(ConfigError, "config", work, tmp_path)
    assert snapshot(tmp_path) == before
