"""The cache as one run uses it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from getmodules import Digest, InstallError, OfflineError
from getmodules.api.model import Archive
from getmodules.cache.location import CacheLocation
from getmodules.cache.records import PinRecord, RefRecord
from getmodules.cache.session import CacheSession, WriteTrouble
from getmodules.cache.upkeep import clean
from getmodules.files.private import PrivateDirectories
from tests.support.contexts import a_context
from tests.support.fakes import Recorder
from tests.support.processes import as_each_user, in_mount_namespace, mount_tmpfs
from tests.support.snapshots import snapshot
from tests.support.stores import a_home, a_session, blobs_of, damage, keep, nothing_half, path_of

CONTENT = b"content " * 1000
DIGEST = Digest.of(CONTENT)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


def arrived(session: CacheSession, content: bytes = CONTENT) -> Archive:
    arriving = session.download_file("download")
    arriving.write(content)
    return Archive(path=arriving.path, size=len(content), digests={"sha256": DIGEST}, descriptor=arriving.complete())


def content(archive: Archive) -> bytes:
    with archive.open() as file:
        return file.read()


def test_what_arrived_is_kept_and_comes_back(root: Path, tmp_path: Path) -> None:
    with a_session(root) as session:
        archive = arrived(session)
        assert archive.path.is_relative_to(root / "ingest")
        kept = session.keep(archive, DIGEST)
        assert kept.path == path_of(root, DIGEST)
        assert content(kept) == CONTENT
    with a_session(root) as session:
        held = session.find(DIGEST, ["sha512"])
        assert held is not None
        assert content(held) == CONTENT
        assert held.digests["sha512"] == Digest.of(CONTENT, "sha512")
    nothing_half(root)
    assert not (tmp_path / "download").exists()


def test_what_was_not_kept_goes(root: Path, tmp_path: Path) -> None:
    with a_session(root) as session:
        arrived(session)
    assert blobs_of(root) == []
    nothing_half(root)


def test_nobody_looks_in_meanwhile(root: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with a_session(root) as session:
            archive = arrived(session)
            assert archive.path.stat().st_mode & 0o777 == 0o600
            assert archive.path.parent.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_without_a_store_everything_goes_on(tmp_path: Path) -> None:
    with CacheSession(None, PrivateDirectories(), lambda name: tmp_path / name) as session:
        archive = session.keep(arrived(session), DIGEST)
        assert archive.path == tmp_path / "download"
        assert session.find(DIGEST) is None
        session.keep_bytes(CONTENT, DIGEST)
        session.keep_pin("a", PinRecord(id="x"))
        session.keep_ref("a", RefRecord(address="b", time=1))
        assert (session.pin("a"), session.ref("a")) == (None, None)
        assert session.small_blob(DIGEST, lambda: CONTENT) == CONTENT
        with (
            session.locked("a", a_context()),
            session.locked("a", a_context()),
            session.workshop("a", a_context()) as directory,
        ):
            assert directory.parent == tmp_path
        session.sync(tmp_path)
        directory.rmdir()
    assert os.listdir(tmp_path) == ["download"]


def test_kept_brings_once(root: Path) -> None:
    brought: list[bytes] = []

    def bring() -> bytes:
        brought.append(CONTENT)
        return CONTENT

    for _ in range(2):
        with a_session(root) as session:
            assert session.small_blob(DIGEST, bring) == CONTENT
    assert len(brought) == 1


def test_kept_does_not_keep_what_is_something_else(root: Path) -> None:
    with a_session(root) as session:
        assert session.small_blob(DIGEST, lambda: b"other") == b"other"
    assert blobs_of(root) == []


def test_a_store_that_is_full_is_left_in_the_middle_of_a_download(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def full() -> None:
        root.mkdir()
        mount_tmpfs(root, "size=1m,mode=700")
        with a_session(root) as session:
            arriving = session.download_file("download")
            pieces = [bytes([number]) * 300_000 for number in range(10)]
            for piece in pieces:
                arriving.write(piece)
            assert arriving.path == tmp_path / "download"
            archive = Archive(path=arriving.path, size=3_000_000, digests={}, descriptor=arriving.complete())
            assert content(archive) == b"".join(pieces)
            assert session.keep(archive, DIGEST) == archive
            session.keep_bytes(CONTENT, DIGEST)
            assert [len(files) for _, _, files in os.walk(root / "ingest")] == [0, 1]  # its lock
        nothing_half(root)
        assert blobs_of(root) == []
        assert caplog.text.count("going on without") == 1

    in_mount_namespace(full)


@as_each_user
def test_one_that_cannot_be_written_to_is_read_only(place: Path) -> None:
    root = place / "store"
    keep(root, CONTENT)
    for path in (root, *root.rglob("*")):
        if path.is_dir():
            path.chmod(0o500)
    if os.geteuid() == 0:
        return  # nothing is closed to root here; a read-only mount is tested elsewhere
    before = snapshot(root)
    with a_session(root) as session:
        assert session.find(DIGEST) is not None
        assert arrived(session).path == place / "download"
        session.keep_pin("a", PinRecord(id="x"))
        with session.locked("a", a_context()), session.workshop("a", a_context()) as directory:
            assert directory.parent == place
    assert snapshot(root) == before


def test_trouble_is_told_once_in_an_operation(root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    home, trouble = a_home(root), WriteTrouble()
    (root / "ingest").symlink_to(tmp_path)
    for number in range(3):
        with CacheSession(
            home, PrivateDirectories(), lambda _, spare=tmp_path / f"spare-{number}": spare, trouble
        ) as session:
            assert arrived(session).path == tmp_path / f"spare-{number}"
    assert caplog.text.count("going on without") == 1
    assert sorted(os.listdir(tmp_path)) == ["spare-0", "spare-1", "spare-2", "store"]


def test_the_cache_may_be_removed_at_any_moment(root: Path, tmp_path: Path) -> None:
    """``rm -rf`` while a package arrives, is kept and is read: what is here already is enough to go on."""
    with a_session(root) as session:
        archive = arrived(session)
        shutil.rmtree(root)
        assert content(session.keep(archive, DIGEST)) == CONTENT
        session.keep_pin("a", PinRecord(id="x"))
    keep(root, CONTENT)
    with a_session(root) as session:
        held = session.find(DIGEST)
        assert held is not None
        shutil.rmtree(root)
        assert content(held) == CONTENT


def test_what_is_in_use_is_not_cleaned_away(root: Path, tmp_path: Path) -> None:
    keep(root, b"other")
    with a_session(root) as session:
        kept = session.keep(arrived(session), DIGEST)
        assert session.find(Digest.of(b"other")) is not None
        assert clean(a_home(root)).removed == 0
        assert kept.path.exists()
    assert clean(a_home(root)).removed == 2
    assert blobs_of(root) == []


def test_offline_a_damaged_blob_is_named(root: Path) -> None:
    digest = keep(root, CONTENT)
    damage(path_of(root, digest))
    with a_session(root) as session:
        assert "is not in the cache" in session.missing("oci://h/x").message
        assert session.find(digest) is None
        error = session.missing("oci://h/x")
    assert type(error) is OfflineError
    assert str(digest) in error.message
    assert "damaged" in error.message


def test_a_waiter_says_so_and_hears_a_stop(root: Path) -> None:
    recorder = Recorder()
    context = a_context(progress=recorder)
    with a_session(root) as session, session.locked("key", a_context()):
        context.cancelled.set()
        with pytest.raises(InstallError) as caught, session.locked("key", context):
            pass
    assert caught.value.code == "install/cancelled"
    assert recorder.events == [("notice", "waiting for somebody else who fetches the same, or from the same place")]
    nothing_half(root)


def test_a_room_stays(root: Path) -> None:
    with a_session(root) as session:
        with session.workshop("https://u:s3cr3t@h/r", a_context()) as directory:
            assert directory.is_relative_to(root)
            (directory / "object").touch()
        assert "s3cr3t" not in directory.name
        with session.workshop("other", a_context()) as other:
            assert other != directory
    with a_session(root) as session, session.workshop("https://u:s3cr3t@h/r", a_context()) as again:
        assert again == directory
        assert os.listdir(again) == ["object"]
    nothing_half(root)


def test_what_a_room_of_a_read_only_store_has_is_copied(root: Path, tmp_path: Path) -> None:
    with a_session(root) as session, session.workshop("key", a_context()) as directory:
        assert directory.is_relative_to(root)  # it can be worked in itself
        (directory / "object").write_text("kept")
        (directory / "link").symlink_to("/etc/passwd")
    read_only = CacheLocation(root=root, writable=False)
    with CacheSession(read_only, PrivateDirectories(), lambda name: tmp_path / name) as session:
        with session.workshop("other", a_context()) as directory:
            assert directory.parent == tmp_path
            assert os.listdir(directory) == []
        with session.workshop("key", a_context()) as directory:
            assert (directory / "object").read_text() == "kept"
            assert os.listdir(directory) == ["object"]  # and no link, which may lead anywhere
            (directory / "object").write_text("ours")
        with session.workshop("key", a_context()) as directory:
            assert (directory / "object").read_text() == "ours"
    with CacheSession(None, PrivateDirectories(), lambda name: tmp_path / "without" / name) as session:
        (tmp_path / "without").mkdir()
        with session.workshop("key", a_context()) as directory:
            assert os.listdir(directory) == []


@pytest.mark.parametrize("part", ["no-space", "denied"])
def test_a_room_that_is_full_is_not_offered_again(part: str, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    with a_session(root) as session:
        with pytest.raises(InstallError), session.workshop("key", a_context()):
            raise InstallError("git cannot write", part=part)
        with session.workshop("key", a_context()) as directory:
            assert directory.is_relative_to(root) is (part == "denied")
    assert caplog.text.count("going on without") == (part == "no-space")


@pytest.mark.parametrize("name", ["ingest", "locks", "workshops", "records", "blobs"])
def test_no_directory_of_it_is_a_link(root: Path, tmp_path: Path, name: str) -> None:
    a_home(root)
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / name).symlink_to(outside)
    with a_session(root) as session:
        session.keep(arrived(session), DIGEST)
        with session.locked("a", a_context()), session.workshop("b", a_context()):
            session.keep_pin("a", PinRecord(id="x"))
            session.keep_ref("a", RefRecord(address="b", time=1))
    assert os.listdir(outside) == []


def test_what_is_kept_elsewhere_is_brought_to_its_own_disk(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def sync(fd: int) -> None:
        synced.append(os.fstat(fd).st_dev)

    monkeypatch.setattr("getmodules.cache.session.sync_filesystem", sync)
    with a_session(root) as session:
        session.sync(Path("/proc"))
        assert synced == []  # nothing was kept
        session.keep_bytes(CONTENT, DIGEST)
        session.sync(tmp_path)
        assert synced == []  # publishing there syncs both
        session.sync(Path("/proc"))
        assert synced == [os.stat(root).st_dev]


def test_leftovers_of_dead_runs_are_swept(root: Path) -> None:
    left = a_home(root).root / "ingest" / ".getmodules-0123456789abcdef"
    left.mkdir(parents=True, mode=0o700)
    (left / "lock").touch()
    (left / "half").write_bytes(CONTENT)
    with a_session(root) as session:
        session.keep_bytes(CONTENT, DIGEST)
        assert not left.exists()
    nothing_half(root)


def test_a_store_without_room_for_one_more_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(root, CONTENT)

    def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with a_session(root) as session:
        monkeypatch.setattr("getmodules.files.private._check_descriptors", no_room)
        session.keep_bytes(b"more", Digest.of(b"more"))
        assert session.find(DIGEST) is not None
    assert len(blobs_of(root)) == 1
