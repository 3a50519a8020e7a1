"""What is handed back."""

from __future__ import annotations

import pytest

from getmodules import NotFoundError
from getmodules.pipeline.batch import Failure
from getmodules.project.reports import FailuresError, InstallReport, TreeState, VerifiedModule, VerifyReport

ONE, OTHER = NotFoundError("one"), NotFoundError("other")


def test_without_failures_nothing_is_raised() -> None:
    InstallReport().check()


def test_one_failure_is_raised_as_it_is() -> None:
    report = InstallReport(failures=(Failure(module="a", error=ONE), Failure(module="b", error=ONE)))
    with pytest.raises(NotFoundError, match="one"):
        report.check()


def test_several_are_raised_together() -> None:
    report = InstallReport(failures=(Failure(module="a", error=ONE), Failure(module="b", error=OTHER)))
    with pytest.raises(FailuresError, match="2 modules failed") as caught:
        report.check()
    assert caught.value.exceptions == (ONE, OTHER)


def test_all_is_well_where_every_tree_is() -> None:
    good = VerifiedModule(name="a", dest="a", state=TreeState.OK, h1="x")
    bad = VerifiedModule(name="b", dest="b", state=TreeState.MISSING, h1="x")
    assert VerifyReport().ok
    assert VerifyReport(modules=(good,)).ok
    assert not VerifyReport(modules=(good, bad)).ok
