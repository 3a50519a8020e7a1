"""Directories on this machine as members."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules.api.model import Kind
from getmodules.archive.directory import members_of, walk
from getmodules.errors import FetchError, NotFoundError
from getmodules.files import opening as below
from getmodules.files.local import LocalFile, read_file
from tests.support.processes import as_each_user
from tests.support.refusals import refusal


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


def _swap_for_link(directory: Path, target: Path) -> None:
    directory.rename(directory.with_name("moved"))
    directory.symlink_to(target)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A directory outside of the one that is copied, which looks like the one that it takes the place of."""
    (tmp_path / "secret" / "b").mkdir(parents=True)
    (tmp_path / "secret" / "f").write_text("secret")
    (tmp_path / "secret" / "b" / "f").write_text("secret")
    (tmp_path / "d" / "a" / "b").mkdir(parents=True)
    (tmp_path / "d" / "a" / "f").write_text("public")
    (tmp_path / "d" / "a" / "b" / "f").write_text("public")
    return tmp_path / "secret"


@pytest.mark.parametrize(
    ("swapped", "leads_to"),
    [
        pytest.param("a", "", id="a-directory"),
        pytest.param("a/b", "b", id="a-directory-below"),
    ],
)
def test_a_directory_that_becomes_a_link_before_it_is_listed(
    tmp_path: Path, secret: Path, swapped: str, leads_to: str
) -> None:
    found = []

    def list_all() -> None:
        for member in walk(tmp_path / "d"):
            found.append(member.name)
            if member.name == swapped:
                _swap_for_link(tmp_path / "d" / swapped, secret / leads_to)

    error = refusal(FetchError, "fetch/unreadable", list_all)
    assert "link" in error.message
    assert found[-1] != f"{swapped}/f"


@pytest.mark.parametrize(
    ("swapped", "leads_to"),
    [
        pytest.param("a", "", id="two-above"),
        pytest.param("a/b", "b", id="its-directory"),
    ],
)
@pytest.mark.parametrize("how", ["read", "shared"])
def test_a_directory_that_becomes_a_link_before_a_file_is_opened(
    tmp_path: Path, secret: Path, swapped: str, leads_to: str, how: str
) -> None:
    content = {member.name: member for member in walk(tmp_path / "d")}["a/b/f"].open()
    assert b"".join(content) == b"public"
    _swap_for_link(tmp_path / "d" / swapped, secret / leads_to)
    assert isinstance(content, LocalFile)
    refusal(FetchError, "fetch/unreadable", lambda: list(content) if how == "read" else content.opened().__enter__())


def test_without_calls_below_a_descriptor_links_are_refused_all_the_same(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.setattr(below, "_BELOW", False)
    (tmp_path / "d" / "link").symlink_to("a/f")
    members = {member.name: member for member in walk(tmp_path / "d")}
    assert set(members) == {"a", "a/f", "a/b", "a/b/f", "link"}
    assert members["link"].target == "a/f"
    assert b"".join(members["a/b/f"].open()) == b"public"
    _swap_for_link(tmp_path / "d" / "a" / "b", secret / "b")
    refusal(FetchError, "fetch/unreadable", lambda: list(members["a/b/f"].open()))


def test_a_root_that_is_a_link_is_the_users(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "link").symlink_to("d")
    members = {member.name: member for member in walk(tmp_path / "link")}
    assert b"".join(members["a/f"].open()) == b"public"


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
