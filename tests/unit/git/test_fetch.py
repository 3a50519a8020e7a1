"""Ways to get a commit into a store, and how much may come."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import CorruptArchiveError, LimitExceededError, Limits, NotFoundError
from getmodules.git.connection import connected
from getmodules.git.fetch import Aim, Budget, Fetcher
from getmodules.git.objects import Objects
from getmodules.git.refs import Refs
from getmodules.git.remote import Remote
from getmodules.git.store import Kind, Store
from getmodules.url import check_url
from tests.gitrepos import Repository
from tests.refusals import refusal
from tests.unit.git.stores import a_git

FILES = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "source.git")


@pytest.fixture
def fetcher(repository: Repository, tmp_path: Path) -> Iterator[Fetcher]:
    git = a_git()
    with connected(Remote(check_url(f"file://{repository.path}")), git, tmp_path) as connection:
        yield Fetcher(git, connection, Budget(Limits()))


def a_store(tmp_path: Path, kind: Kind = Kind.TIP) -> Store:
    store = Store(tmp_path / "workshop", kind, 40)
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
    assert fetcher.by_commit(store, Aim(second))
    assert store.is_complete(second)
    assert kinds(store, second, first) == ["commit", "missing"]
    assert fetcher.by_commit(store, Aim(first))  # beside the other one
    assert kinds(store, second, first) == ["commit", "commit"]


def test_depth(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    first = repository.commit_files(FILES)
    second = repository.commit_files({"main.tf": b"# 2\n"}, first)
    store = a_store(tmp_path)
    assert fetcher.by_commit(store, Aim(second, depth=2))
    assert kinds(store, second, first) == ["commit", "commit"]


def test_no_such_commit(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    repository.commit_files(FILES)
    store = a_store(tmp_path)
    refusal(NotFoundError, "not-found", fetcher.by_commit, store, Aim("12" * 20))
    assert not store.is_complete("12" * 20)
    refusal(CorruptArchiveError, "corrupt-archive", fetcher.by_commit, store, Aim("12" * 20, "refs/heads/main"))
    refusal(NotFoundError, "not-found", fetcher.history, a_store(tmp_path, Kind.HISTORY), Aim("12" * 20))


def test_the_history(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    first = repository.commit_files(FILES)
    second = repository.commit_files({"main.tf": b"# 2\n"}, first)
    repository.ref("refs/custom/x", repository.commit_files({"main.tf": b"# 3\n"}, second, branch="gone"))
    custom = (repository.path / "refs" / "custom" / "x").read_text(encoding="ascii").strip()
    (repository.path / "refs" / "heads" / "gone").unlink()
    store = a_store(tmp_path, Kind.HISTORY)
    fetcher.history(store, Aim(first))
    assert store.is_complete(first)
    assert kinds(store, custom) == ["missing"]
    fetcher.history(store, Aim(custom, "refs/custom/x"))
    assert store.is_complete(custom)


def test_commits_alone_and_then_single_files(repository: Repository, fetcher: Fetcher, tmp_path: Path) -> None:
    with (repository.path / "config").open("a", encoding="ascii") as config:
        config.write("[uploadpack]\n\tallowFilter = true\n")
    commit = repository.commit_files(FILES)
    blob, other = repository.blob(FILES["main.tf"]), repository.blob(FILES["sub/a.tf"])
    commits = a_store(tmp_path, Kind.COMMITS)
    fetcher.commits(commits, Refs({"refs/heads/main": commit}, {}))
    assert kinds(commits, commit, repository.files(FILES)) == ["commit", "missing"]
    lean = a_store(tmp_path, Kind.LEAN)
    assert fetcher.by_commit(lean, Aim(commit))
    assert kinds(lean, commit, repository.files(FILES), blob) == ["commit", "tree", "missing"]
    assert fetcher.blobs(lean, [blob])
    assert kinds(lean, blob, other) == ["blob", "missing"]


def test_more_than_may_come(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit_files({"noise": os.urandom(200_000)})
    git = a_git(limits=Limits(download_bytes=100_000))
    with connected(Remote(check_url(f"file://{repository.path}")), git, tmp_path) as connection:
        fetcher = Fetcher(git, connection, Budget(git.context.limits))
        refusal(LimitExceededError, "limit-exceeded/download-bytes", fetcher.by_commit, a_store(tmp_path), Aim(commit))


def test_a_budget_is_of_all_fetches_together(tmp_path: Path) -> None:
    budget, store = Budget(Limits(download_bytes=10)), a_store(tmp_path)
    pack = store.path / "objects" / "pack" / "pack-1.pack"
    for size in (4, 8):
        budget.begin(store)
        pack.write_bytes(bytes(size))
        assert budget.look(store) == 4
        budget.end(store)
    budget.begin(store)
    pack.write_bytes(bytes(11))
    refusal(LimitExceededError, "limit-exceeded/download-bytes", budget.look, store)
