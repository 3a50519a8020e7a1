"""What progress says while real packages come: the names, the bytes, the cache."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from getmodules import Client, Phase, Progress
from getmodules.testing import Registry
from tests.support.commandline import make_slow_plugin, run, run_on_terminal
from tests.support.gitrepos import Repository
from tests.support.gitservers import git_daemon
from tests.support.projects import Project


class Seen(Progress):
    def __init__(self) -> None:
        self.names: list[tuple[str, ...]] = []
        self.phases: list[Phase] = []
        self.bytes = 0

    def modules(self, package: str, names: object) -> None:
        assert isinstance(names, tuple)
        self.names.append(names)

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self.phases.append(phase)

    def advance(self, package: str, amount: int) -> None:
        if self.phases[-1] is Phase.DOWNLOADING:
            self.bytes += amount


ASKED = {Phase.RESOLVING, Phase.DOWNLOADING}


def test_packages_of_a_registry(tmp_path: Path) -> None:
    client = Client(environ={}, cache_dir=tmp_path / "cache")
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": "1", "net/sub/main.tf": "2"})
        address = f"oci://{registry.host}/acme/vpc"
        first, again, part, pushed, twice, dry = (Seen() for _ in range(6))
        pinned = client.get(f"{address}?tag=1.0.0", tmp_path / "a", progress=first).pinned
        assert pinned is not None
        client.get(pinned, tmp_path / "b", progress=again)
        client.get(pinned.replace("?", "//net/sub?"), tmp_path / "c", progress=part)
        target = f"oci://{registry.host}/acme/copy?tag=1"
        client.push(tmp_path / "a", target, progress=dry, dry_run=True)
        for seen in (pushed, twice):
            client.push(tmp_path / "a", target, progress=seen)
    assert (first.names, again.names, part.names, pushed.names) == ([("vpc",)], [("vpc",)], [("sub",)], [("copy",)])
    assert first.bytes > 0
    for seen in (again, part):
        assert not ASKED & set(seen.phases)
    for seen in (first, again, part):
        assert seen.phases[-1] is Phase.INSTALLING
        assert Phase.PUBLISHING not in seen.phases
    for seen in (pushed, twice):
        assert seen.phases[-1] is Phase.PUBLISHING
    assert Phase.PUBLISHING not in dry.phases


def test_repositories_of_git(tmp_path: Path) -> None:
    """A small fetch says no bytes itself; a submodule is fetched while its parent is unpacked."""
    content = bytes(range(256)) * 40
    inner = Repository(tmp_path / "inner")
    inner.commit_files({"inner.tf": content})
    outer = Repository(tmp_path / "outer")
    outer.commit_files({"main.tf": content, "net/main.tf": b"2"})
    client = Client(environ={"PATH": os.environ["PATH"]}, cache_dir=tmp_path / "cache")
    first, again, local = Seen(), Seen(), Seen()
    with git_daemon(tmp_path) as url:
        pinned = client.get(f"git::{url}/outer//net", tmp_path / "a", progress=first).pinned
        assert pinned is not None
        client.get(pinned, tmp_path / "b", progress=again)
    client.get(f"git::file://{outer.path}", tmp_path / "c", progress=local)
    assert (first.names, again.names) == ([("net",)], [("net",)])
    assert first.bytes > 0
    assert not ASKED & set(again.phases)
    assert Phase.DOWNLOADING not in local.phases


def test_modules_of_a_project_have_their_names(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants(network="./src//net", whole="./src", gone="./src//gone", packed="./pkg.zip")
    seen = Seen()
    report = project.client.install(project.directory, progress=seen)
    assert [failure.module for failure in report.failures] == ["gone"]
    assert {name for names in seen.names for name in names} == {"network", "whole", "gone", "packed"}
    assert Phase.DOWNLOADING not in seen.phases
    looked = Seen()
    project.wants(network="./src//net")
    project.client.lock(project.directory, upgrade=True, progress=looked)
    assert looked.names == [("network",)]
    assert Phase.INSTALLING not in looked.phases


def test_who_failed_alone_is_named_no_more(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    expected = f'expect = "h1:{"A" * 43}="'
    project.wants(f'[modules.wrong]\nsource = "./pkg.zip//net"\n{expected}\n', right="./pkg.zip//net")
    seen = Seen()
    report = project.client.install(project.directory, progress=seen)
    assert [failure.module for failure in report.failures] == ["wrong"]
    assert seen.names == [("wrong", "right"), ("right",)]


# ------------------------------------------------------------------------------------------ what people see


def test_plain_in_a_pipe(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants(network="./src//net", packed="./pkg.zip")
    done = run("install", "--progress", "plain", cwd=project.directory)
    said = sorted(line for line in done.err.splitlines() if not line.startswith("note"))
    assert said == ["installed network", "installed packed"]
    assert run("install", "--progress", "plain", "--force", cwd=project.directory).err == ""
    pushed = run("push", "src", "oci-layout::./layout?tag=1.0.0", "--progress", "plain", cwd=project.directory)
    assert re.fullmatch(r"published layout \(\d+ B\)\n", pushed.err)
    again = run("push", "src", "oci-layout::./layout?tag=1.0.0", "--progress", "plain", cwd=project.directory)
    assert again.err == "published layout (there already)\n"


@pytest.mark.parametrize("columns", [60, 80])
def test_lines_on_a_terminal(columns: int, tmp_path: Path) -> None:
    make_slow_plugin(tmp_path / "site", 0.6)
    project = Project(tmp_path / "project")
    name = "a-module-with-a-name-of-thirty-six-c"
    project.wants(**{name: "slow://h/" + "long/" * 20 + "x", "vpc": "slow://h/other"})
    done = run_on_terminal("install", cwd=project.directory, COLUMNS=str(columns), PYTHONPATH=str(tmp_path / "site"))
    lines = [line.strip() for line in re.split(r"[\r\n]|\x1b\[[0-9]*[A-Z]", done.err) if line.strip()]
    assert max(map(len, lines)) < columns
    assert any(re.match(rf"(downloading|unpacking)\s+{name}", line) for line in lines)
    assert not any("slow://" in line for line in lines if re.match(r"(downloading|unpacking)", line))
