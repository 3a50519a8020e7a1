"""One repository at one commit: fetched once, read many times, and made anew where it cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from getmodules import CorruptArchiveError, InstallError, NotFoundError
from getmodules.addresses.url import check_url
from getmodules.getters.git.fetch import Budget, Fetcher, WantedCommit
from getmodules.getters.git.objects import Objects
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.repository import RepositoryPackage, Tools
from getmodules.getters.git.store import Store
from getmodules.getters.git.tree import PathSelection
from tests.support.gitrepos import Gitlink, Repository
from tests.support.gitstores import a_git
from tests.support.refusals import refusal

FILES = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n", "sub/deep/b.tf": b"# b\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "workshop").mkdir()
    return Repository(tmp_path / "source.git")


@contextmanager
def opened(repository: Repository, commit: str, *subdirs: str, **more: Any) -> Iterator[RepositoryPackage]:
    git = a_git(repository.path.parent / "workshop", **more)
    remote = Remote(check_url(f"file://{repository.path}"))
    tools = Tools(git, Budget(git.context.limits), with_submodules=True)
    package = RepositoryPackage(remote, WantedCommit(commit), PathSelection.of(subdirs or ("",)), tools)
    package.open()
    try:
        yield package
    finally:
        package.close()


def contents(package: RepositoryPackage) -> dict[str, bytes]:
    files = [entry for entry in package.entries if entry.wanted and entry.mode != 0o040000]
    return {entry.path: b"".join(content.chunks) for entry, content in zip(files, package.contents(files), strict=True)}


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_all_of_it(algorithm: str, tmp_path: Path) -> None:
    (tmp_path / "workshop").mkdir()
    repository = Repository(tmp_path / "source.git", algorithm=algorithm)
    with opened(repository, repository.commit_files(FILES)) as package:
        assert contents(package) == FILES
        assert package.tree == repository.files(FILES)


@pytest.mark.parametrize("filters", [True, False])
def test_a_subdirectory(filters: bool, repository: Repository) -> None:
    with (repository.path / "config").open("a", encoding="ascii") as config:
        config.write(f"[uploadpack]\n\tallowFilter = {'true' if filters else 'false'}\n")
    commit = repository.commit_files(FILES)
    with opened(repository, commit, "sub/deep") as package:
        assert contents(package) == {"sub/deep/b.tf": b"# b\n"}
    with opened(repository, commit, "sub") as package:  # more of it, from the same store
        assert contents(package) == {"sub/a.tf": b"# a\n", "sub/deep/b.tf": b"# b\n"}
    with opened(repository, commit) as package:
        assert contents(package) == FILES


@pytest.mark.parametrize("filters", [True, False])
def test_one_file_tells_what_a_new_store_lacks(
    filters: bool, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All, or nothing where the server cannot filter. A store that held something before is asked for each file."""
    found: list[list[str]] = []

    def absent(objects: Objects, ids: Iterable[str]) -> list[str]:
        found.append(lacking := original(objects, ids))
        return lacking

    original = Objects.absent
    monkeypatch.setattr(Objects, "absent", absent)
    with (repository.path / "config").open("a", encoding="ascii") as config:
        config.write(f"[uploadpack]\n\tallowFilter = {'true' if filters else 'false'}\n")
    files = {**FILES, "sub/c.tf": b"# c\n"}
    with opened(repository, repository.commit_files(FILES), "sub") as package:
        assert set(contents(package)) == {"sub/a.tf", "sub/deep/b.tf"}
    assert found == ([] if filters else [[]])
    found.clear()
    with opened(repository, repository.commit_files(files), "sub") as package:
        assert contents(package) == {name: files[name] for name in ("sub/a.tf", "sub/c.tf", "sub/deep/b.tf")}
    assert found == [[repository.blob(b"# c\n")] if filters else []]


def test_what_is_there_needs_no_remote(repository: Repository) -> None:
    commit = repository.commit_files(FILES)
    with opened(repository, commit):
        pass
    repository.path.rename(repository.path.with_name("elsewhere"))
    with opened(repository, commit, offline=True) as package:
        assert contents(package) == FILES
    with opened(repository, commit, "sub", offline=True) as package:
        assert set(contents(package)) == {"sub/a.tf", "sub/deep/b.tf"}


