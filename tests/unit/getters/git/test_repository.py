"""A repository's files as members."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getmodules import Kind, LimitExceededError, NotFoundError, UnsafeContentError
from getmodules.addresses.url import check_url
from getmodules.getters.git import repository as under_test
from getmodules.getters.git.fetch import Budget, WantedCommit
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.repository import RepositoryMembers, RepositoryPackage, Tools
from getmodules.getters.git.tree import PathSelection
from tests.support.fakes import Notices
from tests.support.gitrepos import Gitlink, Link, Program, Repository, lfs_pointer, modules
from tests.support.gitstores import a_git
from tests.support.refusals import refusal


class Place:
    def __init__(self, top: Path) -> None:
        self.top = top
        self.notices = Notices()
        (top / "workshop").mkdir()

    def repository(self, name: str = "a") -> Repository:
        return Repository(self.top / f"{name}.git")

    def members(self, commit: str, *subdirs: str, with_submodules: bool = True) -> RepositoryMembers:
        more: dict[str, Any] = {"progress": self.notices}
        git = a_git(self.top / "workshop", **more)
        tools = Tools(git, Budget(git.context.limits), with_submodules)
        remote = Remote(check_url(f"file://{self.top}/a.git"))
        package = RepositoryPackage(remote, WantedCommit(commit), PathSelection.of(subdirs or ("",)), tools)
        package.open()
        return RepositoryMembers(package, tools)

    def found(self, commit: str, *subdirs: str, **more: bool) -> dict[str, tuple[Kind, bytes | str, bool]]:
        members = self.members(commit, *subdirs, **more)
        try:
            return {each.name: (each.kind, each.target or b"".join(each.open()), each.executable) for each in members}
        finally:
            members.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_files_links_and_directories(place: Place) -> None:
    commit = place.repository().commit_files(
        {"a": b"a\r\n", "run": Program(b"#!/bin/sh\n"), "sub/link": Link("../a"), "sub/empty": b""}
    )
    assert place.found(commit) == {
        "a": (Kind.FILE, b"a\r\n", False),
        "run": (Kind.FILE, b"#!/bin/sh\n", True),
        "sub": (Kind.DIRECTORY, b"", False),
        "sub/link": (Kind.SYMLINK, "../a", False),
        "sub/empty": (Kind.FILE, b"", False),
    }
    assert place.notices.said == []


def test_only_names_of_what_is_not_wanted(place: Place) -> None:
    commit = place.repository().commit_files({"main.tf": b"# main\n", "sub/a.tf": b"# a\n", "link": Link("sub")})
    found = place.found(commit, "sub")
    assert found["sub/a.tf"] == (Kind.FILE, b"# a\n", False)
    assert found["main.tf"] == (Kind.FILE, b"", False)
    assert found["link"] == (Kind.SYMLINK, b"", False)


def test_pointers_of_lfs_are_noticed(place: Place) -> None:
    files = {f"large-{number}": lfs_pointer(b"%d" % number) for number in range(5)}
    found = place.found(place.repository().commit_files({**files, "small": b"x"}))
    assert found["large-0"][1] == files["large-0"]
    (said,) = place.notices.said
    assert "LFS" in said
    assert "large-0" in said
    assert "2 more" in said


def using(place: Place, url: str = "../lib.git") -> tuple[str, str]:
    lib = place.repository("lib").commit_files({"lib.tf": b"# lib\n", "deep/x.tf": b"# x\n"})
    files = {"main.tf": b"# main\n", ".gitmodules": modules(lib={"path": "mods/lib", "url": url})}
    return place.repository().commit_files({**files, "mods/lib": Gitlink(lib)}), lib


def test_a_submodule(place: Place) -> None:
    commit, _ = using(place)
    found = place.found(commit)
    assert found["mods/lib/lib.tf"] == (Kind.FILE, b"# lib\n", False)
    assert found["mods/lib"][0] is Kind.DIRECTORY
    assert place.notices.said == []


def test_submodules_are_left_out_and_that_is_said(place: Place) -> None:
    commit, _ = using(place)
    assert not [name for name in place.found(commit, with_submodules=False) if name.startswith("mods/lib")]
    assert "mods/lib" in place.notices.said[0]


def test_a_subdirectory_of_a_submodule(place: Place) -> None:
    commit, _ = using(place)
    found = place.found(commit, "mods/lib/deep")
    assert found["mods/lib/deep/x.tf"][1] == b"# x\n"
    assert found["mods/lib/lib.tf"][1] == b""


def test_a_submodule_beside_what_is_wanted_is_not_fetched(place: Place) -> None:
    lost = Gitlink("12" * 20)
    commit = place.repository().commit_files({"sub/a": b"a", "lost": lost})
    assert place.found(commit, "sub")["sub/a"][1] == b"a"
    error = refusal(NotFoundError, "not-found", place.found, commit)
    assert "'lost'" in error.message


def test_a_commit_that_the_submodule_has_not(place: Place) -> None:
    place.repository("lib").commit_files({"lib.tf": b"# lib\n"})
    files = {".gitmodules": modules(lib={"path": "lib", "url": "../lib.git"}), "lib": Gitlink("12" * 20)}
    error = refusal(NotFoundError, "not-found", place.found, place.repository().commit_files(files))
    assert "'lib'" in error.message


def test_a_repository_that_holds_itself(place: Place) -> None:
    """One workshop at a time: it would else wait for itself."""
    repository = place.repository()
    first = repository.commit_files({"a": b"a"})
    files = {".gitmodules": modules(me={"path": "me", "url": "../a.git"}), "me": Gitlink(first)}
    assert place.found(repository.commit_files(files, first))["me/a"][1] == b"a"


def test_nesting_is_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "MOST_NESTED", 2)
    repository = place.repository()
    commit = repository.commit_files({"a": b"a"})
    for _ in range(3):
        files = {".gitmodules": modules(me={"path": "me", "url": "../a.git"}), "me": Gitlink(commit)}
        commit = repository.commit_files(files, commit)
    error = refusal(LimitExceededError, "limit-exceeded/depth", place.found, commit)
    assert "'me/me/me'" in error.message


def test_gitmodules_that_are_a_link(place: Place) -> None:
    commit = place.repository().commit_files({".gitmodules": Link("other"), "lib": Gitlink("12" * 20)})
    with pytest.raises(UnsafeContentError) as caught:
        place.found(commit)
    assert caught.value.code == "unsafe-content/submodule"


def test_a_target_that_is_too_long(place: Place) -> None:
    commit = place.repository().commit_files({"link": Link("x" * 5000)})
    refusal(LimitExceededError, "limit-exceeded/path-bytes", place.found, commit)


def test_closed_before_anything_was_read(place: Place) -> None:
    commit = place.repository().commit_files({"a": b"a"})
    for _ in range(2):  # the second would wait for the first
        place.members(commit).close()
