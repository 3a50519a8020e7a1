"""What is installed of a git tree: the bytes as they are stored, whatever attributes and settings say about them."""

from __future__ import annotations

import random

import pytest

from getmodules import CorruptArchiveError, LimitExceededError, Limits, NotFoundError, SubdirectoryNotFoundError
from tests.support.gitplaces import Place, written
from tests.support.gitrepos import DIRECTORY, FILE, Content, Entry, Link, Program, lfs_pointer
from tests.support.gitservers import git_http

FILES: dict[str, Content] = {
    "main.tf": b"# main\n",
    "empty": b"",
    "windows.txt": b"a\r\nb\r\n",
    "no-end": b"no line end",
    "binary": bytes(range(256)) * 300,
    "run.sh": Program(b"#!/bin/sh\n"),
    "sub/a.tf": b"# a\n",
    "sub/deep/b.tf": b"# b\n",
    "sub/link": Link("../main.tf"),
    "sub-more/c.tf": b"# c\n",
    "grüße.txt": "grüße\n".encode(),
    "with blank": b"1",
    "tab'and\"quotes": b"2",
    "-dash": b"3",
    ".hidden": b"4",
    ".github/workflow.yml": b"5",
}


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
@pytest.mark.parametrize("transport", ["file", "http", "http, version 0"])
def test_the_exact_tree(algorithm: str, transport: str, place: Place) -> None:
    repository = place.repository(algorithm=algorithm)
    commit = repository.commit_files(FILES)
    with git_http(place.root, protocol=0 if "0" in transport else 2) as server:
        source = place.file_url() if transport == "file" else f"git::{server.url}/a.git"
        installed = place.get(f"{source}?ref={commit}")
    assert place.files() == written(FILES)
    assert (place.dest / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (place.dest / "main.tf").stat().st_mode & 0o777 == 0o644
    assert installed.files == len(FILES)
    assert installed.id == commit


@pytest.mark.parametrize("source", ["git::./repository.git", "git::{absolute}"], ids=["relative", "absolute"])
def test_a_path_is_a_repository_too(source: str, place: Place) -> None:
    repository = place.repository("repository")
    commit = repository.commit_files({"main.tf": b"# main\n"})
    source = source.format(absolute=repository.path)
    assert place.get(f"{source}?ref={commit}", base=place.root).id == commit
    assert place.files() == {"main.tf": b"# main\n"}


def test_a_work_tree_is_read_as_it_was_committed(place: Place) -> None:
    """``git::./path`` of a checkout: what is committed, not what lies there, and nothing in it is touched."""
    repository = place.repository()
    repository.commit_files({"main.tf": b"# committed\n"})
    checkout = place.top / "checkout"
    checkout.mkdir()
    repository.path.rename(checkout / ".git")
    (checkout / "main.tf").write_text("# edited\n")
    place.get(f"git::{checkout}")
    assert place.files() == {"main.tf": b"# committed\n"}
    assert (checkout / "main.tf").read_text() == "# edited\n"


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param("*.txt export-subst\n", id="export-subst"),
        pytest.param("*.txt export-ignore\n", id="export-ignore"),
        pytest.param("*.txt text eol=crlf\n", id="line ends"),
        pytest.param("*.txt ident\n", id="ident"),
        pytest.param("*.txt filter=evil\n", id="filter"),
        pytest.param("*.txt working-tree-encoding=UTF-16\n", id="encoding"),
    ],
)
def test_attributes_change_nothing(attributes: str, place: Place) -> None:
    canary = place.top / "canary"
    (place.home / ".gitconfig").write_text(
        f'[core]\n\tautocrlf = true\n\teol = crlf\n[filter "evil"]\n\tsmudge = touch {canary}; cat\n'
        f"\tprocess = touch {canary}\n\trequired = true\n"
    )
    files = {".gitattributes": attributes.encode(), "a.txt": b"$Format:%H$ $Id$\nline\n"}
    place.repository().commit_files(files)
    place.get(place.file_url())
    assert place.files() == files
    assert not canary.exists()


def test_a_pointer_of_git_lfs_is_installed_as_it_is_and_that_is_said(place: Place) -> None:
    pointer = lfs_pointer(b"large")
    place.repository().commit_files({"model.bin": pointer, ".gitattributes": b"*.bin filter=lfs diff=lfs merge=lfs\n"})
    place.get(place.file_url())
    assert place.files()["model.bin"] == pointer
    assert place.notices.about("LFS", "model.bin")


def test_without_a_pointer_nothing_is_said_of_lfs(place: Place) -> None:
    place.repository().commit_files({"main.tf": b"version https://example.org\n", "README": b"git-lfs\n"})
    place.get(place.file_url())
    assert not place.notices.about("LFS")


