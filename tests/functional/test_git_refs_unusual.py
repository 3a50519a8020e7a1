"""Refs where something is unusual: the configuration, the kind of hash, who leads to a commit, and no git at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import NotFoundError
from tests.support.gitplaces import Place
from tests.support.gitrepos import Gitlink, Repository, modules
from tests.support.gitservers import GitServer, git_http
from tests.support.refusals import words_of
from tests.support.servers import replying, serving

pytestmark = pytest.mark.slow


@pytest.fixture
def server(place: Place) -> Iterator[GitServer]:
    with git_http(place.root) as running:
        yield running


# --------------------------------------------------------------------------------------------- configuration


@pytest.mark.parametrize("condition", ["gitdir:~/jobs/", "gitdir/i:~/JOBS/", "gitdir:none/", "onbranch:main"])
def test_what_is_included_for_other_repositories(
    condition: str, place: Place, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many have another name for their work. The current directory is such a repository, and does not count either."""
    repository = place.repository()
    first = repository.commit_files({"main.tf": b"# 1\n"})
    second = repository.commit_files({"main.tf": b"# 2\n"}, first)
    repository.tag(first, "v1")
    work = place.home / "jobs"
    Repository(work / ".git").commit_files({"own.tf": b"# own\n"})
    monkeypatch.chdir(work)
    (place.home / ".gitconfig").write_text(f'[includeIf "{condition}"]\n\tpath = {place.home}/other\n')
    (place.home / "other").write_text(f'[url "http://127.0.0.1:1/"]\n\tinsteadOf = {server.url}/\n')
    for number, (ref, commit) in enumerate(
        (("", second), ("?ref=HEAD", second), ("?ref=main", second), ("?ref=v1", first), (f"?ref={first[:8]}", first))
    ):
        source = f"git::{server.url}/a.git{ref}"
        with place.client() as client:
            assert client.resolve(source).id == commit
        assert place.get(source, dest=place.work / str(number)).id == commit


# --------------------------------------------------------------------------------------------- the kind of hash


@pytest.mark.parametrize("protocol", [2, 0], ids=["v2", "v0"])
@pytest.mark.parametrize(
    ("algorithm", "ref", "words"),
    [
        pytest.param("sha256", "{:.40}", ("sha256", "64 digits"), id="the first 40 of 64 digits"),
        pytest.param("sha256", "12" * 20, ("sha256", "64 digits"), id="40 digits of 64"),
        pytest.param("sha1", "12" * 32, ("sha1", "40 digits"), id="64 digits of 40"),
    ],
)
@pytest.mark.parametrize("suffix", ["", "//sub"], ids=["whole", "subdirectory"])
def test_an_id_of_the_other_hash(
    suffix: str, algorithm: str, ref: str, words: tuple[str, ...], protocol: int, place: Place, server: GitServer
) -> None:
    server.behave(protocol=protocol)
    commit = place.repository(algorithm=algorithm).commit_files({"sub/main.tf": b"# main\n"})
    source = f"git::{server.url}/a.git{suffix}?ref={ref.format(commit)}"
    error = place.refused(source, NotFoundError, "not-found")
    assert all(word in words_of(error) for word in words)
    assert error.hint


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_submodule_of_the_other_hash(algorithm: str, place: Place, server: GitServer) -> None:
    other, digits = ("sha256", 40) if algorithm == "sha1" else ("sha1", 64)
    place.repository("lib", algorithm=other).commit_files({"lib.tf": b"# lib\n"})
    place.repository(algorithm=algorithm).commit_files(
        {".gitmodules": modules(lib={"path": "lib", "url": "../lib.git"}), "lib": Gitlink("1" * digits)}
    )
    error = place.refused(f"git::{server.url}/a.git", NotFoundError, "not-found")
    assert "the submodule at 'lib'" in error.message
    assert other in error.message


@pytest.mark.parametrize("digits", [8, 39, 41, 63])
def test_other_numbers_of_digits_are_short_ids(digits: int, place: Place, server: GitServer) -> None:
    commit = place.repository(algorithm="sha256").commit_files({"main.tf": b"# main\n"})
    assert place.get(f"git::{server.url}/a.git?ref={commit[:digits]}").id == commit


# --------------------------------------------------------------------------------------------- who leads to it


def detached(path: Path) -> dict[str, str]:
    """As a CI job checks a commit out: HEAD is no branch; and a forge, which keeps what was proposed."""
    repository = Repository(path)
    first = repository.commit_files({"main.tf": b"# 1\n"})
    head = repository.commit(repository.files({"main.tf": b"# 2\n"}), first)
    pulled = repository.commit(repository.files({"main.tf": b"# 3\n"}), first)
    (path / "HEAD").write_text(head + "\n")
    repository.ref("refs/pull/7/head", pulled)
    return {"HEAD": head, "refs/pull/7/head": pulled}


@pytest.mark.parametrize("how", ["v2", "v0", "no commits by their id", "plain files", "on this machine"])
@pytest.mark.parametrize("name", ["HEAD", "refs/pull/7/head"])
def test_the_short_id_of_a_commit_that_no_branch_leads_to(name: str, how: str, place: Place, server: GitServer) -> None:
    named = detached(place.root / "a.git")
    server.behave(protocol=2 if how == "v2" else 0, any_sha=how != "no commits by their id", dumb=how == "plain files")
    if how == "plain files":
        (place.root / "a.git" / "info").mkdir()
        lines = [f"{named['refs/pull/7/head']}\trefs/pull/7/head\n"]
        (place.root / "a.git" / "info" / "refs").write_text("".join(lines))
    source = place.file_url() if how == "on this machine" else f"git::{server.url}/a.git"
    installed = place.get(f"{source}?ref={named[name][:9]}")
    assert installed.id == named[name]
    assert installed.pinned == f"{source}?ref={named[name]}"


# --------------------------------------------------------------------------------------------- no repository


@pytest.mark.parametrize("protocol", [2, 0], ids=["v2", "v0"])
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_an_empty_repository_is_said_to_be_empty(
    algorithm: str, protocol: int, place: Place, server: GitServer
) -> None:
    server.behave(protocol=protocol)
    place.repository(algorithm=algorithm)
    error = place.refused(f"git::{server.url}/a.git", NotFoundError, "not-found")
    assert "is empty" in error.message
    assert "push" in (error.hint or "")


@pytest.mark.parametrize("ref", ["", "?ref=v1", f"?ref={'12' * 20}"], ids=["HEAD", "tag", "commit"])
@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param("200 OK", b"<!doctype html><html><title>Sign in</title></html>", id="a page"),
        pytest.param("200 OK", b'{"message":"Unauthorized"}', id="JSON"),
        pytest.param("200 OK", b"", id="nothing"),
        pytest.param("204 No Content", b"", id="nothing, said so"),
    ],
)
def test_a_web_server_is_no_empty_repository(status: str, body: bytes, ref: str, place: Place) -> None:
    with serving(replying(status, body, Content_Type="text/html")) as server:
        error = place.refused(f"git::{server.url}/a.git{ref}", NotFoundError, "not-found")
    assert "push" not in words_of(error)
    assert "is the address right?" in (error.hint or "")
