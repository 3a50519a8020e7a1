"""Where the store is, and whether it may be used."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from getmodules import ConfigError
from getmodules.cache.location import directory_from, open_cache
from tests.support.processes import ORDINARY, as_each_user, in_mount_namespace, mount_tmpfs
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot
from tests.support.stores import a_home, a_session, keep


@pytest.mark.skipif(sys.platform != "linux", reason="of this platform")
@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"GETMODULES_CACHE_DIR": "/c", "HOME": "/h"}, "/c", id="chosen"),
        pytest.param({"GETMODULES_CACHE_DIR": "", "HOME": "/h"}, None, id="chosen to be none"),
        pytest.param({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/getmodules", id="XDG"),
        pytest.param({"HOME": "/h", "XDG_CACHE_HOME": "x"}, "/h/.cache/getmodules", id="a relative XDG is ignored"),
        pytest.param({"HOME": "/h", "XDG_CACHE_HOME": ""}, "/h/.cache/getmodules", id="an empty XDG"),
        pytest.param({"HOME": "/h"}, "/h/.cache/getmodules", id="the default"),
        pytest.param({"HOME": ""}, None, id="no home"),
        pytest.param({}, None, id="nothing at all"),
    ],
)
def test_where_it_is(environ: dict[str, str], expected: str | None) -> None:
    assert directory_from(environ) == (None if expected is None else Path(expected))


def test_a_relative_choice_is_a_mistake() -> None:
    error = refusal(ConfigError, "config", directory_from, {"GETMODULES_CACHE_DIR": "cache"})
    assert "'cache'" in error.message
    assert "GETMODULES_CACHE_DIR=$PWD/" in (error.hint or "")


def test_it_is_made_with_its_parents_for_nobody_else(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        home = a_home(tmp_path / "a" / "cache")
        keep(home.root, b"content")
    finally:
        os.umask(before)
    assert home.writable
    assert (home.root / "version").read_text() == "1\n"
    assert (home.root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    directories = [path for path in (home.root, *home.root.rglob("*")) if path.is_dir()]
    assert len(directories) > 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in directories} == {0o700}


def test_it_is_opened_again(tmp_path: Path) -> None:
    assert a_home(tmp_path / "c") == a_home(tmp_path / "c")


@pytest.mark.parametrize("name", ["lost+found", ".DS_Store", "CACHEDIR.TAG", "version.0badc0de"])
def test_a_directory_that_was_made_for_us_may_hold_what_comes_by_itself(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    if name == "CACHEDIR.TAG":
        (tmp_path / name).rmdir()
        (tmp_path / name).touch()
    assert a_home(tmp_path).writable


def test_what_is_left_of_a_store_that_was_removed_while_it_was_in_use_becomes_one_again(tmp_path: Path) -> None:
    digest = keep(tmp_path / "c", b"content")
    for name in ("version", "CACHEDIR.TAG"):
        (tmp_path / "c" / name).unlink()
    with a_session(tmp_path / "c") as session:
        assert session.find(digest) is not None
    assert (tmp_path / "c" / "version").read_text() == "1\n"


@pytest.mark.parametrize("times", [3, 1000])
def test_one_that_is_removed_while_it_is_opened(tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    listdir, seen = os.listdir, []

    def removed(path: Path) -> list[str]:
        seen.append(path)
        if len(seen) <= times:
            Path(path).rmdir()
        return listdir(path)

    monkeypatch.setattr(os, "listdir", removed)
    home = open_cache(tmp_path / "c")
    assert home is None if times > 100 else home is not None and home.writable


@pytest.mark.parametrize("call", ["lstat", "listdir", "mkdir", "replace"])
def test_whatever_a_broken_disk_says_there_is_no_store_then(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, call, broken)
    assert open_cache(tmp_path / "c") is None
    monkeypatch.undo()
    assert "Input/output error" in caplog.text
    assert snapshot(tmp_path / "c") == {}


def test_a_version_that_the_disk_cannot_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_home(tmp_path / "c")

    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", broken)
    assert open_cache(tmp_path / "c") is None


def test_it_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    assert a_home(tmp_path / "link").root == tmp_path / "real"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda root: root.touch(), "not a directory", id="a file"),
        pytest.param(os.mkfifo, "not a directory", id="a pipe"),
        pytest.param(lambda root: (root / "thesis").mkdir(parents=True), "it holds 'thesis'", id="not a store"),
        pytest.param(lambda root: (root / "a\x1b[2J").mkdir(parents=True), r"\x1b[2J", id="not a store, odd name"),
        pytest.param(lambda root: (_made(root), (root / "version").write_text("2\n")), "newer", id="a newer version"),
        pytest.param(
            lambda root: (_made(root), (root / "version").write_text("99999\n")), "newer", id="a much newer version"
        ),
        pytest.param(
            lambda root: (_made(root), (root / "version").write_text("one\n")), "makes sense", id="no version"
        ),
        pytest.param(lambda root: (_made(root), (root / "version").write_text("")), "makes sense", id="cut short"),
        pytest.param(
            lambda root: (_made(root), (root / "version").symlink_to("/etc/hostname")), "cannot be used", id="a link"
        ),
        pytest.param(lambda root: (_made(root), (root / "version").mkdir()), "cannot be used", id="a directory"),
        pytest.param(lambda root: (_made(root), root.chmod(0o777)), "others may write", id="open to everybody"),
        pytest.param(lambda root: (_made(root), root.chmod(0o770)), "others may write", id="open to a group"),
    ],
)
def test_what_must_not_be_touched(tmp_path: Path, make: object, words: str) -> None:
    root = tmp_path / "c"
    make(root)  # type: ignore[operator]
    before = snapshot(tmp_path)
    error = refusal(ConfigError, "config", open_cache, root)
    assert words in error.message
    assert error.hint
    assert snapshot(tmp_path) == before


def _made(root: Path) -> None:
    root.mkdir(mode=0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives things away")
def test_somebody_elses(tmp_path: Path) -> None:
    root = tmp_path / "c"
    a_home(root)
    os.chown(root, ORDINARY, ORDINARY)
    before = snapshot(tmp_path)
    error = refusal(ConfigError, "config", open_cache, root)
    assert "belongs to somebody else" in error.message
    assert snapshot(tmp_path) == before


@as_each_user
def test_where_none_can_be_made_there_is_none(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    (place / "file").touch()
    assert open_cache(place / "file" / "cache") is None
    assert "working without a cache" in caplog.text
    if os.geteuid() != 0:
        (place / "closed").mkdir(mode=0o500)
        assert open_cache(place / "closed" / "cache") is None


@as_each_user
def test_one_that_cannot_be_written_to_is_read(place: Path) -> None:
    root = place / "c"
    digest = keep(root, b"content")
    root.chmod(0o500)
    home = a_home(root)
    assert home.writable == (os.geteuid() == 0)
    with a_session(root) as session:
        assert session.find(digest) is not None


def test_a_full_file_system_has_no_store(tmp_path: Path) -> None:
    def full() -> None:
        mount_tmpfs(tmp_path, "size=64k,nr_inodes=3")
        (tmp_path / "c").mkdir(mode=0o700)
        (tmp_path / "file").touch()
        assert open_cache(tmp_path / "c") is None
        assert os.listdir(tmp_path / "c") == []

    in_mount_namespace(full)


def test_the_version_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash, a version file of no bytes would make the store unusable for good."""
    synced: list[int] = []
    replaced: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), fsync(fd)))

    def watched(source: Path, target: Path) -> None:
        assert os.stat(source).st_ino in synced
        replaced.append(target.name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    a_home(tmp_path / "c")
    assert replaced == ["CACHEDIR.TAG", "version"]
