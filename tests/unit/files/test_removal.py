from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.files import removal
from getmodules.files.removal import remove_contents, remove_entries
from tests.support import processes
from tests.support.processes import as_each_user, bind_mount, in_mount_namespace
from tests.support.snapshots import snapshot


def deep(where: Path, levels: int) -> None:
    """A chain of directories that no single path could name."""
    here = os.open(where, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 100, dir_fd=here)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        below = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def read_only(where: Path) -> None:
    inner = where / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (inner / "file").chmod(0o000)
    for directory, mode in ((inner, 0o000), (inner.parent, 0o500), (inner.parent.parent, 0o400)):
        directory.chmod(mode)


def many(where: Path) -> None:
    for branch in ("a", "b", "c"):
        for leaf in ("x", "y"):
            (where / branch / leaf / "empty").mkdir(parents=True)
            (where / branch / leaf / "file").write_text("x")


def links(where: Path) -> None:
    (where / "dangling").symlink_to("nowhere")
    (where / "up").symlink_to("..")
    (where / "root").symlink_to("/")
    (where / "itself").symlink_to("itself")
    (where / "below").mkdir()
    (where / "below" / "up").symlink_to("../..")


def special(where: Path) -> None:
    os.mkfifo(where / "fifo")
    (where / "name\nwith\x1b[31m").write_text("")
    (where / os.fsdecode(b"not-utf8-\xff")).mkdir()


@pytest.mark.parametrize(
    "fill",
    [
        pytest.param(lambda where: None, id="nothing"),
        pytest.param(many, id="branches"),
        pytest.param(lambda where: deep(where, 1500), id="deeper-than-the-recursion-limit", marks=pytest.mark.slow),
        pytest.param(read_only, id="read-only-directories"),
        pytest.param(links, id="links"),
        pytest.param(special, id="special-files-and-odd-names"),
    ],
)
@as_each_user
def test_everything_goes_except_what_is_kept(fill: Callable[[Path], None], place: Path) -> None:
    private = place / "private"
    private.mkdir(0o700)
    (private / "lock").write_text("stays")
    (private / "tree").mkdir()
    fill(private / "tree")
    assert remove_contents(private, keep=("lock",)) == []
    assert snapshot(place) == {"private": ("drwx------", b""), "private/lock": ("-rw-r--r--", b"stays")}


def test_a_deep_tree_needs_few_descriptors(tmp_path: Path) -> None:
    deep(tmp_path, 200)

    def child() -> int:
        os.closerange(3, 1024)  # what the test runner has open
        resource.setrlimit(resource.RLIMIT_NOFILE, (3 + 3, 3 + 3))
        return len(remove_contents(tmp_path, keep=()))

    assert processes.run(child) == 0
    assert os.listdir(tmp_path) == []


def test_what_links_point_at_stays(tmp_path: Path) -> None:
    outside, private = tmp_path / "outside", tmp_path / "private"
    outside.mkdir()
    (outside / "canary").write_text("alive")
    (private / "below").mkdir(parents=True)
    (private / "link").symlink_to(outside)
    (private / "below" / "link").symlink_to(outside)
    os.link(outside / "canary", private / "hard")
    before = snapshot(outside)
    assert remove_contents(private, keep=()) == []
    assert os.listdir(private) == []
    assert snapshot(outside) == before


def test_a_link_in_the_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "canary").write_text("alive")
    (tmp_path / "link").symlink_to("real")
    before = snapshot(tmp_path)
    assert remove_contents(tmp_path / "link", keep=()) != []
    assert snapshot(tmp_path) == before


def test_a_directory_that_is_gone_has_nothing_to_remove(tmp_path: Path) -> None:
    assert remove_contents(tmp_path / "gone", keep=()) == []


def test_a_mount_below_is_left_alone_and_reported(tmp_path: Path) -> None:
    def work() -> None:
        outside, mounted = tmp_path / "outside", tmp_path / "private" / "a" / "mounted"
        outside.mkdir()
        (outside / "canary").write_text("alive")
        mounted.mkdir(parents=True)
        bind_mount(outside, mounted)
        (complaint,) = [c for c in remove_contents(tmp_path / "private", keep=()) if c.startswith("mounted")]
        assert "busy" in complaint
        assert (outside / "canary").read_text() == "alive"

    in_mount_namespace(work)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what somebody else owns")
def test_what_somebody_else_owns_is_reported_and_the_rest_goes(place: Path) -> None:
    from tests.support import processes

    private = place / "private"
    foreign = private / "foreign"
    foreign.mkdir(parents=True)
    (foreign / "file").write_text("x")
    (private / "mine").mkdir()
    for path in (private, private / "mine"):
        os.chown(path, processes.ORDINARY, processes.ORDINARY)

    def work() -> None:
        processes.become_ordinary()
        (complaint,) = remove_contents(private, keep=())[:1]
        assert complaint == "file: Permission denied"
        assert os.listdir(private) == ["foreign"]

    assert processes.run(work) == 0
    assert (foreign / "file").read_text() == "x"


def test_some_of_many_are_removed_without_a_look_at_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine", "others"):
        many(tmp_path / name)
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("others")
    listing, listed = removal._listing, list[bool]()

    def watched(directory: int | Path) -> list[tuple[str, bool]]:
        assert isinstance(directory, int)
        listed.append(os.path.samestat(os.fstat(directory), tmp_path.stat()))
        return listing(directory)

    monkeypatch.setattr(removal, "_listing", watched)
    assert remove_entries(tmp_path, ["mine", "file", "link", "not there"]) == []
    assert listed
    assert not any(listed)
    assert os.listdir(tmp_path) == ["others"]
    assert len(snapshot(tmp_path / "others")) == len([*(tmp_path / "others").rglob("*")])
    assert remove_entries(tmp_path / "nowhere", ["x"]) == []