@pytest.mark.parametrize(
    ("part", "rooms"),
    [("no-space", ["one", "two"]), ("no-space", ["one", "one"]), ("denied", ["one", "two"])],
    ids=["there is another", "there is none", "something else is wrong"],
)
def test_where_there_is_no_space_another_workshop_is_asked_for(
    part: str, rooms: list[str], repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit_files(FILES)
    fetch, failed = Fetcher.by_commit, list[InstallError]()

    def by_commit(self: Fetcher, store: Store, wanted: WantedCommit) -> bool:
        if not failed:
            failed.append(InstallError("it cannot be written", part=part))
            raise failed[0]
        return fetch(self, store, wanted)

    monkeypatch.setattr(Fetcher, "by_commit", by_commit)
    for room in rooms:
        (tmp_path / room).mkdir(exist_ok=True)
    given = map(tmp_path.__truediv__, rooms)
    package = opened(repository, commit, workshop=lambda key: nullcontext(next(given)))
    if part == "no-space" and rooms[0] != rooms[1]:
        with package as found:
            assert contents(found) == FILES
        assert list((tmp_path / "two").iterdir())
    else:
        assert refusal(InstallError, f"install/{part}", package.__enter__) is failed[0]
        assert list((tmp_path / "two").glob("*")) == []


@pytest.mark.parametrize("suffix", ["*.pack", "*.idx"])
@pytest.mark.parametrize("damage", [b"", b"rubbish" * 100])
def test_a_store_that_was_damaged_is_made_anew(suffix: str, damage: bytes, repository: Repository) -> None:
    commit = repository.commit_files(FILES)
    with opened(repository, commit):
        pass
    (pack,) = (repository.path.parent / "workshop").rglob(suffix)
    pack.chmod(0o600)
    pack.write_bytes(damage)
    with opened(repository, commit) as package:
        assert contents(package) == FILES


def test_a_file_that_is_found_lost_while_it_is_read(repository: Repository) -> None:
    """The commit and its trees are sound, so that nothing was noticed when the package was opened."""
    commit = repository.commit_files(FILES)
    with opened(repository, commit):
        pass
    with opened(repository, commit) as package:
        names = dict.fromkeys(entry.path for entry in package.entries if entry.mode != 0o040000)
        for file in package.store.path.joinpath("objects", "pack").iterdir():
            file.unlink()
        assert package._objects is not None
        package._objects.close()  # another process has nothing of it open
        assert list(contents(package)) == list(names)


def test_a_source_that_is_broken_is_not_asked_for_ever(repository: Repository) -> None:
    commit = repository.commit_files(FILES)
    repository.forget(repository.blob(FILES["main.tf"]))
    refusal(CorruptArchiveError, "corrupt-archive", opened(repository, commit).__enter__)


def test_what_is_no_commit(repository: Repository) -> None:
    repository.commit_files(FILES)
    tree = repository.files(FILES)
    repository.tag(tree, "a-tree")
    error = refusal(NotFoundError, "not-found", opened(repository, tree).__enter__)
    assert "is a tree" in error.message


def test_gitlinks(repository: Repository) -> None:
    commit = repository.commit_files({"lib/one": Gitlink("12" * 20), "two": Gitlink("34" * 20), **FILES})
    with opened(repository, commit) as package:
        assert [entry.path for entry in package.gitlinks()] == ["two", "lib/one"]
    with opened(repository, commit, "lib/one/inside", "sub") as package:
        assert [entry.path for entry in package.gitlinks()] == ["lib/one"]


def test_the_workshop_is_free_again_after_a_failure(repository: Repository) -> None:
    repository.commit_files(FILES)
    git = a_git(repository.path.parent / "workshop")
    tools = Tools(git, Budget(git.context.limits), with_submodules=True)
    remote = Remote(check_url(f"file://{repository.path}"))
    for _ in range(2):  # a second one would wait for ever
        refusal(
            NotFoundError,
            "not-found",
            RepositoryPackage(remote, WantedCommit("12" * 20), PathSelection(("",)), tools).open,
        )
