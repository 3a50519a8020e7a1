"""The table of formats, and what the tools of this machine make of a tree: each must be read back alike."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from getmodules.archive.formats import getmodules_unpackers
from tests.support.archives import unpack
from tests.support.snapshots import snapshot
from tests.support.tools import need


def test_the_table() -> None:
    table = {tuple(one.names): (set(one.suffixes), set(one.media_types)) for one in getmodules_unpackers()}
    assert table == {
        ("zip",): ({".zip"}, {"application/zip", "application/x-zip-compressed"}),
        ("tar",): ({".tar"}, {"application/x-tar"}),
        ("tar.gz", "tgz"): ({".tar.gz", ".tgz"}, {"application/gzip", "application/x-gzip"}),
        ("tar.bz2", "tbz2", "tbz"): ({".tar.bz2", ".tbz2", ".tbz"}, {"application/x-bzip2"}),
        ("tar.xz", "txz"): ({".tar.xz", ".txz"}, {"application/x-xz"}),
        ("tar.zst", "tzst"): ({".tar.zst", ".tzst"}, {"application/zstd"}),
    }


def test_no_name_suffix_or_media_type_is_claimed_twice() -> None:
    for attribute in ("names", "suffixes", "media_types"):
        claims = [claim for one in getmodules_unpackers() for claim in getattr(one, attribute)]
        assert len(claims) == len(set(claims))


def test_the_readers_are_imported_by_those_who_unpack() -> None:
    code = "import sys, getmodules.archive.formats; print(*(m for m in sys.modules if '.archive.' in m))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["getmodules.archive.formats"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    long = root / ("d" * 80) / ("e" * 80)
    long.mkdir(parents=True)
    (long / ("f" * 80)).write_text("long")
    (root / "empty").touch()
    (root / "größe 日本.tf").write_text("named")
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "large").write_bytes(b"".join(b"%d" % n for n in range(300_000)))
    (root / "link").symlink_to("run")
    os.link(root / "run", root / "hard")
    for index in range(30):
        (root / f"many{index}").write_text("x" * 100 * index)
    return root


def _git(*arguments: str) -> tuple[str, ...]:
    script = 'git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git archive "$@" HEAD'
    return ("sh", "-c", script, "sh", *arguments)


PACKERS = {
    "GNU tar, gnu": ("tar", "tar.gz", ("tar", "--format=gnu", "-czf", "{out}", ".")),
    "GNU tar, pax": ("tar", "tar.xz", ("tar", "--format=pax", "-cJf", "{out}", ".")),
    "GNU tar, plain": ("tar", "tar", ("tar", "-cf", "{out}", ".")),
    "GNU tar, bzip2": ("bzip2", "tar.bz2", ("tar", "-cjf", "{out}", ".")),
    "GNU tar, zstd": ("zstd", "tar.zst", ("tar", "--zstd", "-cf", "{out}", ".")),
    "bsdtar": ("bsdtar", "tar.gz", ("bsdtar", "-czf", "{out}", ".")),
    "bsdtar, gnutar": ("bsdtar", "tar", ("bsdtar", "--format", "gnutar", "-cf", "{out}", ".")),
    "bsdtar, zip": ("bsdtar", "zip", ("bsdtar", "--format", "zip", "-cf", "{out}", ".")),
    "Info-ZIP": ("zip", "zip", ("zip", "-qry", "{out}", ".")),
    "Info-ZIP, streamed": ("zip", "zip", ("sh", "-c", 'zip -qry - . -x link | cat > "$1"', "sh", "{out}")),
    "Info-ZIP, stored": ("zip", "zip", ("zip", "-0qry", "{out}", ".")),
    "7-Zip": ("7zz", "zip", ("7zz", "a", "-bd", "-snl", "{out}", ".")),
    "Python zipfile": ("python3", "zip", ("python3", "-m", "zipfile", "-c", "{out}", ".")),
    "Python tarfile": ("python3", "tar.gz", ("python3", "-m", "tarfile", "-c", "{out}", ".")),
    "git, zip": ("git", "zip", _git("--format=zip", "-o", "{out}")),
    "git, tar.gz": ("git", "tar.gz", _git("--format=tar.gz", "-o", "{out}")),
}


@pytest.mark.parametrize("packer", PACKERS)
def test_what_tools_make_is_read_back(packer: str, tree: Path, tmp_path: Path) -> None:
    tool, kind, command = PACKERS[packer]
    need(tool)
    expected = _plain(tree)
    out = tmp_path / f"out.{kind}"
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    filled = [part.replace("{out}", str(out)) for part in command]
    subprocess.run(filled, cwd=tree, check=True, env=environment, stdout=subprocess.DEVNULL)
    directory = tmp_path / "unpacked"
    directory.mkdir()
    unpack(out.read_bytes(), kind, directory)
    found = _plain(directory / "0")
    if packer == "Python zipfile":  # it packs what links lead to
        found["link"] = expected["link"]
    if packer == "Info-ZIP, streamed":  # older releases of 3.0 end with an error where they have to stream a link
        del expected["link"]
    assert found == expected


def _plain(root: Path) -> dict[str, tuple[str, bytes]]:
    """All but directories: git stores none, and their own modes are ours to choose."""
    assert all(stat.S_ISDIR(path.lstat().st_mode) == path.is_dir() or path.is_symlink() for path in root.rglob("*"))
    return {
        name: found for name, found in snapshot(root).items() if found[0][0] != "d" and not name.startswith(".git/")
    }
