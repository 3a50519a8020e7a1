"""The three forms in which registries report more hashes."""

from __future__ import annotations

from typing import Any

import pytest

from getmodules import VerificationError
from getmodules.providers import Hash, Platform, parse_reports
from getmodules.providers.origin import MOST_HASHES, ReportedPackage
from tests.support.refusals import refusal
from tests.support.releases import LINUX

ZH, H1 = Hash("zh", "a"), Hash("h1", "b")


def test_packages() -> None:
    answer = {
        "packages": {
            "linux_amd64": {"hashes": ["zh:a", "h1:b", "h7:c"], "package_size": 294, "more": 1},
            "darwin_arm64": {"hashes": [], "package_size": 1},
        }
    }
    assert parse_reports(answer) == (
        (
            ReportedPackage(hashes=(ZH, H1, Hash("h7", "c")), platform=LINUX, size=294),
            ReportedPackage(hashes=(), platform=Platform("darwin", "arm64"), size=1),
        ),
    )


def test_hashes_by_zip() -> None:
    answer = {"hashes": {"zh:a": ["h1:b"], "zh:c": []}}
    expected = (ReportedPackage(hashes=(ZH, H1)), ReportedPackage(hashes=(Hash("zh", "c"),)))
    assert parse_reports(answer) == (expected,)


def test_plain_hashes() -> None:
    assert parse_reports({"hashes": ["zh:a", "h1:b"]}) == ((ReportedPackage(hashes=(ZH, H1)),),)


def test_a_registry_may_report_in_two_forms() -> None:
    answer = {"packages": {"linux_amd64": {"hashes": ["zh:a"], "package_size": 1}}, "hashes": ["zh:a"]}
    assert len(parse_reports(answer)) == 2


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"packages": {}}, id="no packages"),
        pytest.param({"packages": None, "hashes": None}, id="null"),
        pytest.param({"hashes": {}}, id="no zips"),
        pytest.param({"hashes": []}, id="no hashes"),
    ],
)
def test_most_registries_report_none(answer: dict[str, Any]) -> None:
    assert parse_reports(answer) == ()


def _packages(**package: Any) -> dict[str, Any]:
    return {"packages": {"linux_amd64": {"hashes": ["zh:a"], "package_size": 1, **package}}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param({"packages": []}, "must be an object", id="a list of packages"),
        pytest.param({"packages": {"linux": {"hashes": [], "package_size": 1}}}, "platform", id="no platform"),
        pytest.param(_packages(package_size=0), "at least 1", id="no bytes"),
        pytest.param(_packages(package_size=-5), "at least 1", id="negative"),
        pytest.param(_packages(package_size="1"), "whole number", id="size in quotes"),
        pytest.param(_packages(package_size=True), "whole number", id="true bytes"),
        pytest.param({"packages": {"linux_amd64": {"hashes": []}}}, "package_size", id="no size"),
        pytest.param({"packages": {"linux_amd64": {"package_size": 1}}}, "hashes", id="no list"),
        pytest.param(_packages(hashes="zh:a"), "array", id="one hash"),
        pytest.param(_packages(hashes=[1]), "string", id="a number"),
        pytest.param(_packages(hashes=["a"]), "scheme", id="no scheme"),
        pytest.param({"hashes": "zh:a"}, "array", id="a hash for a list"),
        pytest.param({"hashes": {"h1:a": []}}, "by their zh: hashes", id="named by h1"),
        pytest.param({"hashes": {"zh:a": "h1:b"}}, "array", id="by zip, no list"),
        pytest.param({"hashes": ["zh:" + str(n) for n in range(MOST_HASHES + 1)]}, "more than 10,000", id="too many"),
    ],
)
def test_what_is_refused(answer: dict[str, Any], words: str) -> None:
    assert words in refusal(VerificationError, "verification", parse_reports, answer).message
