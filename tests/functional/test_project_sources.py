"""Projects with modules from git, from a module registry and from a web server, beside each other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import Client
from getmodules.net.settings import NetSettings
from getmodules.project.lockfile import parse_lock
from tests.support.certificates import Authority
from tests.support.gitrepos import Repository
from tests.support.moduleregistry import MODULE, ModuleRegistry, a_registry
from tests.support.projects import Project
from tests.support.tools import need


@pytest.fixture
def registry(authority: Authority) -> Iterator[ModuleRegistry]:
    with a_registry(authority) as running:
        running.publish("1.0.0", "v1.2.0", "2.0.0-beta.1")
        yield running


@pytest.fixture
def project(tmp_path: Path, authority: Authority) -> Project:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GETMODULES_PLUGINS": ""}
    network = NetSettings(ca_file=str(authority.ca), backoff_seconds=0.01)
    return Project(tmp_path / "project", environ=environ, network=network, cache_dir=tmp_path / "cache", use_cache=True)


def _selected(project: Project, name: str) -> str | None:
    return parse_lock(project.lock, "x").modules[name].selected


def test_versions_of_a_git_repository(project: Project) -> None:
    need("git")
    repository = Repository(project.directory / "repo.git")
    commits = {}
    for tag in ("1.0.0", "v1.1.0", "2.0.0"):
        commits[tag] = repository.commit_files({"main.tf": tag.encode(), "net/a.tf": tag.encode()})
        repository.tag(commits[tag], tag)
    source = "git::./repo.git//net"
    project.wants(f'[modules.vpc]\nsource = "{source}"\nversion = "~> 1.0"\n')
    assert project.client.install(project.directory).failures == ()
    module, package = parse_lock(project.lock, "x").entry("vpc")
    assert (module.selected, package.id, package.archive) == ("v1.1.0", commits["v1.1.0"], None)
    assert project.tree("modules/vpc") == {"a.tf": b"v1.1.0"}
    assert project.client.check_lock(project.directory).moved == ()
    (found,) = project.client.outdated(project.directory).modules
    assert (found.version, found.newest, found.latest) == ("1.1.0", None, "2.0.0")

    newer = repository.commit_files({"main.tf": b"1.1.1", "net/a.tf": b"1.1.1"})
    repository.tag(newer, "1.1.1")
    shutil.rmtree(project.directory / "modules")
    assert project.client.install(project.directory, locked=True).failures == ()
    assert project.tree("modules/vpc") == {"a.tf": b"v1.1.0"}
    project.client.lock(project.directory, upgrade=True)
    assert _selected(project, "vpc") == "1.1.1"
    repository.tag(commits["2.0.0"], "1.1.1")
    assert [moved.now for moved in project.client.check_lock(project.directory).moved] == [commits["2.0.0"]]


def test_versions_in_a_module_registry(project: Project, registry: ModuleRegistry) -> None:
    project.wants(f'[modules.vpc]\nsource = "tfr://{registry.host}/{MODULE}//net"\nversion = "~> 1.0"\n')
    assert project.client.install(project.directory).failures == ()
    module, package = parse_lock(project.lock, "x").entry("vpc")
    assert (module.selected, module.subdir) == ("1.2.0", "net")
    assert package.address.startswith(f"https://{registry.host}/packages/vpc.zip?checksum=sha256:")
    registry.publish("1.0.0", "v1.2.0", "1.3.0")
    assert project.client.check_lock(project.directory).moved == ()
    (found,) = project.client.outdated(project.directory).modules
    assert (found.version, found.newest) == ("1.2.0", "1.3.0")
    registry.server.received.clear()
    shutil.rmtree(project.directory / "modules")
    assert project.client.install(project.directory, locked=True).failures == ()
    assert registry.paths == []  # pinned, and in the cache


def test_a_web_server_is_asked_once_for_all_modules(project: Project, registry: ModuleRegistry) -> None:
    archive = f"https://{registry.host}/packages/vpc.zip"
    project.wants(whole=archive, net=f"{archive}//net")
    assert project.client.install(project.directory).failures == ()
    assert registry.paths == ["/packages/vpc.zip"]
    assert project.lock.count("[[package]]") == 1
    assert project.client.check_lock(project.directory).moved == ()
    status, _, headers = registry.replies["/packages/vpc.zip"]
    registry.replies["/packages/vpc.zip"] = (status, (project.directory / "pkg.zip").read_bytes(), headers)
    assert [moved.name for moved in project.client.check_lock(project.directory).moved] == ["whole", "net"]
    shutil.rmtree(project.directory / "modules")
    assert project.client.install(project.directory, locked=True).failures == ()  # from the cache
    shutil.rmtree(project.directory / "modules")
    bare = Client(
        environ={"GETMODULES_PLUGINS": ""}, use_cache=False, network=project.client._services.settings.network
    )
    refused = bare.install(project.directory, locked=True)
    assert [failure.error.code for failure in refused.failures] == ["lock-mismatch"] * 2
    assert not (project.directory / "modules").exists()


def test_offline_a_version_cannot_be_chosen(project: Project, registry: ModuleRegistry) -> None:
    project.wants(f'[modules.vpc]\nsource = "tfr://{registry.host}/{MODULE}"\nversion = "~> 1.0"\n')
    offline = Client(environ={"GETMODULES_PLUGINS": ""}, cache_dir=project.directory.parent / "cache", offline=True)
    report = offline.install(project.directory)
    assert [(failure.module, failure.error.code) for failure in report.failures] == [("vpc", "offline")]
    assert registry.paths == []
