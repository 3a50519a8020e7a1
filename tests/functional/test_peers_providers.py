"""Lock files, with the engines whose they are: what they write we write, and what we write they accept unchanged.

The provider comes from a directory of packed packages, so that nothing asks the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from getmodules import ConfigError
from getmodules.addresses.versions import Constraint, Version
from getmodules.providers import (
    Engine,
    Hash,
    LocalChecksum,
    LockFile,
    ProviderAddress,
    ProviderLock,
    authenticate_all,
    format_lock_file,
    hashes_to_lock,
    measure,
    read_lock_file,
    write_lock_file,
)
from getmodules.providers.lockfile import LOCK_FILE_NAME
from tests.support.releases import LINUX, ZIP

SECONDS = 120
VERSION = Version(1, 0, 0)
HOSTS = {Engine.OPENTOFU: "registry.opentofu.org", Engine.TERRAFORM: "registry.terraform.io"}
PROJECT = 'terraform {\n  required_providers {\n    null = { source = "test/null", version = ">=1.0, < 2" }\n  }\n}\n'


class Project:
    """A directory with a configuration, and an engine that installs from a mirror beside it."""

    def __init__(self, engine: Engine, root: Path) -> None:
        program = shutil.which(engine.value)
        if program is None:
            pytest.skip(f"{engine.value} is not here; it is judged by where it is found")
        self.program, self.engine, self.root = program, engine, root
        self.address = ProviderAddress.parse(f"{HOSTS[engine]}/test/null")
        packages = root / "mirror" / str(self.address)
        packages.mkdir(parents=True)
        shutil.copy(ZIP, packages / ZIP.name.replace("linux_amd64", self._platform()))
        (root / "cli.rc").write_text(
            f'provider_installation {{\n  filesystem_mirror {{\n    path = "{root / "mirror"}"\n  }}\n}}\n'
        )
        (root / "project").mkdir()
        (root / "project" / "main.tf").write_text(PROJECT)
        self.lock_file = root / "project" / LOCK_FILE_NAME

    def _platform(self) -> str:
        said = subprocess.run([self.program, "version"], capture_output=True, text=True, timeout=SECONDS, check=True)
        return next(line.removeprefix("on ") for line in said.stdout.splitlines() if line.startswith("on "))

    def init(self, *options: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "TF_CLI_CONFIG_FILE": str(self.root / "cli.rc"),
            "CHECKPOINT_DISABLE": "1",
        }
        return subprocess.run(
            [self.program, "init", "-no-color", "-input=false", *options],
            cwd=self.root / "project",
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def lock(self, *hashes: Hash) -> LockFile:
        constraints = Constraint.parse(">=1.0, < 2")
        canonical = Constraint.parse(str(constraints))
        return LockFile.of(
            [ProviderLock(address=self.address, version=VERSION, constraints=canonical, hashes=frozenset(hashes))]
        )


@pytest.fixture(params=Engine, ids=lambda engine: engine.value)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    return Project(request.param, tmp_path)


def test_what_an_engine_writes_we_write(project: Project) -> None:
    done = project.init()
    assert done.returncode == 0, done.stdout + done.stderr
    expected = project.lock(measure(ZIP, LINUX).h1)
    assert project.lock_file.read_text() == format_lock_file(expected, project.engine)
    assert read_lock_file(project.lock_file) == expected


def test_what_we_lock_an_engine_accepts_and_leaves_alone(project: Project) -> None:
    """With the hash of the zip, which no engine records for a mirror of packed packages."""
    package = measure(ZIP, LINUX)
    found = authenticate_all(package, [LocalChecksum()])
    hashes = hashes_to_lock(VERSION, package.h1, found, prior=None, signature_needed=True)
    assert len(hashes) == 2
    write_lock_file(project.lock_file, project.lock(*hashes), project.engine)
    written = project.lock_file.read_bytes()
    for options in ([], ["-lockfile=readonly"]):
        done = project.init(*options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert project.lock_file.read_bytes() == written


@pytest.mark.parametrize("right", [True, False])
def test_the_hash_of_the_zip_alone_is_what_an_engine_verifies(project: Project, right: bool) -> None:
    zip_ = measure(ZIP, LINUX).zh
    assert zip_ is not None
    write_lock_file(project.lock_file, project.lock(zip_ if right else Hash("zh", "0" * 64)), project.engine)
    done = project.init()
    assert (done.returncode == 0) is right, done.stdout + done.stderr
    if not right:
        assert "checksum" in done.stderr


@pytest.mark.parametrize(
    "version", ["1.0.0", "1.0.0-01", "1.0.0-a.01", "1.0.0+01", "01.0.0", "1.0", "v1.0.0", "1.0.0-"]
)
def test_a_version_in_a_lock_file_is_read_as_by_an_engine(project: Project, version: str) -> None:
    project.lock_file.write_text(f'provider "{project.address}" {{\n  version = "{version}"\n}}\n')
    said = subprocess.run(
        [project.program, "version"],
        cwd=project.root / "project",
        env={"PATH": os.environ["PATH"], "HOME": str(project.root), "CHECKPOINT_DISABLE": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    accepted = f"{project.address} v{version}\n" in said.stdout
    try:
        (lock,) = read_lock_file(project.lock_file).providers.values()
    except ConfigError:
        assert not accepted
    else:
        assert accepted
        assert str(lock.version) == version
