"""The way of one package, shown with a fake getter that uses every port."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, GetModulesError, Installed, Kind, Limits, Members, Phase, UnsafeContentError, Want
from getmodules.api.model import Request
from getmodules.api.ports import Progress
from getmodules.pipeline.gates import of_expectation
from getmodules.pipeline.install import install, install_each
from getmodules.pipeline.operation import Operation
from tests.support.fakes import (
    FILES,
    SUB_H1,
    ZIP,
    ZIP_H1,
    ZIP_SHA256,
    FakeGetter,
    Recorder,
    a_pin,
    blob,
    client_with,
    installed_files,
    member,
    members_of,
)


def test_a_blob_is_spooled_unpacked_and_pinned_by_its_digest(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)))
    installed = client.get("fake://h/package.zip?version=1", tmp_path / "dest")

    assert installed_files(tmp_path / "dest") == FILES
    assert installed.pinned == f"fake://h/package.zip?version=1&checksum=sha256:{ZIP_SHA256}"
    assert installed.id == f"sha256:{ZIP_SHA256}"
    assert installed.digests == {"archive": f"sha256:{ZIP_SHA256}"}
    assert (installed.h1, installed.package_h1) == (ZIP_H1, ZIP_H1)
    assert (installed.files, installed.bytes) == (4, sum(map(len, FILES.values())))
    assert [entry.name for entry in tmp_path.iterdir()] == ["dest"]


def test_members_are_written_as_they_come(tmp_path: Path) -> None:
    getter = FakeGetter(answer=members_of(), pin=a_pin("commit-1", proof=b"proof", commit="c1", tree="t1"))
    installed = client_with(getter).get("fake://h/repository", tmp_path / "dest")

    assert installed_files(tmp_path / "dest") == FILES
    assert (installed.pinned, installed.id) == ("fake://h/repository", "commit-1")
    assert installed.digests == {"commit": "c1", "tree": "t1"}
    assert getter.asked == [
        ("resolve", "fake://h/repository"),
        ("fetch", "fake://h/repository", ("",), b"proof"),
    ]


def test_members_without_an_identity_have_the_h1_as_their_id_and_no_pin(tmp_path: Path) -> None:
    installed = client_with(FakeGetter(answer=members_of())).get("fake://h/directory", tmp_path / "dest")
    assert (installed.pinned, installed.id, installed.digests) == (None, ZIP_H1, {})


def test_a_subdirectory_becomes_the_destination(tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    installed = client_with(getter).get("fake://h/package.zip//sub", tmp_path / "dest")
    assert installed_files(tmp_path / "dest") == {"a.tf": b"# a\n", "deep/b.tf": b"# b\n"}
    assert (installed.h1, installed.package_h1) == (SUB_H1, None)
    assert getter.asked[-1][2] == ("sub",)


def test_a_glob_that_matches_one_directory_is_taken(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)))
    assert client.get("fake://h/package.zip//s*", tmp_path / "dest").h1 == SUB_H1


def test_one_package_serves_many_wants_with_one_fetch(tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    client = client_with(getter)
    package = client.detect("fake://h/package.zip").package
    wants = (Want(subdir="", dest=tmp_path / "all"), Want(subdir="sub", dest=tmp_path / "part"))
    operation = Operation(catalog=client.catalog, limits=Limits(), progress=Progress())
    whole, part = install(Request(package=package, wants=wants), operation)

    assert (whole.h1, part.h1) == (ZIP_H1, SUB_H1)
    assert (whole.package_h1, part.package_h1) == (ZIP_H1, ZIP_H1)
    assert installed_files(tmp_path / "part") == {"a.tf": b"# a\n", "deep/b.tf": b"# b\n"}
    assert [asked[0] for asked in getter.asked] == ["resolve", "fetch"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["all", "part"]


@pytest.mark.parametrize(
    ("bad", "code", "fetches"),
    [
        pytest.param({"subdir": "sub", "demands": of_expectation(ZIP_H1)}, "digest-mismatch", 1, id="its tree"),
        pytest.param({"subdir": "", "dest": "taken"}, "destination-exists", 1, id="its destination"),
        pytest.param({"subdir": "nowhere"}, "subdirectory-not-found", 5, id="its subdirectory"),
    ],
)
def test_what_is_wrong_with_one_want_is_no_others_fault(
    tmp_path: Path, bad: dict[str, Any], code: str, fetches: int
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").touch()
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    client = client_with(getter)
    package = client.detect("fake://h/package.zip").package
    wants = (
        Want(subdir="sub", dest=tmp_path / "a"),
        Want(**{**bad, "dest": tmp_path / bad.get("dest", "b")}),
        Want(subdir="", dest=tmp_path / "c"),
        Want(subdir="sub/deep", dest=tmp_path / "d"),
    )
    operation = Operation(catalog=client.catalog, limits=Limits(), progress=Progress())
    request = Request(package=package, wants=wants)
    with operation.private.removed_at_end():
        first, failed, third, fourth = install_each(request, operation)
    assert isinstance(failed, GetModulesError)
    assert (failed.code, failed.address) == (code, "fake://h/package.zip")
    assert [each.h1 for each in (first, third) if isinstance(each, Installed)] == [SUB_H1, ZIP_H1]
    assert isinstance(fourth, Installed)
    assert [asked[0] for asked in getter.asked].count("fetch") == fetches
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "c", "d", "taken"]
    assert os.listdir(tmp_path / "taken") == ["mine"]


def test_what_is_wrong_with_the_package_is_everybodys(tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP[:-30]))
    client = client_with(getter)
    wants = tuple(Want(subdir="sub", dest=tmp_path / name) for name in "abcdefgh")
    operation = Operation(catalog=client.catalog, limits=Limits(), progress=Progress())
    request = Request(package=client.detect("fake://h/package.zip").package, wants=wants)
    with operation.private.removed_at_end(), pytest.raises(GetModulesError) as caught:
        install_each(request, operation)
    assert caught.value.code == "corrupt-archive"
    assert [asked[0] for asked in getter.asked].count("fetch") == 1
    assert list(tmp_path.iterdir()) == []


def test_who_needs_all_of_them_gets_the_first_failure(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)))
    wants = (Want(subdir="", dest=tmp_path / "a"), Want(subdir="", dest=tmp_path / "b", demands=of_expectation(SUB_H1)))
    operation = Operation(catalog=client.catalog, limits=Limits(), progress=Progress())
    with pytest.raises(GetModulesError) as caught:
        install(Request(package=client.detect("fake://h/package.zip").package, wants=wants), operation)
    assert caught.value.code == "digest-mismatch"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_phases_come_in_the_order_of_the_design(tmp_path: Path) -> None:
    recorder = Recorder()
    client_with(FakeGetter(answer=lambda *_: blob(ZIP, size=len(ZIP))), progress=recorder).get(
        "fake://h/package.zip", tmp_path / "dest"
    )
    assert list(dict.fromkeys(recorder.phases)) == [
        Phase.RESOLVING,
        Phase.DOWNLOADING,
        Phase.VERIFYING,
        Phase.UNPACKING,
        Phase.INSTALLING,
    ]
    assert ("phase", Phase.DOWNLOADING, len(ZIP)) in recorder.events
    assert ("advance", len(ZIP)) in recorder.events
    assert recorder.events[-1] == ("finished", "fake://h/package.zip", None)


@pytest.mark.parametrize(
    ("subdir", "code"),
    [
        pytest.param("nowhere", "subdirectory-not-found", id="not there"),
        pytest.param("main.tf", "subdirectory-not-found/not-a-directory", id="a file"),
        pytest.param("*", "subdirectory-not-found/ambiguous-glob", id="a glob with many matches"),
        pytest.param("x*", "subdirectory-not-found", id="a glob without a match"),
    ],
)
def test_a_subdirectory_that_cannot_be_installed(tmp_path: Path, subdir: str, code: str) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)))
    with pytest.raises(GetModulesError) as caught:
        client.get(f"fake://h/p.zip//{subdir}", tmp_path / "dest")
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.PUBLISHING])
@pytest.mark.parametrize("error", [RuntimeError("enough"), KeyboardInterrupt()], ids=["exception", "interrupt"])
def test_an_exception_in_progress_cancels_and_leaves_nothing(
    tmp_path: Path, phase: Phase, error: BaseException
) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)), progress=Recorder(stop_at=phase, error=error))
    with pytest.raises(type(error)):
        client.get("fake://h/p.zip", tmp_path / "dest")
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_operation_makes_no_more_places(tmp_path: Path) -> None:
    """Of a package with thousands of modules, that alone takes seconds."""
    cancelled = threading.Event()
    cancelled.set()
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    client = client_with(getter)
    operation = Operation(catalog=client.catalog, limits=Limits(), progress=Progress(), cancelled=cancelled)
    request = Request(
        package=client.detect("fake://h/p.zip").package, wants=(Want(subdir="", dest=tmp_path / "a" / "d"),)
    )
    with pytest.raises(GetModulesError) as caught:
        install(request, operation)
    assert (caught.value.code, getter.asked) == ("install/cancelled", [])
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_operation_stops_at_the_next_piece(tmp_path: Path) -> None:
    cancelled = threading.Event()

    def slow(*_: Any) -> Blob:
        def chunks() -> Iterator[bytes]:
            yield ZIP[:10]
            cancelled.set()
            yield ZIP[10:]

        return Blob(chunks=chunks(), name="p.zip")

    client = client_with(FakeGetter(answer=slow))
    operation = Operation(catalog=client.catalog, limits=Limits(), progress=Progress(), cancelled=cancelled)
    request = Request(package=client.detect("fake://h/p.zip").package, wants=(Want(subdir="", dest=tmp_path / "d"),))
    with pytest.raises(GetModulesError) as caught:
        install(request, operation)
    assert caught.value.code == "install/cancelled"
    assert list(tmp_path.iterdir()) == []


def test_a_link_member_is_checked_like_any_other(tmp_path: Path) -> None:
    inside = Members((member("a/f", b"x"), member("l", kind=Kind.SYMLINK, target="a/f")))
    client_with(FakeGetter(answer=inside)).get("fake://h/x", tmp_path / "dest")
    assert (tmp_path / "dest" / "l").read_bytes() == b"x"
    outside = Members((member("l", kind=Kind.SYMLINK, target="../../etc/passwd"),))
    with pytest.raises(UnsafeContentError) as caught:
        client_with(FakeGetter(answer=outside)).get("fake://h/x", tmp_path / "other")
    assert caught.value.code == "unsafe-content/link-escapes"
    assert [entry.name for entry in tmp_path.iterdir()] == ["dest"]
