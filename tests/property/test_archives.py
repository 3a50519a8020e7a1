"""Archives of any content, and good archives that were damaged: the same tree, or a refusal, and never a third."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from getmodules import GetModulesError
from getmodules.api.model import Tree
from tests.support.archives import END, T, Z, pax, streamed, tar_bytes, unpack, zip_bytes
from tests.support.snapshots import snapshot

NAMES = st.lists(
    st.text("abcxyz019-_é", min_size=1, max_size=6).filter(lambda name: name.strip(".")), min_size=1, max_size=3
).map("/".join)
TREES = st.dictionaries(NAMES, st.binary(max_size=3_000), max_size=12)


def prefix_free(tree: dict[str, bytes]) -> dict[str, bytes]:
    """Without names that are directories too, or differ in accents only."""
    return {name: data for name, data in tree.items() if not any(other.startswith(f"{name}/") for other in tree)}


def python_zip(tree: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in tree.items():
            archive.writestr(name, data)
    return out.getvalue()


def python_tar(tree: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, data in tree.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def unpacked(data: bytes, kind: str) -> tuple[Tree, dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (tree,) = unpack(data, kind, directory)
        found = snapshot(directory / "0")
        return tree, {path: content for path, (mode, content) in found.items() if mode[0] == "-"}


@pytest.mark.parametrize(("kind", "pack"), [("zip", python_zip), ("tar.gz", python_tar)])
@settings(max_examples=40)
@given(tree=TREES)
def test_what_goes_in_comes_out(kind: str, pack: Callable[[dict[str, bytes]], bytes], tree: dict[str, bytes]) -> None:
    tree = prefix_free(tree)
    assert unpacked(pack(tree), kind)[1] == tree


TEXT = b"resource {}\n" * 9
LINK = Z(name=b"l", data=b"d/b", mode=stat.S_IFLNK | 0o777)
GOOD = {
    "zip": ("zip", zip_bytes(Z(data=TEXT, method=8), Z(name=b"d/b", mode=stat.S_IFREG | 0o755), LINK, comment=b"id")),
    "streamed zip": ("zip", zip_bytes(streamed(Z(data=TEXT, method=8)), streamed(Z(name=b"d/b"), wide=True))),
    "tar": ("tar", tar_bytes(
        T(data=TEXT), T(type=b"5", name=b"d/"), T(name=b"d/b", mode=0o755), T(name=b"l", type=b"2", target=b"d/b")
    )),
    "PAX": ("tar.gz", gzip.compress(tar_bytes(pax({"path": "x" * 150}), T(data=TEXT), end=END), 9, mtime=0)),
}  # fmt: skip


def judged(data: bytes, kind: str) -> tuple[str, list[tuple[str, bytes | None]]] | None:
    try:
        tree, _ = unpacked(data, kind)
    except GetModulesError:
        return None
    return tree.h1, [(entry.path, entry.sha256) for entry in tree.entries]


@pytest.mark.slow
@pytest.mark.parametrize("which", GOOD)
def test_an_archive_that_is_cut_off_is_refused(which: str) -> None:
    kind, data = GOOD[which]
    whole = judged(data, kind)
    assert whole is not None
    for length in range(len(data)):
        found = judged(data[:length], kind)
        # What follows a tar's end marker is padding: to lose some of it is no loss.
        assert found is None or (kind == "tar" and found == whole), length


def contents(data: bytes, kind: str) -> list[bytes] | None:
    try:
        return sorted(unpacked(data, kind)[1].values())
    except GetModulesError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("which", ["zip", "streamed zip", "PAX"])
def test_a_flipped_bit_never_changes_content(which: str) -> None:
    """What has a checksum is refused or the same; names, modes and times in a zip have none."""
    kind, data = GOOD[which]
    whole = contents(data, kind)
    refused = 0
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        found = contents(bytes(damaged), kind)
        refused += found is None
        # A bit may turn the link of the zip into a file that holds its target, and back.
        assert found is None or found == whole or sorted([*(whole or []), b"d/b"]) == found, at
    assert refused > len(data) // 3


@settings(max_examples=150)
@given(data=st.binary(max_size=2_000), kind=st.sampled_from(["zip", "tar", "tar.gz", "tar.bz2", "tar.xz", "tar.zst"]))
def test_rubbish_is_refused_with_an_error_of_ours(data: bytes, kind: str) -> None:
    if not any(data):
        return
    assert judged(data, kind) is None


@pytest.mark.slow
@settings(max_examples=100)
@given(st.data())
def test_a_damaged_tar_header_is_never_read_as_another_file(choice: st.DataObject) -> None:
    _, data = GOOD["tar"]
    at = choice.draw(st.integers(0, len(data) - 1))
    damaged = bytearray(data)
    damaged[at] ^= choice.draw(st.integers(1, 255))
    found, whole = judged(bytes(damaged), "tar"), judged(data, "tar")
    in_a_header = at // 512 in (0, 2, 3, 5)
    assert found is None or found == whole or not in_a_header


def test_python_reads_what_we_accept() -> None:
    """The second opinion: whatever of the damaged zips is accepted, zipfile reads alike."""
    kind, data = GOOD["streamed zip"]
    agreed = 0
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        try:
            _, ours = unpacked(bytes(damaged), kind)
        except GetModulesError:
            continue
        with zipfile.ZipFile(io.BytesIO(bytes(damaged))) as archive:
            theirs = {os.path.normpath(name): archive.read(name) for name in archive.namelist()}
        assert theirs == ours, at
        agreed += 1
    assert agreed
