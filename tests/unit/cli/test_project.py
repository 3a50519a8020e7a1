"""What the commands of a project have in common."""

from __future__ import annotations

import argparse
import io
import os

import pytest

from getmodules import AuthenticationError, ConfigError, NetworkError, NotFoundError, OfflineError
from getmodules.cli import project as subject
from getmodules.cli.options import Parser
from getmodules.cli.render import Console
from getmodules.pipeline.batch import Failure
from tests.support import processes
from tests.support.commandline import call
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _options(*argv: str) -> argparse.Namespace:
    parser = Parser(usage="x", description="x", epilog="x")
    subject.add_project_work(parser)
    return parser.parse(argv, Console(stdout=io.StringIO(), stderr=io.StringIO(), environ={}))


@pytest.mark.parametrize(("argv", "jobs"), [((), None), (("-j", "1"), 1), (("--jobs", "256"), 256)])
def test_how_many_at_once(argv: tuple[str, ...], jobs: int | None) -> None:
    pace = subject.pace_of(_options(*argv))
    assert (pace and pace.jobs) == jobs


@pytest.mark.parametrize("text", ["0", "257", "-1", "x", "", "1.5", "９", "1" * 5000])
def test_what_is_no_number_of_jobs(text: str) -> None:
    refusal(ConfigError, "config", subject.pace_of, _options(f"--jobs={text}"))


def test_which_manifest() -> None:
    console = Console(stdout=None, stderr=None, environ={})
    assert subject.manifest_of(_options("--manifest", "x.toml"), console) == "x.toml"
    assert "empty" in refusal(ConfigError, "config", subject.manifest_of, _options("--manifest", ""), console).message


def test_the_nearest_manifest(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(stdout=None, stderr=None, environ={})
    assert subject.manifest_of(_options(), console) == "."
    below = project.directory / "src/net"
    monkeypatch.chdir(below)
    assert subject.manifest_of(_options(), console) == "."
    project.write("getmodules.lock", "")
    assert subject.manifest_of(_options(), console) == "."
    assert subject.manifest_of(_options(), console, lock_suffices=True) == "../.."
    project.write("src/getmodules.toml", "")
    for lock_suffices in (False, True):
        assert subject.manifest_of(_options(), console, lock_suffices=lock_suffices) == ".."
    processes.remove_tree(below)
    assert subject.manifest_of(_options(), console) == "."


def test_every_command_finds_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.wants(net="./src//net")
    monkeypatch.chdir(project.directory / "src")
    for argv in (
        ("lock",),
        ("lock", "--check"),
        ("install",),
        ("outdated",),
        ("verify",),
        ("tree",),
        ("remove", "net"),
    ):
        assert call(*argv).code == 0, argv
    assert not (project.directory / "src/getmodules.lock").exists()


def test_what_needs_only_the_lock_finds_that(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.wants(net="./src//net")
    call("install")
    project.manifest.unlink()
    monkeypatch.chdir(project.directory / "src")
    assert call("install", "--frozen").out.startswith("net  unchanged  ../modules/net\n")
    assert call("verify").out == "ok        ../modules/net\n"
    assert call("tree").out.endswith("net in ../modules/net\n")
    for argv in (("install",), ("lock",), ("outdated",)):
        refused = call(*argv)
        assert (refused.code, "there is no" in refused.err) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what belongs to somebody else")
def test_a_manifest_of_a_stranger_above_is_passed_over(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.wants(net="./src//net")
    os.chown(project.manifest, 54321, 54321)
    assert call("lock").code == 0
    monkeypatch.chdir(project.directory / "src")
    before = snapshot(project.directory)
    refused = call("install")
    assert (refused.code, refused.out) == (2, "")
    assert f"note: passing over {project.manifest}, which belongs neither to you" in refused.err
    assert snapshot(project.directory) == before
    assert call("install", "--manifest", "..").code == 0
    assert call("add", "new", "./net", "--dest", "here").code == 0  # a project of its own
    assert (project.directory / "src/here/net.tf").is_file()


def test_failures_are_told_by_package() -> None:
    err = io.StringIO()
    shared = NotFoundError("there is nothing", address="oci://h/x")
    failures = [
        Failure(module="a", error=shared),
        Failure(module="b", error=OfflineError("not here")),
        Failure(module="c", error=shared),
    ]
    assert subject.report_failures(failures, Console(stdout=None, stderr=err, environ={})) == 6
    assert err.getvalue() == (
        "error: a, c: there is nothing\n  address: oci://h/x\n  code: not-found\nerror: b: not here\n  code: offline\n"
    )
    assert subject.failures_as_json(failures) == [
        {"module": "a", "code": "not-found", "message": "there is nothing", "hint": None, "address": "oci://h/x"},
        {"module": "b", "code": "offline", "message": "not here", "hint": None, "address": None},
        {"module": "c", "code": "not-found", "message": "there is nothing", "hint": None, "address": "oci://h/x"},
    ]
    assert subject.report_failures([], Console(stdout=None, stderr=err, environ={})) == 0


def test_failures_with_one_cause_are_one_error() -> None:
    """One cause is one code and one host or path; of the modules all are named, and no address is given for all."""
    err = io.StringIO()
    failures = [
        Failure(module=name, error=kind(f"{place} fails", address=f"oci://h/{name}", hint="wait").failing_at(place))
        for name, kind, place in [
            ("a", NetworkError, "h:1"),
            ("b", NetworkError, "h:2"),
            ("c", AuthenticationError, "h:1"),
            ("d", NetworkError, "h:1"),
        ]
    ]
    assert subject.report_failures(failures, Console(stdout=None, stderr=err, environ={})) == 4
    assert err.getvalue() == (
        "error: a, d: h:1 fails\n  hint: wait\n  code: network\n"
        "error: b: h:2 fails\n  address: oci://h/b\n  hint: wait\n  code: network\n"
        "error: c: h:1 fails\n  address: oci://h/c\n  hint: wait\n  code: authentication\n"
    )
    assert [each["address"] for each in subject.failures_as_json(failures)] == [f"oci://h/{name}" for name in "abcd"]
