"""Objects out of a store, few and many."""

from __future__ import annotations

import zlib
from contextlib import closing
from pathlib import Path

import pytest

from getmodules import CorruptArchiveError
from getmodules.getters.git.objects import WHOLE_BYTES, Objects
from tests.support.gitrepos import Repository
from tests.support.gitstores import a_git, a_store_of
from tests.support.refusals import refusal


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "source")


def copied(repository: Repository, tmp_path: Path) -> Objects:
    return Objects(a_store_of(repository, tmp_path), a_git())


def test_what_an_id_stands_for(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit_files({"a": b"a"})
    tag = repository.annotate(commit, "v1")
    tree = repository.files({"a": b"a"})
    with closing(copied(repository, tmp_path)) as objects:
        assert objects.kind_of(commit)[0] == "commit"
        assert objects.kind_of(tree) == ("tree", b"")
        assert objects.kind_of(tag)[1].startswith(f"object {commit}\n".encode())


@pytest.mark.parametrize("count", [0, 1, 59, 60, 61, 499, 500, 1200])
def test_blobs_in_their_order(count: int, repository: Repository, tmp_path: Path) -> None:
    ids = [repository.blob(b"%d" % number) for number in range(count)]
    with closing(copied(repository, tmp_path)) as objects:
        found = [b"".join(content.chunks) for content in objects.blobs(ids)]
    assert found == [b"%d" % number for number in range(count)]


@pytest.mark.parametrize("count", [3, 600])
def test_one_with_other_bytes_among_many(count: int, repository: Repository, tmp_path: Path) -> None:
    ids = [repository.blob(b"%d" % number) for number in range(count)]
    repository.damage(ids[-1], zlib.compress(b"blob 4\0evil"))
    with closing(copied(repository, tmp_path)) as objects:
        error = refusal(CorruptArchiveError, "corrupt-archive", list, objects.blobs(ids))
    assert ids[-1] in error.message


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 600])
def test_a_large_one_that_nobody_reads_is_skipped(count: int, repository: Repository, tmp_path: Path) -> None:
    large = repository.blob(bytes(WHOLE_BYTES + 1))
    small = repository.blob(b"small")
    with closing(copied(repository, tmp_path)) as objects:
        sizes = [content.size for content in objects.blobs([large, small] * count)]
    assert sizes == [WHOLE_BYTES + 1, 5] * count


def test_closed_in_the_middle_of_many(repository: Repository, tmp_path: Path) -> None:
    ids = [repository.blob(b"%d" % number) for number in range(600)]
    objects = copied(repository, tmp_path)
    contents = objects.blobs(ids)  # which somebody keeps: an error's traceback does
    next(contents)
    assert objects._bulk is not None
    process = objects._bulk._process
    objects.close()
    assert process.poll() is not None


def test_trees(repository: Repository, tmp_path: Path) -> None:
    ids = [repository.files({f"{number}": b"x"}) for number in range(150)]
    with closing(copied(repository, tmp_path)) as objects:
        assert [each for each, _ in objects.trees(ids)] == ids


def test_another_kind_than_was_said(repository: Repository, tmp_path: Path) -> None:
    blob, tree = repository.blob(b"x"), repository.files({"a": b"x"})
    with closing(copied(repository, tmp_path)) as objects:
        refusal(CorruptArchiveError, "corrupt-archive", list, objects.trees([blob]))
    with closing(copied(repository, tmp_path)) as objects:
        refusal(CorruptArchiveError, "corrupt-archive", list, objects.blobs([tree]))


def test_what_is_absent(repository: Repository, tmp_path: Path) -> None:
    there = repository.blob(b"x")
    missing = ["12" * 20, "34" * 20]
    with closing(copied(repository, tmp_path)) as objects:
        assert objects.absent([there, *missing, there, missing[0]]) == missing
        assert objects.absent([]) == []
