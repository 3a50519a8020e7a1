"""Zips that depend on their tree alone, and that every reader takes for the same."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from getmodules.api.limits import Limits
from getmodules.api.model import Archive, Kind, Member
from getmodules.api.ports import Context
from getmodules.archive.directory import walk
from getmodules.archive.zip import read_zip
from getmodules.errors import (
    FetchError,
    GetModulesError,
    InstallError,
    LimitExceededError,
    UnsafeContentError,
    UnsupportedContentError,
)
from getmodules.getters.oci import pack as packing
from getmodules.getters.oci.pack import Packed, pack
from tests.support.contexts import a_context
from tests.support.refusals import refusal


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "main.tf").write_text("# main\n")
    (root / "sub" / "a.tf").write_text("# a\n")
    (root / "sub-b.tf").write_text("# b\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o700)
    (root / "größe.tf").write_text("ü")
    return root


def packed(tree: Path, target: Path, context: Context) -> Packed:
    return pack([m for m in walk(tree) if m.kind is not Kind.DIRECTORY], target, context)


def test_what_is_in_it(tree: Path, tmp_path: Path, context: Context) -> None:
    result = packed(tree, tmp_path / "x.zip", context)
    data = (tmp_path / "x.zip").read_bytes()
    assert (result.size, result.digest.hex) == (len(data), hashlib.sha256(data).hexdigest())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names == sorted(names, key=lambda name: name.encode())
        assert names == ["größe.tf", "main.tf", "run.sh", "sub-b.tf", "sub/a.tf"]
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
        assert modes["run.sh"] == 0o100755
        assert set(modes.values()) == {0o100755, 0o100644}
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_the_bytes_are_these_for_ever(tmp_path: Path, context: Context) -> None:
    """Another digest here means that every published package would get a new one: that is a new major version."""
    files = [
        Member("main.tf", Kind.FILE, 7, open=lambda: (b"# main\n",)),
        Member("bin/run.sh", Kind.FILE, 10, True, lambda: (b"#!/bin/", b"sh\n")),
    ]
    result = pack(files, tmp_path / "x.zip", context)
    assert result.digest.hex == "65fdc85991b77fb287c62be8fdc7d36e5c5b72dddccc1055f796d46faccb34f4"


def test_times_owners_umask_and_order_change_nothing(tree: Path, tmp_path: Path, context: Context) -> None:
    first = packed(tree, tmp_path / "1.zip", context)
    os.utime(tree / "main.tf", (1, 1))
    (tree / "main.tf").chmod(0o606)
    (tree / "run.sh").chmod(0o511)
    members = [m for m in walk(tree) if m.kind is not Kind.DIRECTORY]
    second = pack(reversed(members), tmp_path / "2.zip", context)
    assert first.digest == second.digest


def test_a_link_to_a_file_becomes_its_copy(tree: Path, tmp_path: Path, context: Context) -> None:
    (tree / "sub" / "link.sh").symlink_to("../run.sh")
    (tree / "chain").symlink_to("sub/link.sh")
    packed(tree, tmp_path / "x.zip", context)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        for name in ("sub/link.sh", "chain"):
            assert archive.read(name) == b"#!/bin/sh\n"
            assert archive.getinfo(name).external_attr >> 16 == 0o100755


LINKS = [
    pytest.param("sub", UnsupportedContentError, "unsupported-content", id="to-a-directory"),
    pytest.param(".", UnsupportedContentError, "unsupported-content", id="to-the-top"),
    pytest.param("../outside", UnsafeContentError, "unsafe-content/link-escapes", id="out"),
    pytest.param("/etc/passwd", UnsafeContentError, "unsafe-content/link-escapes", id="absolute"),
    pytest.param("nothing", UnsafeContentError, "unsafe-content/link-dangling", id="nowhere"),
    pytest.param("link", UnsafeContentError, "unsafe-content/link-loop", id="circle"),
]


@pytest.mark.parametrize(("target", "kind", "code"), LINKS)
def test_other_links_are_refused(
    tree: Path, tmp_path: Path, context: Context, target: str, kind: type[GetModulesError], code: str
) -> None:
    (tmp_path / "outside").write_text("secret")
    (tree / "link").symlink_to(target)
    refusal(kind, code, packed, tree, tmp_path / "x.zip", context)
    assert not (tmp_path / "x.zip").exists()


def test_a_fifo_is_refused(tree: Path, tmp_path: Path, context: Context) -> None:
    os.mkfifo(tree / "fifo")
    refusal(UnsafeContentError, "unsafe-content/special-file", packed, tree, tmp_path / "x.zip", context)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        pytest.param(["a\\b"], "unsafe-content/bad-name", id="backslash"),
        pytest.param(["a\nb"], "unsafe-content/bad-name", id="control"),
        pytest.param(["a\udcff"], "unsafe-content/bad-name", id="not-utf-8"),
        pytest.param(["A.tf", "a.tf"], "unsafe-content/case-collision", id="case"),
        pytest.param([".GIT/config"], "unsafe-content/dot-git", id="a spelling of .git"),
        pytest.param(["x/HEAD", "x/objects/a", "x/refs/b"], "unsafe-content/dot-git", id="a repository"),
    ],
)
def test_names_that_could_not_be_installed_are_refused(
    tmp_path: Path, context: Context, names: list[str], code: str
) -> None:
    members = [Member(name, Kind.FILE, 0) for name in names]
    refusal(UnsafeContentError, code, pack, members, tmp_path / "x.zip", context)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param(Limits(entries=5), "limit-exceeded/entries", id="entries-with-directories"),
        pytest.param(Limits(file_bytes=5), "limit-exceeded/file-bytes", id="file"),
        pytest.param(Limits(total_bytes=20), "limit-exceeded/total-bytes", id="total"),
        pytest.param(Limits(path_bytes=6), "limit-exceeded/path-bytes", id="path"),
        pytest.param(Limits(depth=1), "limit-exceeded/depth", id="depth"),
        pytest.param(Limits(download_bytes=100), "limit-exceeded/download-bytes", id="zip"),
    ],
)
def test_limits_are_those_of_reading(tree: Path, tmp_path: Path, limits: Limits, code: str) -> None:
    refusal(LimitExceededError, code, packed, tree, tmp_path / "x.zip", a_context(tmp_path, limits=limits))
    packed(tree, tmp_path / "y.zip", a_context(tmp_path, limits=Limits(entries=6)))


def test_nothing_to_publish(tmp_path: Path, context: Context) -> None:
    error = refusal(UnsupportedContentError, "unsupported-content", pack, [], tmp_path / "x.zip", context)
    assert ".getmodulesignore" in str(error.hint)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the disk that is always full is Linux's")
def test_a_full_place_for_temporary_files(tree: Path, tmp_path: Path, context: Context) -> None:
    class Full(type(tmp_path)):  # type: ignore[misc]
        def open(self, *_: object) -> Any:
            return open("/dev/full", "wb", buffering=0)

    error = refusal(InstallError, "install/no-space", packed, tree, Full(tmp_path / "x.zip"), context)
    assert f"{tmp_path}/x.zip" in error.message
    assert "TMPDIR" in str(error.hint)


def test_a_file_that_grows_meanwhile_is_noticed(tree: Path, tmp_path: Path, context: Context) -> None:
    members = [m for m in walk(tree) if m.kind is not Kind.DIRECTORY]
    (tree / "main.tf").write_text("# longer than before\n")
    refusal(FetchError, "fetch/changed", pack, members, tmp_path / "x.zip", context)


def test_zip64(tmp_path: Path, context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where 32 bits end is a constant of the format; here it is moved down, and a real reader has the last word."""
    monkeypatch.setattr(packing, "_MOST16", 3)
    members = [Member(f"{n}.tf", Kind.FILE, 1, open=lambda: (b"x",)) for n in range(5)]
    pack(members, tmp_path / "x.zip", context)
    data = (tmp_path / "x.zip").read_bytes()
    # What is written is 3 where the format wants 0xFFFF: put right, it is an ordinary zip64.
    end = data.rindex(b"PK\5\6")
    data = data[: end + 8] + b"\xff\xff\xff\xff" + data[end + 12 :]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) == 5
    (tmp_path / "y.zip").write_bytes(data)
    archived = Archive(path=tmp_path / "y.zip", size=len(data), digests={})
    assert len(list(read_zip(archived, context))) == 5


