"""A whole ``get`` as root and as an ordinary user: what permissions forbid is an error, and changes nothing.

Children are forked and not started, because an ordinary user may not be able to run this Python.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from getmodules import Client, FetchError, InstallError
from tests.support.fakes import FILES, zip_of
from tests.support.processes import ORDINARY, as_each_user, remove_tree
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot, write_tree


@pytest.fixture
def place() -> Iterator[Path]:
    """A source and a directory that an ordinary user can reach and write; pytest's own are root's alone."""
    with TemporaryDirectory(prefix="getmodules-") as name:
        root = Path(name)
        write_tree(root / "tree", FILES)
        (root / "package.zip").write_bytes(zip_of())
        (root / "work").mkdir()
        # What a get imports must be loaded before a child becomes somebody who cannot read it.
        Client(environ={}).get(str(root / "package.zip"), root / "warm")
        if os.geteuid() == 0:
            for path in (root, *root.rglob("*")):
                os.chown(path, ORDINARY, ORDINARY)
        root.chmod(0o755)
        yield root
        remove_tree(root / "work")


def get(place: Path, source: str, dest: str = "dest", *, force: bool = False) -> None:
    Client(environ={}).get(str(place / source), place / "work" / dest, force=force)


each_source = pytest.mark.parametrize("source", ["tree", "package.zip"])


@each_source
@as_each_user
def test_what_is_installed_is_ours(source: str, place: Path) -> None:
    get(place, source)
    assert os.listdir(place / "work") == ["dest"]
    for path in (place / "work" / "dest", *(place / "work" / "dest").rglob("*")):
        status = path.lstat()
        assert status.st_uid == os.geteuid()
        assert stat.S_IMODE(status.st_mode) == (0o755 if path.is_dir() else 0o644)


@each_source
@as_each_user
def test_nobody_else_looks_in_while_it_is_made(source: str, place: Path) -> None:
    """The umask lets everybody in; the private directory does not."""
    os.umask(0)
    seen: list[int] = []

    from getmodules import Phase, Progress

    class Watch(Progress):
        def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
            seen.extend(stat.S_IMODE(path.stat().st_mode) for path in (place / "work").glob(".getmodules-*"))

    Client(environ={}, progress=Watch()).get(str(place / source), place / "work" / "dest")
    assert seen
    assert set(seen) == {0o700}


@each_source
@as_each_user
def test_where_an_ordinary_user_may_not_write(source: str, place: Path) -> None:
    (place / "work").chmod(0o555)
    before = snapshot(place)
    if os.geteuid() == 0:
        get(place, source)  # nothing is forbidden to root
        return
    refusal(InstallError, "install/denied", get, place, source)
    refusal(InstallError, "install/denied", get, place, source, "new/parents/dest")
    assert snapshot(place) == before


@pytest.mark.parametrize("secret", ["tree/main.tf", "tree/sub", "package.zip"])
@as_each_user
def test_what_an_ordinary_user_may_not_read(secret: str, place: Path) -> None:
    source = secret.partition("/")[0]
    (place / secret).chmod(0)
    if os.geteuid() == 0:
        get(place, source)
        return
    refusal(FetchError, "fetch/unreadable", get, place, source)
    assert os.listdir(place / "work") == []


def _old_tree(place: Path) -> Path:
    old = place / "work" / "dest"
    (old / "sub").mkdir(parents=True)
    (old / "sub" / "old").write_text("old")
    (old / "sub").chmod(0o500)
    return old


@each_source
@as_each_user
def test_read_only_directories_in_an_old_tree_do_not_keep_it(source: str, place: Path) -> None:
    old = _old_tree(place)
    get(place, source, force=True)
    assert {path.name for path in old.iterdir()} == {"main.tf", "sub", "run.sh"}
    assert os.listdir(place / "work") == ["dest"]


@each_source
@as_each_user
def test_an_old_tree_that_is_read_only_itself_stays_as_it_is(source: str, place: Path) -> None:
    """To be moved, a directory must be writable for whoever is not root: its ``..`` changes."""
    _old_tree(place).chmod(0o500)
    before = snapshot(place)
    if os.geteuid() == 0:
        get(place, source, force=True)
        return
    refusal(InstallError, "install/denied", get, place, source, force=True)
    assert snapshot(place) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make something that belongs to somebody else")
def test_leftovers_of_somebody_else_are_left_alone(place: Path) -> None:
    """A private directory by its name, but not by its owner."""
    foreign = place / "work" / f".getmodules-{'0' * 16}"
    foreign.mkdir(mode=0o700)
    (foreign / "lock").touch()
    os.chown(foreign, ORDINARY, ORDINARY)
    get(place, "tree")
    assert sorted(os.listdir(place / "work")) == [foreign.name, "dest"]
    assert os.listdir(foreign) == ["lock"]
