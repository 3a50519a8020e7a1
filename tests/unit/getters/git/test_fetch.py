"""Ways to get a commit into a store, and how much may come."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import CorruptArchiveError, LimitExceededError, Limits, NotFoundError
from getmodules.addresses.url import check_url
from getmodules.getters.git.connection import Connection, connected
from getmodules.getters.git.fetch import Budget, Fetcher, WantedCommit
from getmodules.getters.git.objects import Objects
from getmodules.getters.git.process import Done
from getmodules.getters.git.refs import Refs
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.store import Extent, Store
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.gitrepos import Repository
from tests.support.gitstores import a_git
from tests.support.refusals import refusal
from tests.support.servers import replying, serving

FILES = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "source.git")


@pytest.fixture
def fetcher(repository: Repository, tmp_path: Path) -> Iterator[Fetcher]:
    git = a_git()
    with connected(Remote(check_url(f"file://{repository.path}")), git, tmp_path) as connection:
        yield Fetcher(git, connection, Budget(Limits()))


def a_store(tmp_path: Path, kind: Extent = Extent.TIP, digits: int = 40) -> Store:
    store = Store(tmp_path / "workshop", kind, digits)
    store.prepare()
    return store


def kinds(store: Store, *ids: str) -> list[str]:
    objects = Objects(store, a_git())
    try:
        return [objects.kind_of(each)[0] for each in ids]
    finally:
        objects.close()


def test_one_commit(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    first = repository.commit_files(FILES)
    second = repository.commit_files({"main.tf": b"# 2\n"}, first)
    store = a_store(tmp_path)
    assert fetcher.by_commit(store, WantedCommit(second))
    assert store.is_complete(second)
    assert kinds(store, second, first) == ["commit", "missing"]
    assert fetcher.by_commit(store, WantedCommit(first))  # beside the other one
    assert kinds(store, second, first) == ["commit", "commit"]


def test_depth(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    first = repository.commit_files(FILES)
    second = repository.commit_files({"main.tf": b"# 2\n"}, first)
    store = a_store(tmp_path)
    assert fetcher.by_commit(store, WantedCommit(second, depth=2))
    assert kinds(store, second, first) == ["commit", "commit"]


def test_no_such_commit(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    repository.commit_files(FILES)
    store = a_store(tmp_path)
    refusal(NotFoundError, "not-found", fetcher.by_commit, store, WantedCommit("12" * 20))
    assert not store.is_complete("12" * 20)
    refusal(
        CorruptArchiveError, "corrupt-archive", fetcher.by_commit, store, WantedCommit("12" * 20, "refs/heads/main")
    )
    refusal(NotFoundError, "not-found", fetcher.history, a_store(tmp_path, Extent.HISTORY), WantedCommit("12" * 20))


def test_the_history(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    first = repository.commit_files(FILES)
    second = repository.commit_files({"main.tf": b"# 2\n"}, first)
    repository.ref("refs/custom/x", repository.commit_files({"main.tf": b"# 3\n"}, second, branch="gone"))
    custom = (repository.path / "refs" / "custom" / "x").read_text(encoding="ascii").strip()
    (repository.path / "refs" / "heads" / "gone").unlink()
    store = a_store(tmp_path, Extent.HISTORY)
    fetcher.history(store, WantedCommit(first))
    assert store.is_complete(first)
    assert kinds(store, custom) == ["missing"]
    fetcher.history(store, WantedCommit(custom, "refs/custom/x"))
    assert store.is_complete(custom)


def test_commits_alone_and_then_single_files(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    with (repository.path / "config").open("a", encoding="ascii") as config:
        config.write("[uploadpack]\n\tallowFilter = true\n")
    commit = repository.commit_files(FILES)
    blob, other = repository.blob(FILES["main.tf"]), repository.blob(FILES["sub/a.tf"])
    commits = a_store(tmp_path, Extent.COMMITS)
    fetcher.commits(commits, Refs({"refs/heads/main": commit}, {}), "1234567")
    assert kinds(commits, commit, repository.files(FILES)) == ["commit", "missing"]
    lean = a_store(tmp_path, Extent.LEAN)
    assert fetcher.by_commit(lean, WantedCommit(commit))
    assert kinds(lean, commit, repository.files(FILES), blob) == ["commit", "tree", "missing"]
    assert fetcher.blobs(lean, [blob])
    assert kinds(lean, blob, other) == ["blob", "missing"]


def test_commits_that_no_branch_leads_to(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    first = repository.commit_files(FILES)
    detached, pulled, other = (repository.commit(repository.files({name: b"1"}), first) for name in "abc")
    (repository.path / "HEAD").write_text(detached + "\n")
    repository.ref("refs/pull/7/head", pulled)
    repository.ref("refs/pull/8/head", other)
    refs = Refs({"HEAD": detached, "refs/pull/7/head": pulled, "refs/pull/8/head": other}, {})
    store = a_store(tmp_path, Extent.COMMITS)
    fetcher.commits(store, refs, pulled[:9])
    assert kinds(store, first, detached, pulled, other) == ["commit", "commit", "commit", "missing"]


def test_commits_of_a_shallow_repository(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    """git takes no ref of such a one unless it is told to."""
    first = repository.commit_files(FILES)
    second = repository.commit_files({"main.tf": b"# 2\n"}, first)
    (repository.path / "shallow").write_text(second + "\n")
    repository.forget(first)
    store = a_store(tmp_path, Extent.COMMITS)
    fetcher.commits(store, Refs({"HEAD": second, "refs/heads/main": second}, {}), second[:9])
    assert store.ref("heads/main") == second


@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_a_short_id_of_what_is_no_commit(kind: str, repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    """git asks for it, and misses it where the filter leaves it out."""
    with (repository.path / "config").open("a", encoding="ascii") as config:
        config.write("[uploadpack]\n\tallowFilter = true\n")
    commit = repository.commit_files(FILES)
    odd = repository.blob(b"1") if kind == "blob" else repository.files({"x": b"1"})
    repository.ref("refs/odd", odd)
    store = a_store(tmp_path, Extent.COMMITS)
    fetcher.commits(store, Refs({"HEAD": commit, "refs/heads/main": commit, "refs/odd": odd}, {}), odd[:9])
    assert kinds(store, commit) == ["commit"]


@pytest.mark.parametrize(
    ("algorithm", "asked", "words"),
    [
        pytest.param("sha256", "12" * 20, ("sha256", "64 digits", "has 40"), id="40 digits of 64"),
        pytest.param("sha1", "12" * 32, ("sha1", "40 digits", "has 64"), id="64 digits of 40"),
    ],
)
@pytest.mark.parametrize("way", ["by_commit", "history"])
def test_an_id_of_the_other_hash(way: str, algorithm: str, asked: str, words: tuple[str, ...], tmp_path: Path) -> None:
    repository = Repository(tmp_path / "source.git", algorithm=algorithm)
    repository.commit_files(FILES)
    git = a_git()
    with connected(Remote(check_url(f"file://{repository.path}")), git, tmp_path) as connection:
        fetch = getattr(Fetcher(git, connection, Budget(Limits())), way)
        store = a_store(tmp_path, digits=len(asked))
        error = refusal(NotFoundError, "not-found", fetch, store, WantedCommit(asked))
    assert all(word in error.message for word in words)
    assert words[1] in (error.hint or "")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("fatal: mismatched algorithms: client sha1; server sha256", id="version 2"),
        pytest.param("fatal: Server does not support this repository's object format", id="version 0"),
        pytest.param(f"fatal: protocol error: expected sha/ref, got '{'12' * 20} {'12' * 20}'", id="version 0 by HTTP"),
    ],
)
def test_how_git_says_that_the_hash_is_another(
    said: str, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "run", lambda *_, **__: Done(128, b"", said))
    error = refusal(
        NotFoundError, "not-found", fetcher.by_commit, a_store(tmp_path), WantedCommit("12" * 20, "refs/heads/main")
    )
    assert "sha256" in error.message


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_an_empty_repository_speaks_git(algorithm: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "source.git", algorithm=algorithm)
    git = a_git()
    with connected(Remote(check_url(f"file://{repository.path}")), git, tmp_path) as connection:
        assert Fetcher(git, connection, Budget(Limits())).speaks_git(a_store(tmp_path), "1" * 40)


def test_a_web_page_does_not(tmp_path: Path) -> None:
    git = a_git(network=ClientNetwork(NetSettings()))
    with (
        serving(replying("200 OK", b"<html>", Content_Type="text/html")) as server,
        connected(Remote(check_url(f"{server.url}/r.git")), git, tmp_path) as connection,
    ):
        fetcher = Fetcher(git, connection, Budget(Limits()))
        assert not fetcher.speaks_git(a_store(tmp_path), "1" * 40)
        error = refusal(
            NotFoundError, "not-found", fetcher.history, a_store(tmp_path, Extent.HISTORY), WantedCommit("12" * 20)
        )
    assert "repository" in (error.hint or "")
    assert "nor any other" in error.message


def test_more_than_may_come(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit_files({"noise": os.urandom(200_000)})
    git = a_git(limits=Limits(download_bytes=100_000))
    with connected(Remote(check_url(f"file://{repository.path}")), git, tmp_path) as connection:
        fetcher = Fetcher(git, connection, Budget(git.context.limits))
        refusal(
            LimitExceededError,
            "limit-exceeded/download-bytes",
            fetcher.by_commit,
            a_store(tmp_path),
            WantedCommit(commit),
        )


def test_a_budget_is_of_all_fetches_together(tmp_path: Path) -> None:
    budget, store = Budget(Limits(download_bytes=10)), a_store(tmp_path)
    pack = store.path / "objects" / "pack" / "pack-1.pack"
    for size in (4, 8):
        budget.begin(store)
        pack.write_bytes(bytes(size))
        assert budget.measure(store) == 4
        budget.end(store)
    budget.begin(store)
    pack.write_bytes(bytes(11))
    refusal(LimitExceededError, "limit-exceeded/download-bytes", budget.measure, store)
