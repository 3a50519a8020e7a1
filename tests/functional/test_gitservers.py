"""The servers and repositories of the git tests, judged by git itself: they do what they say they do."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.gitpacks import HandMade, hand_made, pack_of, package
from tests.support.gitplaces import Place
from tests.support.gitrepos import Link, Program
from tests.support.gitservers import git_http
from tests.support.tools import need


def git(place: Place, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**place.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", **more}
    return subprocess.run(
        [need("git"), *arguments], env=environment, cwd=place.work, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_what_is_made_by_hand_is_as_git_would_have_made_it(algorithm: str, place: Place) -> None:
    repository = place.repository(algorithm=algorithm)
    files = {"a/b.tf": b"1", "a-b": b"2", "a.b": b"3", "run": Program(b"#!"), "link": Link("a-b")}
    commit = repository.commit_files(files)
    repository.tag(repository.annotate(commit, "v1"), "v1")
    done = git(place, "-C", repository.path, "fsck", "--full", "--strict")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert git(place, "-C", repository.path, "rev-parse", "v1^{commit}").stdout.strip() == commit


@pytest.mark.parametrize(
    ("behaviour", "spoken"), [({}, "version 2"), ({"protocol": 0}, "upload-pack")], ids=["version 2", "version 0"]
)
def test_the_version_of_the_protocol(behaviour: dict[str, Any], spoken: str, place: Place) -> None:
    place.repository().commit_files({"main.tf": b"# main\n"})
    with git_http(place.root, **behaviour) as server:
        done = git(place, "ls-remote", f"{server.url}/a.git", GIT_TRACE_PACKET="1")
    assert ("< version 2" in done.stderr) is (spoken == "version 2")
    assert "refs/heads/main" in done.stdout


@pytest.mark.parametrize("any_sha", [True, False])
def test_commits_by_their_id(any_sha: bool, place: Place) -> None:
    repository = place.repository()
    first = repository.commit_files({"main.tf": b"# 1\n"})
    repository.commit_files({"main.tf": b"# 2\n"}, first)
    git(place, "init", "-q", "--bare", "store")
    with git_http(place.root, protocol=0, any_sha=any_sha) as server:
        done = git(place, "-C", "store", "fetch", "--depth", "1", f"{server.url}/a.git", first)
    assert (done.returncode == 0) is any_sha
    assert any_sha or "unadvertised object" in done.stderr


@pytest.mark.parametrize("filters", [True, False])
def test_filters(filters: bool, place: Place) -> None:
    place.repository().commit_files({"noise": random.Random(1).randbytes(50_000)})
    with git_http(place.root, filters=filters) as server:
        git(place, "clone", "-q", "--bare", "--filter=blob:none", f"{server.url}/a.git", "copy")
        assert (server.bytes_sent < 5_000) is filters
        assert server.packs == 1


def test_a_cut_is_in_the_pack_and_not_before(place: Place) -> None:
    place.repository().commit_files({"noise": random.Random(1).randbytes(50_000)})
    with git_http(place.root, cut=1_000) as server:
        assert git(place, "ls-remote", f"{server.url}/a.git").returncode == 0
        assert git(place, "clone", "-q", f"{server.url}/a.git", "copy").returncode == 128
        assert server.packs == 1


def test_a_pack_made_by_hand(place: Place, tmp_path: Path) -> None:
    commit, objects = package(tmp_path / "x.git", {"main.tf": b"# main\n"})
    with hand_made(HandMade({b"HEAD": commit, b"refs/heads/main": commit}, pack_of(objects))) as server:
        for options in (["--depth", "1"], []):
            done = git(place, "clone", "-q", *options, f"{server.url}/x.git", f"copy-{len(options)}")
            assert (done.returncode, done.stderr) == (0, "")
    assert (place.work / "copy-0" / "main.tf").read_bytes() == b"# main\n"
