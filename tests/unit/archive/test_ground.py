from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.archive.ground import Ground
from getmodules.errors import InstallError, UnsafeContentError
from tests.processes import as_each_user
from tests.refusals import refusal
from tests.snapshots import snapshot


@pytest.fixture(params=["descriptor", "path"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    """Both ways to say where the ground is do the same."""
    root = os.open(tmp_path, os.O_RDONLY)
    yield Ground(tmp_path if request.param == "path" else root)
    os.close(root)


def test_what_is_made(ground: Ground, tmp_path: Path) -> None:
    ground.make_directory("d")
    ground.write_file("d/f", b"hello", True)
    ground.write_file("e", b"", False)
    os.close(ground.create_file("g", executable=False))
    ground.make_link("l", "d/f", to_directory=False)
    assert snapshot(tmp_path) == {
        "d": ("drwxr-xr-x", b""), "d/f": ("-rwxr-xr-x", b"hello"), "e": ("-rw-r--r--", b""), "g": ("-rw-r--r--", b""),
        "l": ("lrwxrwxrwx", b"d/f"),
    }  # fmt: skip
    assert b"".join(ground.read_back("d/f")) == b"hello"


def test_nothing_is_replaced_or_followed(ground: Ground, tmp_path: Path) -> None:
    ground.write_file("f", b"hello", False)
    ground.make_link("l", "f", to_directory=False)
    ground.make_link("dangling", "new", to_directory=False)
    before = snapshot(tmp_path)
    for name in ("f", "l", "dangling"):
        refusal(InstallError, "install", ground.write_file, name, b"x", False)
        refusal(InstallError, "install", ground.create_file, name, executable=False)
        refusal(InstallError, "install", ground.make_directory, name)
        refusal(InstallError, "install", ground.make_link, name, "x", to_directory=False)
    refusal(InstallError, "install", lambda: list(ground.read_back("l")))
    assert snapshot(tmp_path) == before


def test_a_name_that_no_encoding_holds(ground: Ground, tmp_path: Path) -> None:
    code = "unsafe-content/bad-name"
    refusal(UnsafeContentError, code, ground.write_file, "\ud800", b"", False)
    refusal(UnsafeContentError, code, ground.create_file, "\ud800", executable=False)
    refusal(UnsafeContentError, code, ground.make_directory, "\ud800")
    refusal(UnsafeContentError, code, ground.make_link, "\ud800", "x", to_directory=False)
    assert snapshot(tmp_path) == {}


@as_each_user
def test_a_directory_of_others(place: Path) -> None:
    if os.geteuid() == 0:
        return  # root may write everywhere
    (place / "d").mkdir()
    (place / "d").chmod(0o555)
    refusal(InstallError, "install/denied", Ground(place / "d").write_file, "f", b"", False)
    assert snapshot(place / "d") == {}
