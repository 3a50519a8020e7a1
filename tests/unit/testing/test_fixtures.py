"""The fixtures work in a project that knows nothing but their name."""

from __future__ import annotations

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
