"""Between the lock's entries and the pipeline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from getmodules import ConfigError, Elsewhere, Gate
from getmodules.project import plan as subject
from getmodules.project.lockfile import Lock, LockedModule, LockedPackage, parse_lock
from getmodules.project.select import find_targets
from tests.support.fakes import FakeGetter, FakePlugin, a_pin, blob, members_of, zip_of
from tests.support.projects import Project
from tests.support.refusals import refusal

H1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
SHA = "sha256:" + "ab" * 32
MODULE = LockedModule(name="vpc", source="./pkg.zip", package="./pkg.zip", dest="modules/vpc", h1=H1)
PACKAGE = LockedPackage(address="./pkg.zip", id=SHA, getter="file", archive=SHA, size=1)
DEST = Path("/dest")


def _demands(job: object) -> set[tuple[Gate, str, str]]:
    return {(demand.gate, demand.check, demand.value) for demand in (*job.demands, *job.tree_demands)}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("package", "demands"),
    [
        pytest.param(PACKAGE, {(Gate.BYTES, "lock", SHA)}, id="an archive, pinned by its bytes"),
        pytest.param(
            replace(PACKAGE, id="sha256:1"),
            {(Gate.PIN, "lock", "sha256:1"), (Gate.BYTES, "lock", SHA)},
            id="an artifact",
        ),
        pytest.param(replace(PACKAGE, id="c0ffee", archive=None), {(Gate.PIN, "lock", "c0ffee")}, id="a commit"),
        pytest.param(replace(PACKAGE, id=H1, archive=None), set(), id="a directory"),
    ],
)
def test_what_a_lock_demands(package: LockedPackage, demands: set[tuple[Gate, str, str]], project: Project) -> None:
    project.wants("")
    job = subject.locked_job(MODULE, package, project.workspace(), DEST)
    assert _demands(job) == {*demands, (Gate.TREE, "lock", H1)}
    assert {demand.gate for demand in job.tree_demands} == {Gate.TREE}


def test_what_the_manifest_expects_is_demanded_besides(project: Project) -> None:
    project.wants("")
    for expect, gate in ((SHA, Gate.BYTES), (H1, Gate.TREE)):
        job = subject.locked_job(replace(MODULE, expect=expect), PACKAGE, project.workspace(), DEST)
        assert (gate, "expect", expect) in _demands(job)


def test_a_getter_that_the_address_does_not_have(project: Project) -> None:
    project.wants("")
    package = replace(PACKAGE, getter="oci")
    error = refusal(ConfigError, "config", subject.locked_job, MODULE, package, project.workspace(), DEST)
    assert "--upgrade vpc" in (error.typed_hint or "")


@pytest.mark.parametrize(
    ("source", "package", "is_stray"),
    [
        pytest.param("./src", "./src", False, id="a directory"),
        pytest.param("./src//net", "./src//net", False, id="a part of one"),
        pytest.param("./src", "./elsewhere", True, id="another directory"),
        pytest.param("oci://h/acme/vpc//net", "oci://h/acme/vpc?digest=" + SHA, False, id="an artifact"),
        pytest.param("oci://h/acme/vpc", "oci://h/evil/vpc?digest=" + SHA, True, id="another repository"),
        pytest.param("oci://h/acme/vpc", "oci://evil/acme/vpc?digest=" + SHA, True, id="another registry"),
        pytest.param("oci://h/acme/vpc", "./src", True, id="a directory for a repository"),
        pytest.param("github.com/acme/vpc//net?ref=v1", "git::https://github.com/acme/vpc.git?ref=c0", False, id="git"),
        pytest.param("git::https://h/vpc/?ref=v1", "git::https://h/vpc?ref=c0", False, id="a slash that is not kept"),
        pytest.param("git::https://h/vpc?ref=v1", "git::https://h/evil?ref=c0", True, id="another git repository"),
        pytest.param("https://h/vpc.zip", "https://cdn/x.zip?checksum=" + SHA, False, id="a server that sends on"),
        pytest.param("acme/vpc/aws", "git::https://h/vpc?ref=c0", False, id="a module registry"),
        pytest.param("./src", "a::b::c", False, id="no address, which its install says"),
    ],
)
def test_a_package_that_is_not_of_its_source(source: str, package: str, is_stray: bool, project: Project) -> None:
    project.wants(m=source)
    workspace = project.workspace()
    locked = replace(MODULE, name="m", source=source, package=package)
    lock = Lock({package: PACKAGE}, {"m": locked})
    assert subject.find_mismatched(workspace.manifest(), lock, workspace) == ({"m"} if is_stray else set())
    edited = Lock({package: PACKAGE}, {"m": replace(locked, source="./edited")})
    assert (
        subject.find_mismatched(workspace.manifest(), edited, workspace)
        == subject.find_mismatched(workspace.manifest(), None, workspace)
        == set()
    )


@pytest.mark.parametrize(
    ("source", "address", "subdir"),
    [
        pytest.param("./src", "./src", "", id="a directory"),
        pytest.param("./src//net", "./src//net", "", id="a part of one"),
        pytest.param("file::./src//net", "file::./src//net", "", id="forced"),
        pytest.param("./pkg.zip//net", "./pkg.zip?checksum={zip}", "net", id="a part of an archive"),
        pytest.param("./pkg.zip?archive=zip", "./pkg.zip?archive=zip&checksum={zip}", "", id="with an argument"),
        pytest.param("./pkg.zip//n*", "./pkg.zip?checksum={zip}", "n*", id="a glob"),
    ],
)
def test_what_lies_here_is_written_as_it_was_typed(source: str, address: str, subdir: str, project: Project) -> None:
    import hashlib

    digest = "sha256:" + hashlib.sha256((project.directory / "pkg.zip").read_bytes()).hexdigest()
    project.wants(m=source)
    assert project.client.install(project.directory).failures == ()
    module = parse_lock(project.lock, "x").modules["m"]
    assert (module.package, module.subdir) == (address.format(zip=digest), subdir)
    before = project.lock
    (project.directory / "getmodules.lock").unlink()
    assert project.client.install(project.directory).failures == ()
    assert project.lock == before
    assert project.client.install(project.directory, locked=True).failures == ()


def test_an_absolute_path_stays_one(project: Project) -> None:
    path = project.directory / "src"
    project.wants(m=str(path))
    project.client.lock(project.directory)
    assert parse_lock(project.lock, "x").modules["m"].package == str(path)


def _project(tmp_path: Path, *getters: FakeGetter) -> Project:
    return Project(tmp_path / "project", plugins=(FakePlugin(*getters),))


def test_an_address_with_a_secret_that_a_server_named_is_not_written_down(tmp_path: Path) -> None:
    registry = FakeGetter(schemes=("reg",), pin=Elsewhere(address="fake://cdn/x//sub?signature=hunter22"))
    getter = FakeGetter(answer=lambda *_: blob(zip_of()), arguments=("signature",))
    project = _project(tmp_path, registry, getter)
    project.wants(m="reg://h/a//deep?version=1")
    assert project.client.lock(project.directory).failures == ()
    assert "hunter22" not in project.lock
    assert "****" not in project.lock
    module, package = parse_lock(project.lock, "x").entry("m")
    assert (package.address, package.getter, module.subdir) == ("reg://h/a?version=1", "reg", "deep")
    assert package.archive == package.id
    assert project.client.install(project.directory, locked=True).failures == ()


def test_a_server_that_sends_us_on_is_asked_no_more(tmp_path: Path) -> None:
    registry = FakeGetter(schemes=("reg",), pin=Elsewhere(address="fake://cdn/x//sub"))
    getter = FakeGetter(answer=lambda *_: blob(zip_of()))
    project = _project(tmp_path, registry, getter)
    project.wants(m="reg://h/a//deep")
    assert project.client.lock(project.directory).failures == ()
    module, package = parse_lock(project.lock, "x").entry("m")
    assert package.address.startswith("fake://cdn/x?checksum=sha256:")
    assert module.subdir == "sub/deep"
    registry.asked.clear()
    assert project.client.install(project.directory, locked=True).failures == ()
    assert registry.asked == []


def test_what_nothing_pins_is_held_by_its_h1(tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: members_of())
    project = _project(tmp_path, getter)
    project.wants(m="fake://h/x//sub")
    assert project.client.lock(project.directory).failures == ()
    module, package = parse_lock(project.lock, "x").entry("m")
    assert (package.address, package.id, module.subdir) == ("fake://h/x//sub", module.h1, "")
    getter.answer = lambda *_: members_of({"sub/a.tf": b"# evil\n"})
    report = project.client.install(project.directory, locked=True)
    assert [failure.error.code for failure in report.failures] == ["lock-mismatch"]


def test_an_archive_that_has_become_a_directory(tmp_path: Path) -> None:
    getter = FakeGetter(pin=a_pin("id-1"), answer=lambda *_: blob(zip_of()))
    project = _project(tmp_path, getter)
    project.wants(m="fake://h/x.zip")
    assert project.client.lock(project.directory).failures == ()
    getter.answer = lambda *_: members_of()
    (failure,) = project.client.install(project.directory, locked=True).failures
    assert failure.error.code == "lock-mismatch"
    assert "an archive's digest" in failure.error.message
    assert "getmodules lock --upgrade" in (failure.error.typed_hint or "")
    assert not (project.directory / "modules").exists()


def test_a_job_to_find_out(project: Project) -> None:
    project.wants(f'[modules.m]\nsource = "./pkg.zip"\nexpect = "{SHA}"')
    workspace = project.workspace()
    (target,) = find_targets(workspace.manifest().modules.values(), workspace).done.values()
    job = subject.fresh_job(target, DEST, force=True)
    assert (_demands(job), job.tree_demands, job.force) == ({(Gate.BYTES, "expect", SHA)}, (), True)
