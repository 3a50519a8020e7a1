"""Bytes by digest, in memory and as the blobs of a layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules.testing.registry.store import (
    Contents,
    LayoutContents,
    MemoryContents,
    add_bytes,
    read_bytes,
    spool_digest,
)
from getmodules.util.digest import Digest

DATA = b"some bytes" * 1000
DIGEST = Digest.of(DATA)


@pytest.fixture(params=["memory", "layout"])
def contents(request: pytest.FixtureRequest, tmp_path: Path) -> Contents:
    return MemoryContents() if request.param == "memory" else LayoutContents(tmp_path / "one")


def files(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


def test_what_is_kept_is_found_and_what_is_removed_is_not(contents: Contents) -> None:
    assert contents.size(DIGEST) is None
    add_bytes(contents, DATA, DIGEST)
    assert contents.size(DIGEST) == len(DATA)
    assert read_bytes(contents, DIGEST) == DATA
    assert contents.body(DIGEST, 3, 9).read() == DATA[3:9]
    contents.remove(DIGEST)
    contents.remove(DIGEST)
    assert contents.size(DIGEST) is None


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_a_spool_is_hashed_from_its_beginning(contents: Contents, algorithm: str) -> None:
    spool = contents.spool()
    spool.write(DATA)
    assert spool_digest(spool, algorithm) == Digest.of(DATA, algorithm)
    spool.close()


@pytest.mark.parametrize("other", [MemoryContents, LayoutContents])
def test_bytes_are_shared(contents: Contents, other: type, tmp_path: Path) -> None:
    add_bytes(contents, DATA, DIGEST)
    target: Contents = MemoryContents() if other is MemoryContents else LayoutContents(tmp_path / "two")
    contents.share(DIGEST, target)
    contents.remove(DIGEST)
    assert read_bytes(target, DIGEST) == DATA


def test_a_layout_has_its_blobs_where_the_specification_says(tmp_path: Path) -> None:
    contents = LayoutContents(tmp_path)
    add_bytes(contents, DATA, DIGEST)
    assert files(tmp_path) == [f"blobs/sha256/{DIGEST.hex}"]
    assert (tmp_path / "blobs/sha256" / DIGEST.hex).stat().st_mode & 0o777 == 0o644


def test_a_spool_that_is_closed_leaves_nothing(tmp_path: Path) -> None:
    spool = LayoutContents(tmp_path).spool()
    spool.write(DATA)
    assert len(files(tmp_path)) == 1
    spool.close()
    spool.close()
    assert files(tmp_path) == []


def test_a_link_in_a_layout_is_no_blob(tmp_path: Path) -> None:
    contents = LayoutContents(tmp_path / "layout")
    outside = tmp_path / "outside"
    outside.write_bytes(DATA)
    (tmp_path / "layout/blobs/sha256").mkdir(parents=True)
    (tmp_path / "layout/blobs/sha256" / DIGEST.hex).symlink_to(outside)
    assert contents.size(DIGEST) is None
