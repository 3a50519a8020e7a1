"""Directories below another, entered without following a link."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from getmodules.files import opening as below
from getmodules.files.opening import directory_below, directory_of, is_in_the_way


@pytest.fixture(params=["by-descriptor", "by-path"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree, on systems that have calls below a descriptor and on those that do not."""
    if request.param == "by-path":
        monkeypatch.setattr(below, "_BELOW", False)
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    (tmp_path / "root" / "a" / "b" / "file").write_text("content")
    (tmp_path / "root" / "link").symlink_to("a")
    (tmp_path / "root" / "a" / "link").symlink_to("b")
    return tmp_path / "root"


def read(root: Path, name: str) -> bytes:
    with directory_of(root, name) as (prefix, directory):
        descriptor = os.open(f"{prefix}{name.rpartition('/')[2]}", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


def test_a_file_in_a_directory_below(root: Path) -> None:
    assert read(root, "a/b/file") == b"content"


def test_the_directory_itself_may_be_reached_through_a_link(root: Path) -> None:
    assert read(root / "link", "b/file") == b"content"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("link/b/file", id="first"),
        pytest.param("a/link/file", id="in-between"),
        pytest.param("a/link", id="last"),
    ],
)
def test_no_component_is_a_link(root: Path, name: str) -> None:
    with pytest.raises(OSError, match=r".") as caught:
        read(root, name)
    assert is_in_the_way(caught.value)


@pytest.mark.parametrize("parts", [("..",), ("a", "..", "a")], ids=["above", "up-and-down"])
def test_no_component_leads_up(root: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"\.\."), directory_below(root, parts):
        pass


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors cannot be counted")
@pytest.mark.parametrize("parts", [("a", "b"), ("a", "link"), ("a", "b", "file")], ids=["there", "link", "file"])
def test_no_descriptor_stays_open(root: Path, parts: tuple[str, ...]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with suppress(OSError), directory_below(root, parts):
        assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_missing_is_made_for_nobody_else(root: Path) -> None:
    before = os.umask(0)
    try:
        for _ in range(2):
            with directory_below(root, ("a", "new", "newer"), make=True) as (prefix, directory):
                assert os.listdir(prefix if directory is None else directory) == []
    finally:
        os.umask(before)
    assert [(root / "a" / name).stat().st_mode & 0o777 for name in ("new", "new/newer")] == [0o700, 0o700]


@pytest.mark.parametrize("parts", [("link", "new"), ("a", "link", "new"), ("a", "b", "file", "new")])
def test_nothing_is_made_behind_a_link_or_a_file(root: Path, parts: tuple[str, ...]) -> None:
    with (
        pytest.raises(OSError, match=r"Not a directory|symbolic links|File exists"),
        directory_below(root, parts, make=True),
    ):
        pass
    assert not (root / "a" / "new").exists()
    assert not (root / "a" / "b" / "new").exists()
