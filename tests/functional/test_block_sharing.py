"""Copies of local directories share their blocks where the file system can, and are none the worse for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import getmodules
from tests.support.processes import in_mount_namespace

FILE_SYSTEMS = {"xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"], "btrfs": ["mkfs.btrfs", "-q"]}
BIG = bytes(range(256)) * (4 << 10)


@pytest.mark.parametrize("kind", FILE_SYSTEMS)
def test_a_copy_shares_its_blocks(tmp_path: Path, kind: str) -> None:
    make = FILE_SYSTEMS[kind]
    if os.geteuid() != 0 or shutil.which(make[0]) is None:
        pytest.skip(f"needs root and {make[0]}")
    image, mounted = tmp_path / "image", tmp_path / "mounted"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(400 << 20)
    subprocess.run([*make, str(image)], check=True, capture_output=True)
    result = tmp_path / "result"

    def work() -> None:
        if subprocess.run(
            ["mount", "-o", "loop", str(image), str(mounted)], check=False, capture_output=True
        ).returncode:
            result.write_text("no loop devices")
            return
        copy_and_edit(mounted)
        result.write_text("shared" if is_shared(mounted / "source" / "big") else "copied")

    in_mount_namespace(work)
    if result.read_text() == "no loop devices":
        pytest.skip("this machine has no loop devices")
    assert result.read_text() == "shared"


def copy_and_edit(root: Path) -> None:
    """An edit of the copy must not show in the source."""
    (root / "source").mkdir()
    (root / "source" / "big").write_bytes(BIG)
    (root / "source" / "small").write_bytes(b"x")
    before = getmodules.hash_tree(root / "source")
    installed = getmodules.get("./source", root / "first", base=root)
    getmodules.get("./source", root / "second", base=root)
    assert installed.h1 == before == getmodules.hash_tree(root / "first")
    (root / "first" / "big").write_bytes(b"edited")
    assert getmodules.hash_tree(root / "source") == getmodules.hash_tree(root / "second") == before


def is_shared(path: Path) -> bool:
    found = subprocess.run(["filefrag", "-v", str(path)], capture_output=True, text=True, check=True)
    return "shared" in found.stdout
