"""The files of layouts: in tars, and in directories without links."""

from __future__ import annotations

import tarfile
import tracemalloc
from pathlib import Path

import pytest

from getmodules.api.limits import Limits
from getmodules.api.ports import Context
from getmodules.errors import (
    CorruptArchiveError,
    InstallError,
    LimitExceededError,
    UnsafeContentError,
)
from getmodules.getters.oci.layout import Layout
from getmodules.getters.oci.repository import Descriptor
from getmodules.util.digest import Digest
from tests.support.contexts import a_context
from tests.support.layouts import ONE, HandMade, packed
from tests.support.refusals import refusal


@pytest.mark.parametrize("prefix", [pytest.param("", id="dot"), pytest.param("/", id="bare")])
def test_a_tar_of_a_layout(made: HandMade, context: Context, tmp_path: Path, prefix: str) -> None:
    digest = made.manifest(ONE, "1.0.0")
    blob = made.blob(b"x" * 100_000)
    layout = Layout(packed(made, tmp_path / "layout.tar", prefix))
    assert layout.manifest("1.0.0", context).body == ONE
    assert layout.manifest(digest, context).body == ONE
    descriptor = Descriptor(media_type="x", digest=Digest.parse(blob), size=100_000)
    assert b"".join(layout.blob(descriptor, context)) == b"x" * 100_000
    assert list(layout.tags(context)) == ["1.0.0"]


def test_a_tar_is_not_written_to(made: HandMade, context: Context, tmp_path: Path) -> None:
    tar = packed(made, tmp_path / "layout.tar")
    before = tar.read_bytes()
    refusal(InstallError, "install", Layout(tar).for_publishing)
    assert tar.read_bytes() == before


def test_a_tar_with_two_files_of_one_name(made: HandMade, context: Context, tmp_path: Path) -> None:
    tar = packed(made, tmp_path / "layout.tar")
    with tarfile.open(tar, "a") as archive:
        archive.add(made.path / "index.json", "index.json")
    refusal(UnsafeContentError, "unsafe-content/ambiguous-archive", Layout(tar).manifest, "x", context)


def test_a_tar_with_too_many_files(made: HandMade, context: Context, tmp_path: Path) -> None:
    few = a_context(tmp_path, limits=Limits(entries=3))
    refusal(LimitExceededError, "limit-exceeded/entries", Layout(packed(made, tmp_path / "x.tar")).manifest, "x", few)


def test_what_is_not_of_the_layout_is_not_remembered(made: HandMade, context: Context, tmp_path: Path) -> None:
    made.manifest(ONE, "1.0.0")
    tar = packed(made, tmp_path / "layout.tar")
    with tarfile.open(tar, "a", format=tarfile.PAX_FORMAT) as archive:
        for number in range(200):
            archive.addfile(tarfile.TarInfo(f"blobs/sha256/{number}/" + "a/" * 2_000 + "b"))
    tracemalloc.start()
    try:
        layout = Layout(tar)
        assert layout.manifest("1.0.0", context).body == ONE
        held, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 400_000


def test_what_is_remembered_of_a_tar_is_bounded(
    made: HandMade, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        made.blob(bytes([number]))
    layout = Layout(packed(made, tmp_path / "layout.tar"))
    monkeypatch.setattr("getmodules.getters.oci.layout_files.METADATA_BYTES", 2_000)
    refusal(LimitExceededError, "limit-exceeded/metadata", layout.manifest, "x", context)


@pytest.mark.parametrize(
    ("head", "looks", "hint"),
    [
        pytest.param(b"PK\3\4", "zip", "decompress it", id="zip"),
        pytest.param(b"\x1f\x8b\x08", "gzip", "decompress it", id="gzip"),
        pytest.param(b"<html>", "a web page (HTML)", None, id="a web page"),
    ],
)
def test_what_is_neither_a_directory_nor_a_tar(
    context: Context, tmp_path: Path, head: bytes, looks: str, hint: str | None
) -> None:
    (tmp_path / "layout").write_bytes(head + bytes(600))
    error = refusal(CorruptArchiveError, "corrupt-archive", Layout(tmp_path / "layout").manifest, "x", context)
    assert error.message.endswith(f"it looks like {looks}")
    assert (hint or "") in (error.hint or "")
    assert (error.hint is None) is (hint is None)
