from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules.archive.target_dir import TargetDirectory
from getmodules.errors import InstallError, UnsafeContentError
from tests.support.processes import as_each_user
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


@pytest.fixture(params=["descriptor", "path"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetDirectory]:
    """Both ways to say where the ground is do the same."""
    root = os.open(tmp_path, os.O_RDONLY)
    yield TargetDirectory(tmp_path if request.param == "path" else root)
    os.close(root)


def test_what_is_made(ground: TargetDirectory, tmp_path: Path) -> None:
    ground.make_directory("d")
    ground.write_file("d/f", b"hello", True)
    ground.write_file("e", b"", False)
    descriptors: list[int] = []
    ground.create_file("g", descriptors, executable=False)
    os.close(descriptors.pop())
    ground.make_link("l", "d/f", to_directory=False)
    assert snapshot(tmp_path) == {
        "d": ("drwxr-xr-x", b""), "d/f": ("-rwxr-xr-x", b"hello"), "e": ("-rw-r--r--", b""), "g": ("-rw-r--r--", b""),
        "l": ("lrwxrwxrwx", b"d/f"),
    }  # fmt: skip
    assert b"".join(ground.read_back("d/f")) == b"hello"


def test_nothing_is_replaced_or_followed(ground: TargetDirectory, tmp_path: Path) -> None:
    ground.write_file("f", b"hello", False)
    ground.make_link("l", "f", to_directory=False)
    ground.make_link("dangling", "new", to_directory=False)
    before = snapshot(tmp_path)
    for name in ("f", "l", "dangling"):
        refusal(InstallError, "install", ground.write_file, name, b"x", False)
        refusal(InstallError, "install", ground.create_file, name, [], executable=False)
        refusal(InstallError, "install", ground.make_directory, name)
        refusal(InstallError, "install", ground.make_link, name, "x", to_directory=False)
    refusal(InstallError, "install", lambda: list(ground.read_back("l")))
    assert snapshot(tmp_path) == before


def test_a_name_that_no_encoding_holds(ground: TargetDirectory, tmp_path: Path) -> None:
    code = "unsafe-content/bad-name"
    refusal(UnsafeContentError, code, ground.write_file, "\ud800", b"", False)
    refusal(UnsafeContentError, code, ground.create_file, "\ud800", [], executable=False)
    refusal(UnsafeContentError, code, ground.make_directory, "\ud800")
    refusal(UnsafeContentError, code, ground.make_link, "\ud800", "x", to_directory=False)
    assert snapshot(tmp_path) == {}


def test_a_name_that_no_file_of_this_system_can_have(ground: TargetDirectory, tmp_path: Path) -> None:
    """The package's fault, and not the disk's."""
    code, name = "unsafe-content/bad-name", "n" * 256
    refusal(UnsafeContentError, code, ground.write_file, name, b"", False)
    refusal(UnsafeContentError, code, ground.create_file, name, [], executable=False)
    refusal(UnsafeContentError, code, ground.make_directory, name)
    refusal(UnsafeContentError, code, ground.make_link, name, "x", to_directory=False)
    assert snapshot(tmp_path) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="nothing lists what a process has open")
def test_an_interrupt_between_opening_and_knowing_loses_no_descriptor(
    ground: TargetDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    real = os.open

    def interrupted(path: str, *arguments: Any, **more: Any) -> int:
        opened.append(real(path, *arguments, **more))
        raise KeyboardInterrupt

    kept: list[int] = []
    ground.create_file("kept", kept, executable=False)
    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ground.write_file("a", b"a", False)
    with pytest.raises(KeyboardInterrupt):
        ground.create_file("b", kept, executable=False)
    monkeypatch.undo()
    assert len(opened) == 2
    os.close(kept.pop())  # still open, and the only one that is known
    assert kept == []
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


@as_each_user
def test_a_directory_of_others(place: Path) -> None:
    if os.geteuid() == 0:
        return  # root may write everywhere
    (place / "d").mkdir()
    (place / "d").chmod(0o555)
    refusal(InstallError, "install/denied", TargetDirectory(place / "d").write_file, "f", b"", False)
    assert snapshot(place / "d") == {}
