"""Directories on this machine as members."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules.errors import FetchError, NotFoundError
from getmodules.localfile import read_file
from getmodules.model import Kind
from getmodules.tree import members_of, walk
from tests.processes import as_each_user


def test_everything_in_order_and_nothing_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "f").write_bytes(b"content")
    (tmp_path / "b" / "f").chmod(0o700)
    (tmp_path / ".hidden").touch()
    (tmp_path / "a").symlink_to("b")
    os.mkfifo(tmp_path / "pipe")

    found = [(member.name, member.kind, member.executable, member.target) for member in members_of(tmp_path).items]
    assert found == [
        (".hidden", Kind.FILE, False, ""),
        ("a", Kind.SYMLINK, False, "b"),
        ("b", Kind.DIRECTORY, False, ""),
        ("pipe", Kind.SPECIAL, False, ""),
        ("b/f", Kind.FILE, True, ""),
    ]


@pytest.mark.parametrize("now", [b"longer than it was", b"short"], ids=["grew", "shrank"])
def test_a_file_that_changes_while_it_is_copied(tmp_path: Path, now: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"as it was")
    (member,) = walk(tmp_path)
    path.write_bytes(now)
    with pytest.raises(FetchError) as caught:
        list(member.open())
    assert caught.value.code == "fetch/changed"


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("public")
    (member,) = walk(tmp_path / "d")
    (tmp_path / "d" / "f").unlink()
    (tmp_path / "d" / "f").symlink_to(tmp_path / "secret")
    with pytest.raises(FetchError) as caught:
        list(member.open())
    assert caught.value.code == "fetch/unreadable"


def test_a_file_that_becomes_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")
    with pytest.raises(FetchError) as caught:
        list(read_file(tmp_path / "f"))
    assert caught.value.code == "fetch/unreadable"


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        list(walk(tmp_path / "nowhere"))


@as_each_user
def test_a_directory_that_may_not_be_read(place: Path) -> None:
    (place / "closed").mkdir(mode=0o000)
    if os.geteuid() == 0:
        assert [member.name for member in walk(place)] == ["closed"]  # root may
        return
    with pytest.raises(FetchError) as caught:
        list(walk(place))
    assert caught.value.code == "fetch/unreadable"
    assert "Permission denied" in caught.value.message
