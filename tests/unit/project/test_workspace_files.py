"""Writing in one step."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from getmodules import InstallError
from getmodules.files.private import Sweeper
from getmodules.project import workspace as subject
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def _write(path: Path, text: str = "new") -> None:
    subject.write_file(path, text, Sweeper())


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        _write(tmp_path / "a", "é\n")
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_bytes() == "é\n".encode()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    inode = (tmp_path / "a").stat().st_ino
    _write(tmp_path / "a")
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "a").stat().st_ino != inode
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_a_link_stays_where_it_leads_to_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to("a")
    _write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.parametrize("there", [True, False], ids=["a file", "nothing yet"])
def test_nothing_is_written_through_a_link_to_somewhere_else(there: bool, tmp_path: Path) -> None:
    """A project that somebody else made may hold such a link."""
    (tmp_path / "project").mkdir()
    if there:
        (tmp_path / "precious").write_text("old")
    (tmp_path / "project/a").symlink_to(tmp_path / "precious")
    before = snapshot(tmp_path)
    refusal(InstallError, "install/protected", _write, tmp_path / "project/a")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("kind", ["directory", "fifo", "nowhere"])
def test_what_is_no_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path = tmp_path / "none" / "a"
    before = sorted(tmp_path.iterdir())
    refusal(InstallError, "install", _write, path)
    assert sorted(tmp_path.iterdir()) == before


def test_what_a_killed_run_left_is_swept(tmp_path: Path) -> None:
    left = tmp_path / ".getmodules-0123456789abcdef"
    left.mkdir(0o700)
    (left / "lock").write_text("")
    (left / "new").write_text("half")
    _write(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
