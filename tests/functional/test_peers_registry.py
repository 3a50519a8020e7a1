"""The versions that Terraform itself chooses from a registry, and ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from getmodules.addresses.versions import Constraint, Version
from tests.support.certificates import Authority
from tests.support.moduleregistry import MODULE, a_registry

VERSIONS = (
    "0.9.0", "1.0.0-beta", "1.0.0", "1.0.1", "1.1.0-rc.1", "1.1.0", "1.2.0", "1.2.3-beta.2", "1.2.3",
    "2.0.0-alpha", "2.0.0", "2.1.1-rc.1", "2.1.1",
)  # fmt: skip
FITTING = (
    "1", "1.1", "= 1.2.0", "v1.2.3", "1.02.03", "~> 1", "~> 1.0", "~> 1.0.0", "~> 1.2.2", "~> 0.9", "> 1.2", ">= 1.2.3",
    "< 2", "<= 2.0", "!= 2.1.1", ">= 1.0, < 1.2.3", "~> 1.0, != 1.2.3", ">=1.1,<=1.2", "2.0.0-alpha", "=1.0.0-beta",
    "1.0-beta", ">= 2.0.0-alpha", "<= 1.0.0-beta", "< 2.0.0-alpha", "!= 2.0.0-alpha", "> 1.1.0-rc.1, < 2.0.0",
)  # fmt: skip
UNFITTING = (
    "3.0", "~> 2.2", "~> 1.3.0", "> 2.1.1", "< 0.9", "> 2.0, < 1.0", "~> 2.0.0-alpha", "~> 1.2.3-beta.2",
    "2.0.0-alpha, >= 1.0", "2.0.0-alpha, 2.0.0-alpha", "1.2.3-beta.1", "2.0.0-beta, != 1.0.0",
)  # fmt: skip


def ours(constraint: str) -> str | None:
    newest = Constraint.parse(constraint).newest(map(Version.parse, VERSIONS))
    return None if newest is None else str(newest)


def test_terraform_chooses_the_same(tmp_path: Path, authority: Authority) -> None:
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not on this machine")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SSL_CERT_FILE": str(authority.ca),
        "CHECKPOINT_DISABLE": "1",
        "TF_CLI_CONFIG_FILE": os.devnull,
    }
    with a_registry(authority) as registry:
        registry.publish(*VERSIONS)

        def terraform_get(name: str, constraints: tuple[str, ...]) -> tuple[Path, str]:
            project = tmp_path / name
            project.mkdir()
            calls = [
                f'module "m{index}" {{\n  source  = "{registry.host}/{MODULE}"\n  version = "{constraint}"\n}}\n'
                for index, constraint in enumerate(constraints)
            ]
            (project / "main.tf").write_text("".join(calls))
            command = [terraform, "get", "-no-color"]
            done = subprocess.run(
                command, cwd=project, env=environ, capture_output=True, text=True, timeout=120, check=False
            )
            return project / ".terraform" / "modules" / "modules.json", done.stderr

        installed, said = terraform_get("fitting", FITTING)
        assert installed.exists(), said
        modules = {each["Key"]: each.get("Version") for each in json.loads(installed.read_text())["Modules"]}
        theirs = {constraint: modules[f"m{index}"] for index, constraint in enumerate(FITTING)}
        assert {constraint: ours(constraint) for constraint in FITTING} == theirs

        _, said = terraform_get("unfitting", UNFITTING)
        assert said.count("Unresolvable module version constraint") == len(UNFITTING)
        assert [constraint for constraint in UNFITTING if ours(constraint) is not None] == []
