"""What comes in between while a project is worked on: signals, other processes, full disks, sudden death."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, GetModulesError, hash_tree
from getmodules.testing import Registry
from tests.support import processes
from tests.support.commandline import PATIENCE, start, wait_for
from tests.support.projects import Project
from tests.support.snapshots import snapshot

#: Of the places to hit only each n-th, in CI; a prime, so that all kinds of calls get their turn.
STRIDE = 1 if os.environ.get("GETMODULES_FULL_SWEEP") == "1" else 13


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        yield running


# ------------------------------------------------------------------------------------------------- interrupts


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["silent", "slow-headers", "silent-in-body", "slow-body"])
@pytest.mark.parametrize("command", ["install", "lock"])
def test_an_interrupt_ends_it_with_nothing_half_done(
    command: str, fault: str, tmp_path: Path, registry: Registry
) -> None:
    """Within a second, whatever the servers do; the ceiling here is for busy machines."""
    project = Project(tmp_path / "project")
    for number in range(30):
        registry.push_module(f"acme/m{number}", "1", {"main.tf": os.urandom(4000)})
    project.wants(**{f"m{number}": f"oci://{registry.host}/acme/m{number}?tag=1" for number in range(30)})
    before = snapshot(project.directory)
    registry.fault(fault)
    child = start(
        command, "--json", cwd=project.directory, HOME=str(tmp_path), GETMODULES_CACHE_DIR=str(tmp_path / "cache")
    )
    wait_for(child, lambda: len(registry.requests) >= 5)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < 5
    assert (child.returncode, err) == (130, "interrupted\n")
    assert '"code": "interrupted"' in out
    assert snapshot(project.directory) == before
    registry.behave()
    assert project.client.install(project.directory).failures == ()


# ---------------------------------------------------------------------------------------- many at the same time


@pytest.mark.slow
def test_twenty_processes_fetch_each_package_once(tmp_path: Path, registry: Registry) -> None:
    for number in range(5):
        registry.push_module(f"acme/m{number}", "1", {"main.tf": os.urandom(200_000), "sub/a.tf": str(number)})
    leader = Project(tmp_path / "leader")
    leader.wants(**{f"m{number}": f"oci://{registry.host}/acme/m{number}?tag=1" for number in range(5)})
    leader.client.lock(leader.directory)
    registry.forget_requests()
    copies = [tmp_path / f"copy-{number}" for number in range(20)]
    for copy in copies:
        shutil.copytree(leader.directory, copy)

    def install(copy: Path) -> Callable[[], int]:
        def work() -> int:
            client = Client(environ={"GETMODULES_PLUGINS": ""}, cache_dir=tmp_path / "cache")
            return len(client.install(copy, locked=True).failures)

        return work

    children = [processes.start(install(copy)) for copy in copies]
    assert [processes.wait(child) for child in children] == [0] * 20
    blobs = [request.path for request in registry.requests if "/blobs/" in request.path]
    assert len(blobs) == len(set(blobs)) == 5
    assert len({hash_tree(copy / "modules") for copy in copies}) == 1
    for copy in copies:
        assert {path.name for path in copy.glob(".getmodules*")} == {".getmodules"}


def test_several_processes_in_one_project(tmp_path: Path, registry: Registry) -> None:
    """One after the other: the second finds what the first one did."""
    registry.push_module("acme/vpc", "1", {"main.tf": "one"})
    project = Project(tmp_path / "project")
    project.wants(vpc=f"oci://{registry.host}/acme/vpc?tag=1", src="./src", packed="./pkg.zip")

    def install() -> int:
        client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)
        return len(client.install(project.directory).failures)

    children = [processes.start(install) for _ in range(8)]
    assert [processes.wait(child) for child in children] == [0] * 8
    assert sum("/blobs/" in request.path for request in registry.requests) == 1
    assert project.leftovers() == set()


# ------------------------------------------------------------------------------------------------ sudden death


def _project(tmp_path: Path) -> Project:
    """An edited manifest: one module as it is, one that changes, one that is new, one that has to go."""
    project = Project(tmp_path / "project")
    project.wants(same="./src", changed="./src", gone="./pkg.zip")
    assert project.client.install(project.directory).failures == ()
    project.wants(same="./src", changed="./src//net", new="./pkg.zip//net")
    return project


def _work(project: Project, command: str) -> int:
    client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)
    if command == "add":
        report: Any = client.add("added", "./pkg.zip//net", project.directory)
    elif command == "remove":
        return 0 if client.remove("changed", project.directory) else 1
    else:
        report = getattr(client, command)(project.directory)
    return 1 if report.failures else 0


def _steps(project: Project, command: str, tmp_path: Path) -> int:
    """How many things ``command`` does to the file system."""
    copy = tmp_path / "copy"
    shutil.copytree(project.directory, copy, symlinks=True)
    steps = processes.steps_of(lambda: _work(project, command))
    shutil.rmtree(project.directory)
    copy.rename(project.directory)
    return steps


def _states(project: Project) -> dict[str, str]:
    return {path.name: hash_tree(path) for path in sorted((project.directory / "modules").iterdir()) if path.is_dir()}


def _strike(blow: str) -> None:
    if blow == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    number = errno.ENOSPC if blow == "no space" else errno.EACCES
    raise OSError(number, os.strerror(number))


@pytest.mark.slow
@pytest.mark.parametrize("blow", ["kill", "no space", "denied"])
@pytest.mark.parametrize("command", ["install", "lock"])
def test_at_every_step(command: str, blow: str, tmp_path: Path) -> None:
    """Each tree is the old one or the new one, the lock is the old one or the new one, and the next run works."""
    project = _project(tmp_path)
    steps = _steps(project, command, tmp_path)
    assert steps > 50
    pristine = tmp_path / "pristine"
    shutil.copytree(project.directory, pristine, symlinks=True)
    old_lock, old = project.lock, _states(project)
    assert _work(project, command) == 0
    new_lock, new = project.lock, _states(project)
    assert new_lock != old_lock

    for number in range(1, steps + STRIDE, STRIDE):
        shutil.rmtree(project.directory)
        shutil.copytree(pristine, project.directory, symlinks=True)

        def child(number: int = number) -> int:
            processes.strike_at(number, lambda: _strike(blow))
            try:
                return _work(project, command)
            except GetModulesError as error:
                return error.exit_code

        code = processes.run(child)
        assert code in ((0, -signal.SIGKILL) if blow == "kill" else (0, 1, 2)), f"at {number}: {code}"
        assert project.lock in (old_lock, new_lock), f"at {number}"
        for name, h1 in _states(project).items():
            if not name.startswith(".getmodules-"):
                assert h1 in (old.get(name), new.get(name)), f"{name} at {number}"
        assert _work(project, "install") == 0, f"at {number}"
        assert project.leftovers() == set(), f"at {number}"
        assert project.client.verify(project.directory).ok
        assert project.lock == new_lock


def _what_is_there(project: Project) -> tuple[str, str, dict[str, str]]:
    states = {name: h1 for name, h1 in _states(project).items() if not name.startswith(".getmodules-")}
    return project.read("getmodules.toml"), project.lock, states


@pytest.mark.slow
@pytest.mark.parametrize("blow", ["kill", "no space", "denied"])
@pytest.mark.parametrize("command", ["add", "remove"])
def test_a_change_at_every_step(command: str, blow: str, tmp_path: Path) -> None:
    """Manifest, lock and directory: all are as before, or all are changed; after a kill, the next run makes it good."""
    project = Project(tmp_path / "project")
    project.wants(same="./src", changed="./src//net")
    assert project.client.install(project.directory).failures == ()
    steps = _steps(project, command, tmp_path)
    pristine = tmp_path / "pristine"
    shutil.copytree(project.directory, pristine, symlinks=True)
    before = _what_is_there(project)
    assert _work(project, command) == 0
    after = _what_is_there(project)

    for number in range(1, steps + 1, 1 if STRIDE == 1 else 3):
        shutil.rmtree(project.directory)
        shutil.copytree(pristine, project.directory, symlinks=True)

        def child(number: int = number) -> int:
            processes.strike_at(number, lambda: _strike(blow))
            try:
                return _work(project, command)
            except GetModulesError as error:
                return error.exit_code

        code = processes.run(child)
        now = _what_is_there(project)
        if blow == "kill":
            assert code in (0, -signal.SIGKILL), f"at {number}"
            assert all(each in (before[at], after[at]) for at, each in enumerate(now[:2])), f"at {number}"
            client = Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)
            assert client.install(project.directory, prune=True).failures == (), f"at {number}"
            assert _what_is_there(project) in (before, after), f"at {number}"
        elif code:
            assert now == before, f"at {number}: {code}"
        elif now != after:  # a directory that could not be removed is named, and is no error
            assert (command, now[:2]) == ("remove", after[:2]), f"at {number}"
            assert now[2] == before[2], f"at {number}"
        project.client.install(project.directory)
        assert project.leftovers() == set(), f"at {number}"
