"""OCI's own conformance suite judges the registry of ``getmodules.testing``."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.testing import Access, Behaviour, Registry, User, tls_context
from tests.asking import make_certificate
from tests.gotools import need_go

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "conformance"
USERS = {"user": User("password")}


def judged(registry: Registry, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    suite = need_go("oci-conformance")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)}
    environment["GETMODULES_TOOLS"] = str(Path(suite).parent)
    return subprocess.run(
        ["bash", str(SCRIPT), registry.url],
        env={**environment, **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


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


@pytest.mark.parametrize("made", [in_memory, in_layouts, basic, bearer, tls, without_referrers])
def test_ours_fails_none(tmp_path: Path, made: Callable[[Path], Registry]) -> None:
    with made(tmp_path) as registry:
        ran = judged(
            registry,
            tmp_path,
            OCI_USERNAME="user",
            OCI_PASSWORD="password",
            SSL_CERT_FILE=str(tmp_path / "certificate.pem"),
        )
    found = re.search(r"(\d+) Passed \| (\d+) Failed", ran.stdout)
    assert found is not None, ran.stdout + ran.stderr
    assert (ran.returncode, found[2]) == (0, "0"), ran.stdout
    assert int(found[1]) > 60


@pytest.mark.parametrize("fault", ["missing-blob", "missing-manifest", "500"])
def test_the_suite_finds_what_is_wrong(tmp_path: Path, fault: str) -> None:
    with Registry() as registry, registry.fault(fault):
        ran = judged(registry, tmp_path)
    assert ran.returncode != 0
    assert re.search(r"\| [1-9]\d* Failed", ran.stdout), ran.stdout + ran.stderr
