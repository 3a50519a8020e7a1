"""Bytes by their digest."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules import Digest
from getmodules.api.model import FEW_BYTES
from getmodules.cache.blobs import Blobs
from getmodules.files.locking import FileLock, try_lock
from tests.support.processes import bind_mount, in_mount_namespace
from tests.support.snapshots import snapshot
from tests.support.stores import a_home, damage, keep, path_of

CONTENT = b"content " * 1000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return a_home(tmp_path / "store").root


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_a_blob_is_what_it_is_called(root: Path, algorithm: str) -> None:
    digest = keep(root, CONTENT, algorithm)
    held = Blobs(root).open(digest, ["sha256", "md5"])
    assert held is not None
    assert (held.path, held.size) == (path_of(root, digest), len(CONTENT))
    assert held.digests == {name: Digest.of(CONTENT, name) for name in {algorithm, "sha256", "md5"}}
    assert os.pread(held.descriptor, len(CONTENT), 0) == CONTENT
    os.close(held.descriptor)
    assert list(Blobs(root).all()) == [digest]


@pytest.mark.parametrize("more", [0, 1], ids=["few bytes", "many"])
def test_few_bytes_are_held_as_they_were_hashed(root: Path, more: int) -> None:
    content = CONTENT * (FEW_BYTES // len(CONTENT)) + b"x" * (FEW_BYTES % len(CONTENT) + more)
    digest = keep(root, content)
    held = Blobs(root).open(digest)
    assert held is not None
    os.close(held.descriptor)
    assert (held.size, held.content) == (FEW_BYTES + more, None if more else content)


def test_what_is_not_there(root: Path) -> None:
    blobs = Blobs(root)
    assert blobs.open(Digest.of(b"")) is None
    assert blobs.damaged == []


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(damage, id="a bit"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(CONTENT[:-1]), id="cut short"),
        pytest.param(lambda path: path.write_bytes(CONTENT + b"x"), id="too long"),
    ],
)
def test_a_damaged_one_is_dropped_and_told(
    root: Path, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    digest = keep(root, CONTENT)
    harm(path_of(root, digest))
    blobs = Blobs(root)
    assert blobs.open(digest) is None
    assert blobs.damaged == [digest]
    assert f"copy of {digest} is of no use, and was dropped: damaged" in caplog.text
    assert not path_of(root, digest).exists()


def test_a_damaged_one_that_cannot_be_dropped(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    digest = keep(root, CONTENT)
    damage(path_of(root, digest))

    def read_only() -> None:
        bind_mount(root, root, read_only=True)
        assert Blobs(root).open(digest) is None
        assert f"copy of {digest} is of no use, and stays, since it cannot be removed: damaged" in caplog.text

    in_mount_namespace(read_only)
    assert path_of(root, digest).exists()


def test_one_that_was_replaced_meanwhile_is_not_dropped(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = keep(root, CONTENT)
    path = path_of(root, digest)
    damage(path)
    real = os.fstat

    def better_by_now(descriptor: int) -> os.stat_result:
        if path.read_bytes() != CONTENT:
            (root / "fresh").write_bytes(CONTENT)
            os.replace(root / "fresh", path)
        return real(descriptor)

    blobs = Blobs(root)
    monkeypatch.setattr("getmodules.cache.blobs._hashed", lambda *_: (0, {"sha256": Digest.of(b"damaged")}))
    monkeypatch.setattr(os, "fstat", better_by_now)
    assert blobs.open(digest) is None
    monkeypatch.undo()
    assert path.read_bytes() == CONTENT


def test_a_disk_that_cannot_read_it_has_lost_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = keep(root, CONTENT)

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("getmodules.cache.blobs._hashed", broken)
    blobs = Blobs(root)
    assert blobs.open(digest) is None
    assert blobs.damaged == [digest]
    assert not path_of(root, digest).exists()


@pytest.mark.parametrize("where", ["blobs", "blobs/sha256", "the prefix", "the blob"])
def test_no_link_is_followed(root: Path, tmp_path: Path, where: str) -> None:
    digest = keep(root, CONTENT)
    path = path_of(root, digest)
    place = {"the prefix": path.parent, "the blob": path}.get(where, root / where)
    place.rename(tmp_path / "outside")
    place.symlink_to(tmp_path / "outside")
    before = snapshot(tmp_path)
    blobs = Blobs(root)
    assert blobs.open(digest) is None
    assert list(blobs.all()) == ([digest] if where == "the blob" else [])
    if where != "the blob":
        (root / "fresh").touch()
        with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
            blobs.keep(root / "fresh", digest)
        (root / "fresh").unlink()
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_what_is_no_file_is_not_waited_for(root: Path, make: Callable[[Path], None]) -> None:
    digest = keep(root, CONTENT)
    path_of(root, digest).unlink()
    make(path_of(root, digest))
    assert Blobs(root).open(digest) is None


def test_one_that_is_being_removed_is_not_there(root: Path) -> None:
    digest = keep(root, CONTENT)
    descriptor = os.open(path_of(root, digest), os.O_RDONLY)
    assert try_lock(descriptor) is FileLock.HELD
    assert Blobs(root).open(digest) is None
    os.close(descriptor)
    assert Blobs(root).open(digest) is not None


def test_strangers_among_the_blobs_are_no_blobs(root: Path) -> None:
    digest = keep(root, CONTENT)
    (root / "blobs" / "sha256" / digest.hex[:2] / "README").touch()
    (root / "blobs" / "sha256" / "zz").mkdir()
    (root / "blobs" / "sha256" / "zz" / digest.hex).touch()
    (root / "blobs" / "sha256" / "file").touch()
    assert list(Blobs(root).all()) == [digest]


def test_what_is_used_is_the_youngest(root: Path) -> None:
    digest = keep(root, CONTENT)
    os.utime(path_of(root, digest), (1, 1))
    held = Blobs(root).open(digest)
    assert held is not None
    os.close(held.descriptor)
    assert path_of(root, digest).stat().st_mtime > 1