@pytest.mark.slow
def test_more_than_65535_files(tmp_path: Path, context: Context) -> None:
    members = [Member(f"{n}", Kind.FILE, 0) for n in range(65_536)]
    pack(members, tmp_path / "x.zip", context)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert len(archive.namelist()) == 65_536
    archived = Archive(path=tmp_path / "x.zip", size=(tmp_path / "x.zip").stat().st_size, digests={})
    assert sum(1 for _ in read_zip(archived, context)) == 65_536


names = st.lists(
    st.text("ab.é-_ 1", min_size=1, max_size=5).filter(lambda s: s.strip(". ") == s), min_size=1, max_size=3
)


@given(
    files=st.dictionaries(
        names.map(lambda parts: f"{len(parts)}/" + "/".join(parts)), st.binary(max_size=300), min_size=1, max_size=8
    )
)
def test_our_own_reader_reads_all_of_it(files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("pack")
    context = a_context(tmp_path)
    members = [Member(name, Kind.FILE, len(data), open=lambda data=data: (data,)) for name, data in files.items()]
    try:
        result = pack(members, tmp_path / "x.zip", context)
    except UnsafeContentError:  # a file that is also a directory, names that differ in accents only
        return
    archived = Archive(path=result.path, size=result.size, digests={})
    assert {m.name: b"".join(m.open()) for m in read_zip(archived, context)} == files
