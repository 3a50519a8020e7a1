"""Repositories that no git would make, from a real server: the exact tree or the right error, and nothing outside."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from getmodules import (
    CorruptArchiveError,
    GetModulesError,
    LimitExceededError,
    Limits,
    NotFoundError,
    UnsafeContentError,
)
from tests.support.gitpacks import HandMade, hand_made
from tests.support.gitplaces import Place
from tests.support.gitrepos import DIRECTORY, FILE, GITLINK, LINK, PROGRAM, Entry, Link, Repository
from tests.support.gitservers import git_http
from tests.support.refusals import words_of

Build = Callable[[Repository], object]
pytestmark = pytest.mark.usefixtures("canary")


def refused(place: Place, build: Build, kind: type[GetModulesError], code: str, transport: str = "any") -> str:
    """What is said of the repository that ``build`` makes.

    ``git`` is git's own server, which notices some things itself, and then fails; ``any`` is one that notices nothing.
    """
    repository = place.repository()
    build(repository)
    with ExitStack() as stack:
        if transport == "file":
            source = place.file_url()
        elif transport == "git":
            source = f"git::{stack.enter_context(git_http(place.root)).url}/a.git"
        else:
            source = f"git::{stack.enter_context(hand_made(HandMade.of(repository))).url}/a.git"
        return words_of(place.refused(source, kind, code))


def in_a_directory(repository: Repository, name: bytes, *entries: Entry) -> str:
    """A commit of a tree that has ``name`` as a directory with ``entries``."""
    inner = repository.tree(*(entries or (Entry(FILE, b"config", repository.blob(b"[core]\n")),)))
    return repository.commit_tree(Entry(DIRECTORY, name, inner))


# --------------------------------------------------------------------------------------------- names

DOT_GIT = [
    b".git", b".GIT", b".Git", b"git~1", b"GIT~1", b".git ", b".git.", b".git...", b".git::$INDEX_ALLOCATION",
    ".g\u200cit".encode(), ".git\u200e".encode(), "\u206a.git".encode(),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "directory") for name in DOT_GIT),
        *((b".git", kind) for kind in ("file", "link", "below")),
        *((b"GIT~1", kind) for kind in ("file", "link", "below")),
        ("\u206a.git".encode(), "below"),
    ],
    ids=lambda value: ascii(value) if isinstance(value, bytes) else value,
)
def test_nothing_may_be_dot_git_in_any_spelling(name: bytes, kind: str, place: Place) -> None:
    def build(repository: Repository) -> None:
        if kind == "directory":
            in_a_directory(repository, name)
        elif kind == "below":
            inner = repository.tree(Entry(FILE, name, repository.blob(b"gitdir: /\n")))
            in_a_directory(repository, b"sub", Entry(DIRECTORY, b"deep", inner))
        else:
            mode = FILE if kind == "file" else LINK
            repository.commit_tree(Entry(mode, name, repository.blob(b"x")), Entry(FILE, b"x", repository.blob(b"x")))

    assert "a.git" in refused(place, build, UnsafeContentError, "unsafe-content/dot-git")


#: git's own check finds any slash in a name first, and calls it a full path.
NAMES = [
    pytest.param(b"..", "parent-path", "directory", id="two dots, directory"),
    pytest.param(b"..", "parent-path", "file", id="two dots, file"),
    pytest.param(b"..", "parent-path", "link", id="two dots, link"),
    pytest.param(b".", "bad-name", "link", id="one dot"),
    pytest.param(b"/etc", "absolute-path", "file", id="absolute"),
    pytest.param(b"a/b", "absolute-path", "directory", id="slash"),
    pytest.param(b"a//b", "absolute-path", "link", id="two slashes"),
    pytest.param(b"../x", "absolute-path", "file", id="two dots and a slash"),
    pytest.param(b"a/../../x", "absolute-path", "directory", id="up in the middle"),
    pytest.param(b"a\\b", "bad-name", "file", id="backslash"),
    pytest.param(b"..\\x", "bad-name", "directory", id="two dots and a backslash"),
    pytest.param(b"C:x", "absolute-path", "link", id="drive"),
    pytest.param(b"a\nb", "bad-name", "file", id="line end"),
    pytest.param(b"\x1b[31mred", "bad-name", "directory", id="escape"),
    pytest.param(b"\x7f", "bad-name", "link", id="delete"),
    pytest.param("\u0085".encode(), "bad-name", "file", id="next line"),
]


@pytest.mark.parametrize(("name", "part", "kind"), NAMES)
def test_a_name_that_leads_elsewhere(name: bytes, part: str, kind: str, place: Place) -> None:
    def build(repository: Repository) -> None:
        if kind == "directory":
            in_a_directory(repository, name)
        else:
            mode = FILE if kind == "file" else LINK
            repository.commit_tree(Entry(mode, name, repository.blob(b"x")))

    assert "a.git" in refused(place, build, UnsafeContentError, f"unsafe-content/{part}")


def test_a_hostile_name_beside_the_wanted_subdirectory(place: Place) -> None:
    """Nothing of it would be written, but nobody should trust the rest."""
    repository = place.repository()
    good = repository.tree(Entry(FILE, b"main.tf", repository.blob(b"# main\n")))
    repository.commit_tree(Entry(DIRECTORY, b"good", good), Entry(DIRECTORY, b"..", good))
    with git_http(place.root) as server:
        source = f"git::{server.url}/a.git//good"
        assert place.refused(source, UnsafeContentError, "unsafe-content/parent-path").exit_code == 3


ORDERS = [
    pytest.param([b""], CorruptArchiveError, "corrupt-archive", id="empty"),
    pytest.param([b"a", b"a"], UnsafeContentError, "unsafe-content/duplicate-name", id="twice"),
    pytest.param([b"b", b"a"], CorruptArchiveError, "corrupt-archive", id="unsorted"),
    pytest.param([b"a", b"b", b"a"], CorruptArchiveError, "corrupt-archive", id="twice, apart"),
]


@pytest.mark.parametrize(("names", "kind", "code"), ORDERS)
def test_entries_that_no_git_would_write_so(
    names: list[bytes], kind: type[GetModulesError], code: str, place: Place
) -> None:
    def build(repository: Repository) -> None:
        repository.commit_names(names, in_order=False)

    assert "a.git" in refused(place, build, kind, code)


@pytest.mark.parametrize("first", [FILE, LINK], ids=["file", "link"])
def test_a_name_that_is_also_a_directory(first: bytes, place: Place) -> None:
    """A link to outside, and then a directory of its name with files to be written through it."""

    def build(repository: Repository) -> None:
        inner = repository.tree(Entry(FILE, b"canary", repository.blob(b"dead")))
        repository.commit_tree(
            Entry(first, b"a", repository.blob(b"..")), Entry(DIRECTORY, b"a", inner), in_order=False
        )

    assert "a.git" in refused(place, build, UnsafeContentError, "unsafe-content/duplicate-name")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot hold them")
@pytest.mark.parametrize(
    ("names", "word"),
    [
        pytest.param([b"README", b"readme"], "case", id="case pair"),
        pytest.param(["é".encode(), "e\u0301".encode()], "accents", id="accents"),
        pytest.param([b"con"], "Windows", id="device of Windows"),
        pytest.param([b"aux.tf"], "Windows", id="device of Windows with a suffix"),
        pytest.param([b"a."], "Windows", id="final dot"),
        pytest.param([b"a<b"], "Windows", id="angle"),
        pytest.param([b"\xff\xfe"], "UTF-8", id="not UTF-8"),
    ],
)
def test_names_that_real_repositories_have(names: list[bytes], word: str, place: Place) -> None:
    place.repository().commit_names(names)
    with git_http(place.root) as server:
        place.get(f"git::{server.url}/a.git")
    assert sorted(os.listdir(os.fsencode(place.dest))) == sorted(names)
    assert place.notices.about(word)


# --------------------------------------------------------------------------------------------- links

LINKS = [
    pytest.param("/etc/passwd", "link-escapes", id="absolute"),
    pytest.param("../canary", "link-escapes", id="out"),
    pytest.param("sub/../../canary", "link-escapes", id="out by a detour"),
    pytest.param("absent", "link-dangling", id="nowhere"),
    pytest.param("main.tf/x", "link-dangling", id="through a file"),
    pytest.param("link", "link-loop", id="itself"),
    pytest.param("", "link-dangling", id="empty"),
]


@pytest.mark.parametrize(("target", "part"), LINKS)
def test_a_link_that_is_refused(target: str, part: str, place: Place) -> None:
    def build(repository: Repository) -> None:
        repository.commit_files({"main.tf": b"# main\n", "sub/a": b"a", "link": Link(target)})

    assert "a.git" in refused(place, build, UnsafeContentError, f"unsafe-content/{part}")


def test_a_link_that_two_others_lead_out(place: Place) -> None:
    def build(repository: Repository) -> None:
        repository.commit_files({"a/b": Link(".."), "c": Link("a/b/.."), "a/x": b"x"})

    assert "a.git" in refused(place, build, UnsafeContentError, "unsafe-content/link-escapes")


@pytest.mark.parametrize(
    ("target", "kind", "code"),
    [
        pytest.param(b"a\0b", UnsafeContentError, "unsafe-content/link-dangling", id="NUL"),
        pytest.param(b"a\x1b[2Jb", UnsafeContentError, "unsafe-content/link-dangling", id="escape"),
        pytest.param(b"\xff", UnsafeContentError, "unsafe-content/link-dangling", id="not UTF-8"),
        pytest.param(b"x/" * 1_000_000, LimitExceededError, "limit-exceeded/path-bytes", id="a megabyte"),
    ],
)
def test_a_target_that_is_no_path(target: bytes, kind: type[GetModulesError], code: str, place: Place) -> None:
    def build(repository: Repository) -> None:
        repository.commit_tree(Entry(LINK, b"link", repository.blob(target)))

    assert "a.git" in refused(place, build, kind, code)


@pytest.mark.parametrize("name", [b"0", b"f0500", b"z"], ids=["first", "in the middle", "last"])
def test_a_refusal_among_many_files_leaves_no_process(name: bytes, place: Place) -> None:
    """Many are read ahead of what is written, by a process that must end although the error is still looked at."""

    def build(repository: Repository) -> None:
        link = Entry(LINK, name, repository.blob(b"x/" * 10_000))
        repository.commit_tree(
            link, *(Entry(FILE, b"f%05d" % n, repository.blob(b"%6d" % n * 1_000)) for n in range(600))
        )

    assert "a.git" in refused(place, build, LimitExceededError, "limit-exceeded/path-bytes")


def test_links_out_of_the_wanted_subdirectory(place: Place) -> None:
    place.repository().commit_files({"main.tf": b"# main\n", "sub/link": Link("../main.tf")})
    with git_http(place.root) as server:
        error = place.refused(f"git::{server.url}/a.git//sub", UnsafeContentError, "unsafe-content/link-escapes")
    assert "whole package" in str(error.hint)


@pytest.mark.parametrize("name", [".gitmodules", ".GITMODULES", "gitmod~1", ".gitmodules "])
def test_modules_by_a_link(name: str, place: Place) -> None:
    """A link there would have other places read for URLs."""

    def build(repository: Repository) -> None:
        repository.commit_files({name: Link("main.tf"), "main.tf": b"# main\n"})

    assert "a.git" in refused(place, build, UnsafeContentError, "unsafe-content/submodule")


# --------------------------------------------------------------------------------------------- modes and kinds

MODES = [
    pytest.param(b"100664", None, id="group may write: history has them"),
    pytest.param(b"100600", None, id="private"),
    pytest.param(b"104755", None, id="setuid"),
    pytest.param(b"10644", CorruptArchiveError, id="pipe"),
    pytest.param(b"60644", CorruptArchiveError, id="device"),
    pytest.param(b"140644", CorruptArchiveError, id="socket"),
    pytest.param(b"0", CorruptArchiveError, id="none"),
]


@pytest.mark.parametrize(("mode", "kind"), MODES)
def test_odd_modes(mode: bytes, kind: type[GetModulesError] | None, place: Place) -> None:
    repository = place.repository()
    repository.commit_tree(Entry(mode, b"odd", repository.blob(b"odd")))
    with git_http(place.root) as server:
        if kind is None:
            place.get(f"git::{server.url}/a.git")
            assert (place.dest / "odd").stat().st_mode & 0o7777 in (0o644, 0o755)
        else:
            place.refused(f"git::{server.url}/a.git", kind, "corrupt-archive")


def a_blob_as_tree(repository: Repository) -> None:
    repository.commit_tree(Entry(DIRECTORY, b"a", repository.blob(b"no tree")))


def a_tree_as_blob(repository: Repository) -> None:
    repository.commit_tree(Entry(FILE, b"a", repository.tree()))


def a_blob_as_the_root(repository: Repository) -> None:
    repository.branch(repository.commit(repository.blob(b"no tree")))


def an_absent_root(repository: Repository) -> None:
    repository.branch(repository.commit("12" * 20))


def an_absent_tree(repository: Repository) -> None:
    repository.commit_tree(Entry(DIRECTORY, b"a", "12" * 20))


def an_absent_blob(repository: Repository) -> None:
    repository.commit_tree(Entry(FILE, b"a", "12" * 20))


def a_null_id(repository: Repository) -> None:
    repository.commit_tree(Entry(FILE, b"a", "00" * 20))


def a_tree_cut_off(repository: Repository) -> None:
    repository.branch(repository.commit(repository.put("tree", b"100644 a\0short")))


def a_commit_without_a_tree(repository: Repository) -> None:
    repository.branch(repository.put("commit", b"author A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\nx\n"))


def a_commit_without_an_author(repository: Repository) -> None:
    tree = repository.files({"main.tf": b"# main\n"})
    repository.branch(repository.put("commit", f"tree {tree}\n\nx\n".encode()))


def zero_padded(repository: Repository) -> None:
    inner = repository.tree(Entry(FILE, b"a", repository.blob(b"a")))
    repository.commit_tree(Entry(b"040000", b"sub", inner))


def an_empty_object(repository: Repository) -> None:
    blob = repository.blob(b"content")
    repository.commit_tree(Entry(FILE, b"a", blob))
    repository.damage(blob, b"")


def an_object_of_another_id(repository: Repository) -> None:
    """A server whose disk lies about an object: the pack would hold other bytes than the tree names."""
    blob = repository.put("blob", b"other bytes", named="34" * 20)
    repository.commit_tree(Entry(FILE, b"a", blob))


BROKEN = [
    a_blob_as_tree, a_tree_as_blob, a_blob_as_the_root, an_absent_root, an_absent_tree, an_absent_blob, a_null_id,
    a_tree_cut_off, a_commit_without_a_tree, a_commit_without_an_author, zero_padded, an_empty_object,
    an_object_of_another_id,
]  # fmt: skip


@pytest.mark.parametrize("build", BROKEN, ids=lambda build: build.__name__.replace("_", " "))
@pytest.mark.parametrize("transport", ["any", "git", "file"])
def test_broken_objects(build: Build, transport: str, place: Place) -> None:
    assert "a.git" in refused(place, build, CorruptArchiveError, "corrupt-archive", transport)


def test_what_is_refused_although_it_may_be_honest_history_says_so(place: Place) -> None:
    said = refused(place, zero_padded, CorruptArchiveError, "corrupt-archive")
    assert "zeroPaddedFilemode" in said
    assert "old" in said


# --------------------------------------------------------------------------------------------- sizes


def deep(repository: Repository, levels: int, name: bytes = b"d") -> None:
    tree = repository.tree(Entry(FILE, b"f", repository.blob(b"f")))
    for _ in range(levels):
        tree = repository.tree(Entry(DIRECTORY, name, tree))
    repository.branch(repository.commit(tree))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "part"),
    [
        pytest.param(lambda r: deep(r, 3_000), "depth", id="three thousand directories deep"),
        pytest.param(lambda r: deep(r, 60, b"n" * 200), "path-bytes", id="a long path"),
        pytest.param(lambda r: r.commit_names([b"n" * 5_000]), "path-bytes", id="a long name"),
        pytest.param(
            lambda r: r.commit_tree(*(Entry(FILE, b"%05d" % n, r.blob(b"")) for n in range(3_000))),
            "entries",
            id="many files",
        ),
    ],
)
def test_trees_that_are_too_much(build: Build, part: str, place: Place) -> None:
    place.limits = Limits(seconds=60, entries=2_000)
    assert "a.git" in refused(place, build, LimitExceededError, f"limit-exceeded/{part}")


def test_a_program_and_a_gitlink_of_no_module(place: Place) -> None:
    def build(repository: Repository) -> None:
        repository.commit_tree(
            Entry(PROGRAM, b"run", repository.blob(b"#!/bin/sh\n")), Entry(GITLINK, b"vendored/lib"[:8], "56" * 20)
        )

    said = refused(place, build, NotFoundError, "not-found")
    assert "vendored" in said
