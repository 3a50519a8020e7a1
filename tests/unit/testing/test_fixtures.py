"""The fixtures work in a project that knows nothing but their name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = """
import urllib.request

pytest_plugins = ["getmodules.testing.fixtures"]
seen = []


def test_one(oci_registry):
    oci_registry.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
    with urllib.request.urlopen(f"{oci_registry.url}/v2/acme/vpc/tags/list") as answer:
        assert answer.read() == b'{"name":"acme/vpc","tags":["1.0.0"]}'
    seen.append(oci_registry)


def test_each_has_its_own(oci_registry):
    assert seen and oci_registry is not seen[0]
    assert oci_registry.requests == ()
"""


#: What is in the cache of the user has the same digest in the second run.
FAULTY = """
from pathlib import Path

import pytest

from getmodules import Client, DigestMismatchError

pytest_plugins = ["getmodules.testing.fixtures"]


def address(registry):
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
    return f"oci://{registry.host}/acme/vpc?tag=1.0.0"


def test_it_is_fetched(oci_registry, tmp_path):
    Client().get(address(oci_registry), tmp_path / "dest")
    assert any("/blobs/" in request.path for request in oci_registry.requests)


def test_a_fault_is_noticed(oci_registry, tmp_path):
    oci_registry.fault("wrong-blob")
    with pytest.raises(DigestMismatchError):
        Client().get(address(oci_registry), tmp_path / "dest")


def test_the_cache_can_be_looked_at(getmodules_cache, oci_registry, tmp_path):
    assert list(getmodules_cache.iterdir()) == []
    Client().get(address(oci_registry), tmp_path / "dest")
    assert (getmodules_cache / "blobs").is_dir()
"""


def run_twice(project: Path, environ: dict[str, str]) -> list[str]:
    ran = [
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(project)],
            capture_output=True,
            text=True,
            cwd=project,
            env=environ,
            timeout=60,
            check=False,
        )
        for _ in range(2)
    ]
    return [each.stdout + each.stderr for each in ran]


def test_a_test_that_passes_once_passes_twice_and_notices_faults(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "test_project.py").write_text(FAULTY, encoding="utf-8")
    mine = tmp_path / "the-users-own-cache"
    environ = {**os.environ, "GETMODULES_CACHE_DIR": str(mine), "GETMODULES_PLUGINS": ""}
    for said in run_twice(tmp_path / "project", environ):
        assert "3 passed" in said, said
    assert not mine.exists()


def test_the_registry_is_there_for_a_test_and_gone_afterwards(tmp_path: Path) -> None:
    (tmp_path / "test_project.py").write_text(PROJECT, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr
