"""From a blob to members: which unpacker, which name."""

from __future__ import annotations

import bz2
import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, CorruptArchiveError, Gate, GetModulesError, Limits
from getmodules.api.model import Layers
from getmodules.testing import tar_of
from tests.support.fakes import ZIP, ZIP_H1, FakeGetter, FakeVerifier, blob, client_with, installed_files, members_of
from tests.support.refusals import refusal


def test_a_single_file_becomes_a_directory_with_that_file(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(b"hello\n", name="main.tf")))
    for arguments, name in (
        ("archive=false", "main.tf"),
        ("filename=other.tf", "other.tf"),
        ("archive=F", "main.tf"),
    ):
        dest = tmp_path / name / arguments
        installed = client.get(f"fake://h/main.tf?{arguments}", dest)
        assert installed_files(dest) == {name: b"hello\n"}
        assert installed.id == "sha256:" + hashlib.sha256(b"hello\n").hexdigest()


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        pytest.param("?archive=zip", {"name": "download"}, id="archive= names it"),
        pytest.param("?archive=zip", {"name": "lies.tar.gz"}, id="archive= beats the suffix"),
        pytest.param("", {"name": "PACKAGE.ZIP"}, id="suffix, in any case"),
        pytest.param("", {"name": None, "media_type": "Application/ZIP; charset=x"}, id="media type"),
        pytest.param("", {"name": "lies.tar.gz", "format": "zip"}, id="the protocol decides"),
    ],
)
def test_the_format_is_found(tmp_path: Path, arguments: str, fields: dict[str, Any]) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP, **fields)))
    assert client.get(f"fake://h/x{arguments}", tmp_path / "dest").h1 == ZIP_H1


@pytest.mark.parametrize(
    ("fields", "limits", "code"),
    [
        pytest.param({"size": len(ZIP) + 1}, {}, "network", id="shorter than announced"),
        pytest.param({"size": len(ZIP) - 1}, {}, "network", id="longer than announced"),
        pytest.param({"size": 1000}, {"download_bytes": 999}, "limit-exceeded/download-bytes", id="announces too much"),
        pytest.param({}, {"download_bytes": len(ZIP) - 1}, "limit-exceeded/download-bytes", id="sends too much"),
        pytest.param({"name": "x.unknown"}, {}, "unsupported-content", id="no known suffix"),
        pytest.param({"name": None}, {}, "unsupported-content", id="no name at all"),
        pytest.param({"format": "lha"}, {}, "unsupported-content", id="a format without an unpacker"),
        pytest.param({}, {"entries": 1}, "limit-exceeded/entries", id="too many entries"),
        pytest.param({}, {"file_bytes": 5}, "limit-exceeded/file-bytes", id="a file too large"),
        pytest.param({}, {"total_bytes": 20}, "limit-exceeded/total-bytes", id="too many bytes"),
        pytest.param({}, {"depth": 2}, "limit-exceeded/depth", id="too deep"),
        pytest.param({}, {"path_bytes": 8}, "limit-exceeded/path-bytes", id="a path too long"),
    ],
)
def test_a_blob_that_is_refused(tmp_path: Path, fields: dict[str, Any], limits: dict[str, int], code: str) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP, **fields)))
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/p.zip", tmp_path / "dest", limits=Limits(**limits))
    assert caught.value.code == code
    assert caught.value.address == "fake://h/p.zip"
    assert list(tmp_path.iterdir()) == []


TAR = tar_of({"main.tf": b"# main\n"})


@pytest.mark.parametrize(
    ("address", "content", "fields", "hint"),
    [
        pytest.param("p.tar.gz", ZIP, {"name": "p.tar.gz"}, "like zip: archive=zip", id="a zip by another suffix"),
        pytest.param("p", ZIP, {"name": "p", "media_type": "application/gzip"}, "archive=zip", id="by media type"),
        pytest.param("p?archive=tar.xz", ZIP, {"name": "p"}, "archive=zip", id="by the address"),
        pytest.param("p.tar", gzip.compress(TAR), {"name": "p.tar"}, "like gzip: archive=tar.gz", id="a packed tar"),
        pytest.param("p.zip", TAR, {"name": "p.zip"}, "like tar: archive=tar", id="a tar by another suffix"),
        pytest.param("p.tgz", bz2.compress(TAR), {"name": "p.tgz"}, "archive=tar.bz2", id="another codec"),
        pytest.param("p.tgz", gzip.compress(TAR)[:40], {"name": "p.tgz"}, None, id="what it says, cut off"),
        pytest.param("p.tgz", gzip.compress(ZIP), {"name": "p.tgz"}, None, id="something else in the right codec"),
        pytest.param("p.tgz", b"<html>", {"name": "p.tgz"}, None, id="no format of ours"),
        pytest.param("p.tgz", ZIP, {"name": "p", "format": "tar.gz"}, None, id="what the protocol says"),
    ],
)
def test_where_the_bytes_are_of_another_format_the_hint_says_what_to_write(
    tmp_path: Path, address: str, content: bytes, fields: dict[str, Any], hint: str | None
) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(content, **fields)))
    error = refusal(CorruptArchiveError, "corrupt-archive", client.get, f"fake://h/{address}", tmp_path / "dest")
    assert (hint in (error.hint or "")) if hint else (error.hint is None)
    assert list(tmp_path.iterdir()) == []


def test_no_hint_to_an_argument_that_the_getter_does_not_take(tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP, name="p.tar.gz"), core_arguments=("checksum",))
    error = refusal(
        CorruptArchiveError, "corrupt-archive", client_with(getter).get, "fake://h/p.tar.gz", tmp_path / "dest"
    )
    assert error.hint is None


@pytest.mark.parametrize("name", ["a/b.tf", "..", "/x", None, ""])
def test_a_single_file_with_an_unusable_name(tmp_path: Path, name: str | None) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(b"x", name=name)))
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/p?archive=false", tmp_path / "dest")
    assert caught.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


def layers_of(*contents: bytes, size: int | None = None) -> Layers:
    return Layers(blobs=tuple(Blob(chunks=(each,), size=size or len(each), format="tar") for each in contents))


def test_all_layers_together_may_download_no_more_than_a_package_may(tmp_path: Path) -> None:
    layer = tar_of({"f": b"x" * 2000})
    client = client_with(FakeGetter(answer=lambda *_: layers_of(layer, layer, layer)))
    assert client.get("fake://h/image", tmp_path / "enough", limits=Limits(download_bytes=3 * len(layer))).files == 1
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/image", tmp_path / "dest", limits=Limits(download_bytes=3 * len(layer) - 1))
    assert caught.value.code == "limit-exceeded/download-bytes"
    assert [path.name for path in tmp_path.iterdir()] == ["enough"]


def test_a_verifier_that_judges_archives_only_is_not_passed_over(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=members_of()), verifiers=(FakeVerifier(gates=(Gate.BYTES,)),))
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/directory", tmp_path / "dest")
    assert caught.value.code == "verification"
    assert "watchman" in caught.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_one_layer_many_times_allows_no_more_to_be_unpacked(tmp_path: Path) -> None:
    """The ratio is of what came, and it came once."""
    layer = gzip.compress(tar_of({"f": bytes(80 << 20)}))
    many = Layers(blobs=tuple(Blob(chunks=(layer,), format="tar.gz") for _ in range(20)))
    client = client_with(FakeGetter(answer=lambda *_: many))
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/image", tmp_path / "dest")
    assert caught.value.code == "limit-exceeded/ratio"
    assert list(tmp_path.iterdir()) == []
