"""Directories of the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules.cache.location import listing, move_into_cache, private_folder
from tests.support.snapshots import snapshot


def test_put_and_listed(tmp_path: Path) -> None:
    (tmp_path / "fresh").write_text("x")
    assert move_into_cache(tmp_path, "a/b/name", tmp_path / "fresh") == tmp_path / "a/b/name"
    assert (tmp_path / "a/b/name").read_text() == "x"
    assert listing(tmp_path, "a/b") == ["name"]
    assert listing(tmp_path, "a/nowhere") == []
    assert listing(tmp_path, "a/b/name") == []


def test_a_room_is_made_once(tmp_path: Path) -> None:
    assert private_folder(tmp_path, "a/b") == private_folder(tmp_path, "a/b") == tmp_path / "a/b"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("link", ["a", "a/b"])
def test_no_link_leads_out(tmp_path: Path, link: str) -> None:
    (tmp_path / "outside" / "b").mkdir(parents=True)
    (tmp_path / "outside" / "mine").touch()
    store = tmp_path / "store"
    (store / link).parent.mkdir(parents=True)
    (store / link).symlink_to(tmp_path / "outside")
    (store / "fresh").touch()
    before = snapshot(tmp_path)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        move_into_cache(store, "a/b/name", store / "fresh")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        private_folder(store, "a/b")
    assert listing(store, "a/b") == []
    assert snapshot(tmp_path) == before
