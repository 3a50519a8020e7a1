"""What the commands of a project have in common."""

from __future__ import annotations

import argparse
import io

import pytest

from getmodules import AuthenticationError, ConfigError, NetworkError, NotFoundError, OfflineError
from getmodules.cli import project as subject
from getmodules.cli.options import Parser
from getmodules.cli.render import Console
from getmodules.pipeline.batch import Failure
from tests.support.refusals import refusal


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
    assert subject.manifest_of(_options()) == "."
    assert subject.manifest_of(_options("--manifest", "x.toml")) == "x.toml"
    assert "empty" in refusal(ConfigError, "config", subject.manifest_of, _options("--manifest", "")).message


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
        Failure(module=name, error=kind(f"{place} fails", address=f"oci://h/{name}", failed_at=place, hint="wait"))
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
