"""OCI's own conformance suite judges the registry of ``getmodules.testing``."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from getmodules.testing import Access, Behaviour, Registry, User, tls_context
from tests.support.checkout import ROOT
from tests.support.gotools import DIRECTORY, need_go
from tests.support.registryclient import make_certificate

SCRIPT = ROOT / "scripts" / "conformance"
USERS = {"user": User("password")}
# Read when the module is loaded: the tests' own environment does not have it.
_NEWEST = Path(os.environ.get("OCI_CONFORMANCE") or DIRECTORY / "conformance")


@dataclass(frozen=True)
class Suite:
    """One version of the suite: its program, how it writes its numbers, and the least that it must have tested."""

    program: Callable[[], str]
    passed: str
    failed: str
    least: int

    def judged(self, registry: Registry, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)}
        environment["OCI_CONFORMANCE"] = self.program()
        return subprocess.run(
            ["bash", str(SCRIPT), registry.url],
            env={**environment, **more},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def numbers(self, report: str) -> tuple[int, int]:
        """How many passed, and how many failed."""
        passed, failed = (sum(map(int, re.findall(found, report))) for found in (self.passed, self.failed))
        return passed, failed


def newest() -> str:
    """Nothing here can build it, so that a machine without it has promised nothing."""
    if not os.access(_NEWEST, os.X_OK):
        pytest.skip("the newest suite is not here; scripts/conformance says where it is looked for")
    return str(_NEWEST)


SUITES = [
    pytest.param(
        Suite(lambda: need_go("oci-conformance"), r"(\d+) Passed \|", r"\| (\d+) Failed", 60), id="as-installed"
    ),
    pytest.param(Suite(newest, r"  Pass\.+: +(\d+)", r"  (?:FAIL|Error)\.+: +(\d+)", 700), id="newest"),
]


def in_memory(place: Path) -> Registry:
    return Registry()


def in_layouts(place: Path) -> Registry:
    return Registry(layout=place / "layouts")


def basic(place: Path) -> Registry:
    return Registry(access=Access(scheme="basic", users=USERS))


def bearer(place: Path) -> Registry:
    return Registry(access=Access(scheme="bearer", users=USERS))


def tls(place: Path) -> Registry:
    return Registry(tls=tls_context(*make_certificate(place)))


def without_referrers(place: Path) -> Registry:
    return Registry(behaviour=Behaviour(referrers_api=False))


def in_chunks(place: Path) -> Registry:
    return Registry(behaviour=Behaviour(chunk_min_length=4096))


def sparse(place: Path) -> Registry:
    return Registry(behaviour=Behaviour(sparse=True))


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(
    ("made", "settings"),
    [
        pytest.param(in_memory, {}, id="in-memory"),
        pytest.param(in_layouts, {}, id="in-layouts"),
        pytest.param(basic, {}, id="basic"),
        pytest.param(bearer, {}, id="bearer"),
        pytest.param(tls, {}, id="tls"),
        pytest.param(in_chunks, {}, id="in-chunks"),
        pytest.param(without_referrers, {"OCI_API_REFERRER": "false"}, id="without-referrers"),
        pytest.param(sparse, {"OCI_DATA_SPARSE": "true"}, id="sparse"),
    ],
)
def test_ours_fails_none(
    tmp_path: Path, made: Callable[[Path], Registry], settings: dict[str, str], suite: Suite
) -> None:
    with made(tmp_path) as registry:
        ran = suite.judged(
            registry,
            tmp_path,
            OCI_USERNAME="user",
            OCI_PASSWORD="password",
            SSL_CERT_FILE=str(tmp_path / "certificate.pem"),
            **settings,
        )
    passed, failed = suite.numbers(ran.stdout)
    assert (ran.returncode, failed) == (0, 0), ran.stdout + ran.stderr
    assert passed > suite.least, ran.stdout + ran.stderr


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("fault", ["missing-blob", "missing-manifest", "500"])
def test_the_suite_finds_what_is_wrong(tmp_path: Path, fault: str, suite: Suite) -> None:
    with Registry() as registry, registry.fault(fault):
        ran = suite.judged(registry, tmp_path)
    assert ran.returncode != 0
    assert suite.numbers(ran.stdout)[1] > 0, ran.stdout + ran.stderr
