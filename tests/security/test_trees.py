"""Hostile directories as a source: the same policy as for archives, and the source is never touched."""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from getmodules import Client, ContentError, GetModulesError, Limits
from getmodules.archive.names import FOLDS_NAMES
from tests.support.securitycases import CANARY, limit, unsafe
from tests.support.snapshots import snapshot

Build = Callable[[Path], object]


def _link(target: str, name: str = "l") -> Build:
    return lambda root: (root / name).symlink_to(target)


def _file(name: str, content: str = "x", mode: int = 0o644) -> Build:
    def build(root: Path) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(mode)

    return build


def _several(*builds: Build) -> Build:
    return lambda root: [build(root) for build in builds]


def _socket(root: Path) -> None:
    before = os.getcwd()
    os.chdir(root)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("s")
    finally:
        os.chdir(before)


def _device(root: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes devices")
    os.mknod(root / "d", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: whoever reads it never ends


def _raw_name(name: bytes) -> Build:
    return lambda root: Path(os.fsdecode(os.path.join(os.fsencode(root), name))).write_text("x")


def _huge(root: Path) -> None:
    """A gigabyte and a little, of which nothing is on the disk."""
    with (root / "huge").open("wb") as file:
        file.truncate((1 << 30) + 1)


REFUSED = [
    pytest.param(lambda root: os.mkfifo(root / "f"), unsafe("special-file"), {}, id="fifo, never waited for"),
    pytest.param(_socket, unsafe("special-file"), {}, id="socket"),
    pytest.param(_device, unsafe("special-file"), {}, id="device"),
    pytest.param(_link(CANARY), unsafe("link-escapes"), {}, id="absolute link"),
    pytest.param(_link("../../canary"), unsafe("link-escapes"), {}, id="link up"),
    pytest.param(_link("../source/main.tf"), unsafe("link-escapes"), {}, id="link up and in again"),
    pytest.param(
        _several(_file("d/e/f"), _link("d/e", "x"), _link("../../x/../../..", "d/e/l")),
        unsafe("link-escapes"), {}, id="link over a link",
    ),
    pytest.param(_link("nothing"), unsafe("link-dangling"), {}, id="link to nothing"),
    pytest.param(_link("main.tf/.."), unsafe("link-dangling"), {}, id="link through a file"),
    pytest.param(_link("l"), unsafe("link-loop"), {}, id="link to itself"),
    pytest.param(_raw_name(b"a\nb"), unsafe("bad-name"), {}, id="newline"),
    pytest.param(_raw_name(b"a\x1b[2Jb"), unsafe("bad-name"), {}, id="escape sequence"),
    pytest.param(_raw_name(b"..\\canary"), unsafe("bad-name"), {}, id="backslash"),
    pytest.param(_raw_name(b"C:canary"), unsafe("absolute-path"), {}, id="drive"),
    pytest.param(_file("/".join(["d"] * 64) + "/a"), limit("depth"), {}, id="too deep"),
    pytest.param(_huge, limit("file-bytes"), {}, id="too large a file"),
    pytest.param(
        _several(*(_file(str(n)) for n in range(9))), limit("entries"), {"entries": 9}, id="too many entries"
    ),
    pytest.param(_file("a", "x" * 99), limit("total-bytes"), {"total_bytes": 99}, id="too many bytes"),
    pytest.param(_file("n" * 99), limit("path-bytes"), {"path_bytes": 50}, id="too long a name"),
]  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "canary").write_text("alive")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "canary").write_text("alive")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.tf").write_text("# main\n")
    return tmp_path


def all_of(here: Path) -> dict[str, tuple[str, bytes]]:
    """As a snapshot, but what is huge is not read."""
    huge = here / "source" / "huge"
    return snapshot(here / "work") | ({} if huge.exists() else snapshot(here / "source"))


@pytest.mark.skipif(sys.platform == "win32", reason="names and kinds of files that Windows has not")
@pytest.mark.parametrize(("build", "code", "limits"), REFUSED)
def test_refused(build: Build, code: str, limits: dict[str, int], here: Path) -> None:
    build(here / "source")
    before = all_of(here)
    with pytest.raises(ContentError) as caught:
        Client(environ={}).get(str(here / "source"), here / "work" / "dest", limits=replace(Limits(), **limits))
    assert caught.value.code == code
    assert all_of(here) == before
    assert os.listdir(here / "work") == ["canary"]
    assert not os.path.lexists(CANARY)


def _hardlinks(root: Path) -> None:
    os.link(root / "main.tf", root / "twin")


ACCEPTED = [
    pytest.param(_file("run", mode=0o6755), {"run": "-rwxr-xr-x"}, id="setuid"),
    pytest.param(_file("none", mode=0o400), {"none": "-rw-r--r--"}, id="private"),
    pytest.param(_file("open", mode=0o666), {"open": "-rw-r--r--"}, id="writable for all"),
    pytest.param(lambda root: (root / "d").mkdir(mode=0o700), {"d": "drwxr-xr-x"}, id="private directory"),
    pytest.param(_hardlinks, {"twin": "-rw-r--r--"}, id="hard links become copies"),
    pytest.param(_link("main.tf"), {"l": "lrwxrwxrwx"}, id="link inside"),
    pytest.param(_file(".hidden/.file"), {".hidden": "drwxr-xr-x", ".hidden/.file": "-rw-r--r--"}, id="dot files"),
    pytest.param(_file("-rf"), {"-rf": "-rw-r--r--"}, id="a name like an option"),
    pytest.param(_raw_name(b"\xff"), {"\udcff": "-rw-r--r--"}, id="not UTF-8: a notice"),
    pytest.param(_several(_file("A"), _file("a")), {"A": "-rw-r--r--", "a": "-rw-r--r--"}, id="case pair: a notice"),
    pytest.param(_file("con"), {"con": "-rw-r--r--"}, id="reserved on Windows: a notice"),
]


@pytest.mark.skipif(FOLDS_NAMES, reason="some of these names cannot exist here")
@pytest.mark.parametrize(("build", "wanted"), ACCEPTED)
def test_accepted(build: Build, wanted: dict[str, str], here: Path) -> None:
    build(here / "source")
    before = snapshot(here / "source")
    Client(environ={}).get(str(here / "source"), here / "work" / "dest")
    found = snapshot(here / "work" / "dest")
    assert {name: mode for name, (mode, _) in found.items()} == {"main.tf": "-rw-r--r--", **wanted}
    assert {name: data for name, (_, data) in found.items()} == {name: data for name, (_, data) in before.items()}
    assert snapshot(here / "source") == before
    for path in (here / "work" / "dest").rglob("*"):
        assert path.is_symlink() or path.is_dir() or path.stat().st_nlink == 1
    assert sorted(os.listdir(here / "work")) == ["canary", "dest"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges there")
def test_a_directory_that_becomes_a_link_while_it_is_copied(here: Path) -> None:
    """Swapped at every moment by somebody else: what lies behind the link is never copied.

    The getter's walk is by path; a listing of the outside would show its names.
    """
    outside, inside = here / "outside", here / "source" / "d"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    inside.mkdir()
    (inside / "a").write_text("a")

    from getmodules import Phase, Progress

    class Swap(Progress):
        def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
            if phase is Phase.UNPACKING and not inside.is_symlink():
                inside.rename(here / "moved")
                inside.symlink_to(outside)

    with pytest.raises(GetModulesError) as caught:
        Client(environ={}).get(str(here / "source"), here / "work" / "dest", progress=Swap())
    assert caught.value.code in ("unsafe-content/link-escapes", "fetch/unreadable")
    assert os.listdir(here / "work") == ["canary"]
