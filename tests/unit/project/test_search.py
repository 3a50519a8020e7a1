"""The search for a project, and whose files it passes over."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from getmodules.project import search as subject
from tests.support import processes
from tests.support.processes import ORDINARY, as_each_user

STRANGER, OTHER = 54321, 54322
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what belongs to somebody else")


def _find(start: Path, names: tuple[str, ...] = subject.MANIFEST) -> tuple[Path | None, list[str]]:
    said: list[str] = []
    return subject.find_project(start, names, said.append), said


@pytest.mark.parametrize(
    ("files", "found", "found_for_the_lock"),
    [
        pytest.param((), None, None, id="nothing"),
        pytest.param(("a/b/c/getmodules.toml",), "a/b/c", "a/b/c", id="here"),
        pytest.param(("getmodules.toml", "a/getmodules.toml"), "a", "a", id="the nearest"),
        pytest.param(("getmodules.toml", "a/getmodules.lock"), "", "a", id="a lock is nearer"),
        pytest.param(("getmodules.lock", "a/getmodules.toml"), "a", "a", id="a manifest without a lock is nearer"),
        pytest.param(("getmodules.lock",), None, "", id="only a lock"),
        pytest.param(("a/getmodules.toml", "a/b/c/getmodules.toml/x"), "a", "a", id="a directory of that name"),
    ],
)
def test_the_nearest_counts(
    files: tuple[str, ...], found: str | None, found_for_the_lock: str | None, tmp_path: Path
) -> None:
    start = tmp_path / "a/b/c"
    start.mkdir(parents=True)
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for names, wanted in ((subject.MANIFEST, found), (subject.MANIFEST_OR_LOCK, found_for_the_lock)):
        assert _find(start, names) == (None if wanted is None else tmp_path / wanted, [])


def test_a_link_that_leads_nowhere_is_there_and_above_it_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "getmodules.toml").symlink_to("none")
    assert _find(tmp_path) == (tmp_path, [])
    assert _find(tmp_path / "below")[0] is None


def test_where_files_have_no_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "getmodules.toml").touch()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "geteuid")
    assert _find(tmp_path / "below") == (tmp_path, [])


# ------------------------------------------------------------------------------------------------------ whose it is


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that an ordinary user can reach; pytest's own are root's alone."""
    with TemporaryDirectory(prefix="getmodules-") as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "a/b").mkdir(parents=True)
        if os.geteuid() == 0:
            for path in (root, root / "a", root / "a/b"):
                _chown(path, ORDINARY)
        yield root


def _nothing(place: Path) -> None:
    pass


def _linked_to_ours(place: Path) -> None:
    _chown(place / "a/getmodules.toml", ORDINARY)
    (place / "a/getmodules.toml").rename(place / "ours.toml")
    (place / "a/getmodules.toml").symlink_to("../ours.toml")
    os.lchown(place / "a/getmodules.toml", STRANGER, STRANGER)


def _linked_by_us(place: Path) -> None:
    (place / "a/getmodules.toml").rename(place / "a/theirs.toml")
    (place / "a/getmodules.toml").symlink_to("theirs.toml")
    os.lchown(place / "a/getmodules.toml", ORDINARY, ORDINARY)


def _chown(path: Path, user: int) -> None:
    os.chown(path, user, user)


@needs_root
@pytest.mark.parametrize(
    ("owner", "owner_of_the_directory", "change", "counts"),
    [
        pytest.param(ORDINARY, 0, _nothing, True, id="ours"),
        pytest.param(0, STRANGER, _nothing, True, id="root's"),
        pytest.param(STRANGER, STRANGER, _nothing, True, id="of the owner of the current directory"),
        pytest.param(STRANGER, ORDINARY, _nothing, False, id="somebody else's"),
        pytest.param(STRANGER, OTHER, _nothing, False, id="somebody else's in a third one's directory"),
        pytest.param(STRANGER, 0, _linked_to_ours, False, id="somebody else's link to ours"),
        pytest.param(STRANGER, 0, _linked_by_us, False, id="our link to somebody else's"),
    ],
)
@pytest.mark.parametrize("names", [subject.MANIFEST, subject.MANIFEST_OR_LOCK])
def test_one_above_counts_only_if_it_belongs_to_somebody_who_decides_here(
    names: tuple[str, ...],
    owner: int,
    owner_of_the_directory: int,
    change: Callable[[Path], None],
    counts: bool,
    place: Path,
) -> None:
    for path in (place / "a/getmodules.toml", place / "getmodules.toml"):
        path.touch()
    _chown(place / "a/getmodules.toml", owner)
    _chown(place / "a/b", owner_of_the_directory)
    change(place)

    def work() -> None:
        processes.become_ordinary()
        found, said = _find(place / "a/b", names)
        if counts:
            assert (found, said) == (place / "a", [])
        else:
            assert found == place
            (notice,) = said
            assert notice.startswith(
                f"passing over {place}/a/getmodules.toml, which belongs neither to you nor to root"
            )
            assert f"--manifest {place}/a " in notice
        assert _find(place / "a", names) == (place / "a", [])  # in the current directory it counts whoever owns it

    assert processes.run(work) == 0


@needs_root
def test_a_lock_of_somebody_else_beside_a_manifest_of_ours(place: Path) -> None:
    """For work that reads the lock alone it is the lock that must be trusted."""
    (place / "a/getmodules.toml").touch()
    (place / "a/getmodules.lock").touch()
    _chown(place / "a/getmodules.lock", STRANGER)
    assert _find(place / "a/b") == (place / "a", [])
    found, said = _find(place / "a/b", subject.MANIFEST_OR_LOCK)
    assert (found, len(said)) == (None, 1)


@as_each_user
def test_a_directory_above_that_cannot_be_looked_into(place: Path) -> None:
    (place / "getmodules.toml").touch()
    os.chdir(place / "a/b")
    (place / "a").chmod(0)
    try:
        assert _find(place / "a/b") == (place, [])
    finally:
        (place / "a").chmod(0o755)
