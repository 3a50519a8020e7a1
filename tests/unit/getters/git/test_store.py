"""A bare repository that may be in any state when it is found."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from getmodules.getters.git.environment import REMOTE
from getmodules.getters.git.store import REFS, Extent, Store
from tests.support.snapshots import snapshot

ID = "12" * 20


def a_store(tmp_path: Path, kind: Extent = Extent.TIP, length: int = 40) -> Store:
    store = Store(tmp_path, kind, length)
    store.prepare()
    return store


def test_a_new_one_is_a_repository(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    assert (store.path / "objects" / "pack").is_dir()
    assert "bare = true" in (store.path / "config").read_text(encoding="ascii")
    assert store.bytes() == 0
    assert not store.is_complete(ID)


def test_kinds_and_algorithms_are_kept_apart(tmp_path: Path) -> None:
    paths = {a_store(tmp_path, kind, length).path for kind in Extent for length in (40, 64)}
    assert len(paths) == 2 * len(Extent)
    assert "sha256" in (a_store(tmp_path, length=64).path / "config").read_text(encoding="ascii")


def test_what_is_complete_stays_so(tmp_path: Path) -> None:
    a_store(tmp_path).mark_complete(ID, "public")
    assert a_store(tmp_path).is_complete(ID)
    assert a_store(tmp_path).network_kind(ID) == "public"
    a_store(tmp_path).mark_complete(ID, None)
    assert a_store(tmp_path).network_kind(ID) is None


def test_a_filtered_one_fetches_nothing_while_it_is_read(tmp_path: Path) -> None:
    store = a_store(tmp_path, Extent.LEAN)
    config = store.path / "config"
    assert "partialClone" not in config.read_text(encoding="ascii")
    store.for_fetching()
    assert f"partialClone = {REMOTE}" in config.read_text(encoding="ascii")
    assert "blob:none" in config.read_text(encoding="ascii")
    store.for_reading()
    assert "partialClone" not in config.read_text(encoding="ascii")


@pytest.mark.parametrize(
    "name",
    [
        "shallow.lock", "config.lock", "refs/getmodules/x.lock", "objects/pack/tmp_pack_x", "objects/info/alternates",
        "hooks/post-checkout", "info/grafts", "commondir", "worktrees/x/gitdir",
    ],
)  # fmt: skip
def test_leftovers_and_what_could_lead_elsewhere_are_gone(name: str, tmp_path: Path) -> None:
    path = a_store(tmp_path).path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("/evil\n", encoding="ascii")
    a_store(tmp_path)
    assert not path.exists()


def test_a_configuration_is_never_read_as_it_was_found(tmp_path: Path) -> None:
    config = a_store(tmp_path).path / "config"
    config.write_text("[core]\n\tfsmonitor = evil\n", encoding="ascii")
    a_store(tmp_path)
    assert "evil" not in config.read_text(encoding="ascii")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_its_place(kind: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "HEAD").write_text("mine\n", encoding="ascii")
    place = Store(tmp_path, Extent.TIP, 40).path
    if kind == "file":
        place.write_text("x", encoding="ascii")
    else:
        place.symlink_to(outside)
    store = a_store(tmp_path)
    assert not store.path.is_symlink()
    assert (store.path / "objects").is_dir()
    assert (outside / "HEAD").read_text(encoding="ascii") == "mine\n"


_DIRECTORIES = ["objects", "objects/pack", "refs", "refs/getmodules", "complete", "refs/getmodules/deep"]
_FILES = ["config", "HEAD", "packed-refs", "shallow", f"complete/{ID}", "objects/pack/pack-1.pack"]


def _put(path: Path, kind: str, outside: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        path.symlink_to(outside)
    elif kind == "directory":
        (path / "x").mkdir(parents=True)
    elif kind == "file":
        path.write_text("x", encoding="ascii")
    else:
        os.mkfifo(path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes, and not everybody may make links")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "link") for name in (*_DIRECTORIES, *_FILES, "hooks", "info", "objects/info")),
        *((name, "pipe") for name in (*_DIRECTORIES, *_FILES, "objects/ab")),
        *((name, "directory") for name in _FILES),
        *((name, "file") for name in ("objects", "objects/pack", "refs", "complete")),
    ],
)
def test_nothing_in_it_leads_out_or_hangs(name: str, kind: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for each in ("keep", "x.lock", "tmp_x", "HEAD", "config"):
        (outside / each).write_text("precious", encoding="ascii")
    before = snapshot(outside)
    store = a_store(tmp_path)
    store.mark_complete(ID, "public")
    target = outside / "keep" if name in _FILES else outside
    _put(store.path / name, kind, target)
    store.prepare()
    store.for_fetching()
    store.mark_complete(ID, "private")
    assert store.network_kind(ID) == "private"
    assert snapshot(outside) == before
    for path in store.path.rglob("*"):
        assert not path.is_symlink()
        assert path.is_file() or path.is_dir()


def test_a_sound_one_keeps_what_it_has(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.mark_complete(ID, "public")
    for name in ("refs/getmodules/heads/a/b", "packed-refs", "shallow", "FETCH_HEAD", "objects/ab/cd"):
        path = store.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ID, encoding="ascii")
    before = snapshot(store.path)
    store.prepare()
    assert snapshot(store.path) == before


def test_wiped(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.mark_complete(ID, "public")
    (store.path / "objects" / "pack" / "pack-x.pack").write_bytes(b"12345")
    assert store.bytes() == 5
    store.wipe()
    assert store.bytes() == 0
    assert not store.is_complete(ID)
    assert (store.path / "HEAD").is_file()


@pytest.mark.parametrize(("text", "found"), [(ID, ID), ("rubbish", None), ("ref: x", None), ("", None)])
def test_a_ref_of_ours(text: str, found: str | None, tmp_path: Path) -> None:
    store = a_store(tmp_path)
    assert store.ref("wanted") is None
    path = store.path / REFS / "wanted"
    path.parent.mkdir(parents=True)
    path.write_text(text + "\n", encoding="ascii")
    assert store.ref("wanted") == found
