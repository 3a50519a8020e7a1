"""Hashes of directories, zips and files on disk."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

import getmodules
from getmodules.archive.tree_hash import h1, link_to_directory_digest
from getmodules.errors import ConfigError, GetModulesError
from tests.support import t1vectors
from tests.support.h1vectors import VECTORS, content_of

DIRECTORIES = [pytest.param(row, id=row["name"]) for row in VECTORS if "files" in row and "h1_dir" in row]
TREES = [pytest.param(row, id=row["name"]) for row in t1vectors.VECTORS]
ZIPS = [pytest.param(row, id=row["name"]) for row in VECTORS if "zip_b64" in row]


@pytest.mark.parametrize("row", DIRECTORIES)
def test_a_directory_as_go_hashes_it(tmp_path: Path, row: dict[str, Any]) -> None:
    for file in row["files"]:
        path = tmp_path / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_of(file))
    (tmp_path / "an" / "empty" / "directory").mkdir(parents=True)
    assert getmodules.hash_tree(tmp_path) == row["h1_dir"]


@pytest.mark.parametrize("row", TREES)
def test_a_directory_with_all_that_t1_sees(tmp_path: Path, row: dict[str, Any]) -> None:
    t1vectors.make_tree(tmp_path, row["files"])
    assert getmodules.hash_tree(tmp_path, "t1") == t1vectors.t1_on_disk(tmp_path) == row["t1"]


@pytest.mark.parametrize("mode", [0o100, 0o010, 0o001, 0o111])
def test_any_execute_bit_counts(mode: int, tmp_path: Path) -> None:
    (tmp_path / "f").touch(0o644)
    plain = [getmodules.hash_tree(tmp_path, scheme) for scheme in ("h1", "t1")]
    (tmp_path / "f").chmod(0o644 | mode)
    executable = [getmodules.hash_tree(tmp_path, scheme) for scheme in ("h1", "t1")]
    (tmp_path / "f").chmod(0o600 | mode)
    assert executable == [getmodules.hash_tree(tmp_path, scheme) for scheme in ("h1", "t1")]
    assert (plain[0] == executable[0], plain[1] == executable[1]) == (True, False)


@pytest.mark.parametrize("row", ZIPS)
def test_a_zip_as_go_hashes_it(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(base64.b64decode(row["zip_b64"]))
    assert getmodules.hash_zip(path) == row["h1_zip"]
    assert getmodules.hash_file(path) == row["zh"]


def test_stored_directories_and_links_of_a_zip_count_under_their_raw_names(tmp_path: Path) -> None:
    import hashlib
    import zipfile

    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("d/", "")
        archive.writestr("./d/f", "content")
        link = zipfile.ZipInfo("l")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "d/f")
    contents = {"d/": b"", "./d/f": b"content", "l": b"d/f"}
    assert getmodules.hash_zip(path) == h1((name, hashlib.sha256(data).digest()) for name, data in contents.items())


def test_links_count_as_what_they_lead_to(tmp_path: Path) -> None:
    import hashlib

    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("content")
    (tmp_path / "file").symlink_to("d/f")
    (tmp_path / "directory").symlink_to("d")
    digest = hashlib.sha256(b"content").digest()
    assert getmodules.hash_tree(tmp_path) == h1(
        [("d/f", digest), ("file", digest), ("directory", link_to_directory_digest("d"))]
    )


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param("nowhere", "unsafe-content/link-dangling", id="dangling"),
        pytest.param("loop", "unsafe-content/link-dangling", id="loop"),
        pytest.param("../outside", "unsafe-content/link-escapes", id="leaves"),
        pytest.param("{root}/inside", "unsafe-content/link-escapes", id="absolute, though inside"),
    ],
)
def test_links_that_have_no_hash(tmp_path: Path, target: str, code: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "inside").touch()
    (tmp_path / "outside").touch()
    (root / "loop").symlink_to(target.format(root=root))
    for scheme in ("h1", "t1"):
        with pytest.raises(GetModulesError) as caught:
            getmodules.hash_tree(root, scheme)
        assert caught.value.code == code


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(GetModulesError) as caught:
        getmodules.hash_tree(tmp_path)
    assert caught.value.code == "unsafe-content/special-file"
    with pytest.raises(GetModulesError) as caught:
        getmodules.hash_file(tmp_path / "pipe")
    assert caught.value.code == "fetch/unreadable"


@pytest.mark.parametrize("function", [getmodules.hash_tree, getmodules.hash_zip, getmodules.hash_file])
def test_what_is_not_there_is_not_found(tmp_path: Path, function: Any) -> None:
    with pytest.raises(GetModulesError) as caught:
        function(tmp_path / "nowhere")
    assert caught.value.code == "not-found"


def test_a_file_that_is_no_zip(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"nothing of the kind" * 10)
    with pytest.raises(GetModulesError) as caught:
        getmodules.hash_zip(tmp_path / "x")
    assert caught.value.exit_code == 3


def test_a_directory_that_becomes_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a copy would not: what is hashed is what would be installed."""
    from getmodules.archive import hashing

    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "f").write_text("secret")
    (tmp_path / "root" / "d").mkdir(parents=True)
    (tmp_path / "root" / "d" / "f").write_text("public")
    members = list(hashing.walk(tmp_path / "root"))
    (tmp_path / "root" / "d" / "f").unlink()
    (tmp_path / "root" / "d").rmdir()
    (tmp_path / "root" / "d").symlink_to(tmp_path / "secret")
    monkeypatch.setattr(hashing, "walk", lambda root: members)
    with pytest.raises(GetModulesError) as caught:
        getmodules.hash_tree(tmp_path / "root")
    assert caught.value.code == "fetch/unreadable"


def test_a_zip_has_no_t1(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        getmodules.hash_zip(tmp_path, "t1")
    assert (caught.value.hint, "zips" in caught.value.message) == ("schemes: h1", True)


@pytest.mark.parametrize("function", [getmodules.hash_tree, getmodules.hash_zip])
def test_a_scheme_that_there_is_not(function: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        function(tmp_path, scheme="h2")
    assert "h1" in (caught.value.hint or "")