@pytest.mark.parametrize("filters", [True, False], ids=["filters", "no filters"])
@pytest.mark.parametrize(
    ("subdir", "expected"),
    [
        pytest.param("sub", {"a.tf", "deep/b.tf"}, id="directory"),
        pytest.param("sub/deep", {"b.tf"}, id="deeper"),
        pytest.param("sub-more", {"c.tf"}, id="a name that begins like another"),
        pytest.param("su*e", {"c.tf"}, id="glob"),
    ],
)
def test_a_subdirectory(subdir: str, expected: set[str], filters: bool, place: Place) -> None:
    files = {name: content for name, content in FILES.items() if name != "sub/link"}
    place.repository().commit_files(files)
    with git_http(place.root, filters=filters) as server:
        place.get(f"git::{server.url}/a.git//{subdir}")
    assert set(place.files()) == expected


@pytest.mark.parametrize("filters", [True, False], ids=["filters", "no filters"])
@pytest.mark.parametrize(
    ("subdir", "code"),
    [
        pytest.param("absent", "subdirectory-not-found", id="absent"),
        pytest.param("main.tf", "subdirectory-not-found/not-a-directory", id="a file"),
        pytest.param("sub/absent", "subdirectory-not-found", id="absent below"),
    ],
)
def test_a_subdirectory_that_is_not_there(subdir: str, code: str, filters: bool, place: Place) -> None:
    place.repository().commit_files(FILES)
    with git_http(place.root, filters=filters) as server:
        place.refused(f"git::{server.url}/a.git//{subdir}", SubdirectoryNotFoundError, code)


# --------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param({"entries": 5}, "entries", id="entries"),
        pytest.param({"file_bytes": 1000}, "file-bytes", id="one file"),
        pytest.param({"total_bytes": 70_000}, "total-bytes", id="all files"),
        pytest.param({"depth": 2}, "depth", id="depth"),
        pytest.param({"path_bytes": 8}, "path-bytes", id="length of a path"),
    ],
)
def test_limits_hold_for_trees(limits: dict[str, int], code: str, place: Place) -> None:
    place.repository().commit_files(FILES)
    place.limits = Limits(seconds=60, **limits)
    error = place.refused(place.file_url(), LimitExceededError, f"limit-exceeded/{code}")
    assert error.typed_hint is not None
    assert "--limit" in error.typed_hint


@pytest.mark.parametrize("subdir", ["", "//sub"], ids=["whole", "subdirectory"])
def test_a_fetch_may_bring_only_so_much(subdir: str, place: Place) -> None:
    noise = random.Random(1).randbytes(4_000_000)
    place.repository().commit_files({"main.tf": b"# main\n", "sub/noise": noise})
    place.limits = Limits(seconds=60, download_bytes=100_000)
    with git_http(place.root) as server:
        place.refused(f"git::{server.url}/a.git{subdir}", LimitExceededError, "limit-exceeded/download-bytes")


def test_a_file_that_inflates_to_more_than_is_allowed(place: Place) -> None:
    """A kilobyte for each megabyte: it is refused before it is on the disk of the destination."""
    place.repository().commit_files({"bomb": bytes(50_000_000)})
    place.limits = Limits(seconds=60, file_bytes=1_000_000)
    place.refused(place.file_url(), LimitExceededError, "limit-exceeded/file-bytes")


def test_a_tree_that_grows_by_naming_itself_many_times(place: Place) -> None:
    """Ten trees, each with the next one ten times: a few hundred bytes that mean ten thousand million files."""
    repository = place.repository()
    inner = repository.tree(Entry(FILE, b"f", repository.blob(b"x")))
    for _ in range(10):
        inner = repository.tree(*(Entry(DIRECTORY, b"d%d" % number, inner) for number in range(10)))
    repository.branch(repository.commit(inner))
    place.limits = Limits(seconds=60, entries=1_000)
    place.refused(place.file_url(), LimitExceededError, "limit-exceeded/entries")


# --------------------------------------------------------------------------------------------- what is broken


def test_a_source_that_lost_an_object(place: Place) -> None:
    repository = place.repository()
    blob = repository.blob(b"# main\n")
    repository.commit_files({"main.tf": b"# main\n"})
    repository.forget(blob)
    place.refused(place.file_url(), CorruptArchiveError, "corrupt-archive")


def test_a_source_whose_object_is_rubbish(place: Place) -> None:
    repository = place.repository()
    blob = repository.blob(b"# main\n")
    repository.commit_files({"main.tf": b"# main\n"})
    repository.damage(blob, b"rubbish")
    place.refused(place.file_url(), CorruptArchiveError, "corrupt-archive")


def test_a_directory_that_is_no_repository(place: Place) -> None:
    (place.root / "plain").mkdir()
    place.refused(f"git::file://{place.root}/plain", NotFoundError, "not-found")
