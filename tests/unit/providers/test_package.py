"""What is measured of a package that lies here, packed or not."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from getmodules import CorruptArchiveError, FetchError, NotFoundError, hash_tree
from getmodules.providers import Hash, Package, measure
from tests.support.refusals import refusal
from tests.support.releases import LINUX, ZIP


def test_a_packed_and_an_unpacked_package_have_the_same_content(tmp_path: Path) -> None:
    with zipfile.ZipFile(ZIP) as archive:
        archive.extractall(tmp_path / "unpacked")
    packed, unpacked = measure(ZIP, LINUX), measure(tmp_path / "unpacked", LINUX)
    assert packed == Package(
        platform=LINUX,
        h1=Hash.parse(hash_tree(tmp_path / "unpacked")),
        zh=Hash("zh", hashlib.sha256(ZIP.read_bytes()).hexdigest()),
        size=ZIP.stat().st_size,
    )
    assert packed.hashes == {packed.h1, packed.zh}
    assert unpacked == Package(platform=LINUX, h1=packed.h1)
    assert unpacked.hashes == {packed.h1}


@pytest.mark.parametrize(
    ("content", "kind", "code"),
    [
        pytest.param(None, NotFoundError, "not-found", id="nothing there"),
        pytest.param(b"no zip", CorruptArchiveError, "corrupt-archive", id="no zip"),
    ],
)
def test_what_cannot_be_measured(tmp_path: Path, content: bytes | None, kind: type[FetchError], code: str) -> None:
    path = tmp_path / "package.zip"
    if content is not None:
        path.write_bytes(content)
    refusal(kind, code, measure, path, LINUX)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.zip")
    refusal(FetchError, "fetch/unreadable", measure, tmp_path / "package.zip", LINUX)
