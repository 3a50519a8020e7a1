from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.files.durable import new_file, replace_file, sync_directory


class Calls:
    """What was brought to the disk, and what was renamed, in that order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[str, object]] = []
        fsync, replace = os.fsync, os.replace

        def synced(descriptor: int) -> None:
            status = os.fstat(descriptor)
            self.seen.append(("sync", (status.st_ino, status.st_size if stat.S_ISREG(status.st_mode) else None)))
            fsync(descriptor)

        def replaced(fresh: Path, target: Path) -> None:
            self.seen.append(("replace", target.name))
            replace(fresh, target)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "replace", replaced)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def test_a_file_is_on_the_disk_with_all_that_was_written(tmp_path: Path, calls: Calls) -> None:
    with new_file(tmp_path / "new") as stream:
        stream.write(b"some\n")
        stream.write(b"more\r\n")
        assert calls.seen == []
    assert (tmp_path / "new").read_bytes() == b"some\nmore\r\n"
    assert calls.seen == [("sync", ((tmp_path / "new").stat().st_ino, 11))]
    assert stream.closed


@pytest.mark.skipif(os.name == "nt", reason="no modes here")
def test_its_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with new_file(tmp_path / "usual"), new_file(tmp_path / "private", 0o600):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "usual").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def _file(path: Path) -> None:
    path.write_text("old")


def _link(path: Path) -> None:
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("there", [_file, _link, Path.mkdir], ids=["a file", "a link to nowhere", "a directory"])
def test_what_is_there_already_stays(there: Callable[[Path], None], tmp_path: Path) -> None:
    there(tmp_path / "new")
    before = os.lstat(tmp_path / "new")
    with pytest.raises(FileExistsError), new_file(tmp_path / "new"):
        pytest.fail("it was opened")
    assert os.path.samestat(before, os.lstat(tmp_path / "new"))
    assert os.listdir(tmp_path) == ["new"]


def test_an_error_while_it_is_written_is_told(tmp_path: Path, calls: Calls) -> None:
    with pytest.raises(ValueError, match="mine"), new_file(tmp_path / "new") as stream:
        raise ValueError("mine")
    assert stream.closed
    assert calls.seen == []


def test_a_file_gets_its_name_for_good(tmp_path: Path, calls: Calls) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/fresh").write_text("new")
    (tmp_path / "target").write_text("old")
    replace_file(tmp_path / "private/fresh", tmp_path / "target")
    assert (tmp_path / "target").read_text() == "new"
    assert os.listdir(tmp_path / "private") == []
    synced = [] if os.name == "nt" else [("sync", (tmp_path.stat().st_ino, None))]
    assert calls.seen == [("replace", "target"), *synced]


def _failing(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)


def test_a_file_system_that_syncs_no_directories_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fresh").write_text("new")
    _failing(monkeypatch, errno.EINVAL)
    replace_file(tmp_path / "fresh", tmp_path / "target")
    assert os.listdir(tmp_path) == ["target"]


@pytest.mark.skipif(os.name == "nt", reason="directories are not synced there")
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_directory_that_cannot_be_synced(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _failing(monkeypatch, number)
    with pytest.raises(OSError, match=os.strerror(number)):
        sync_directory(tmp_path)


def test_a_file_that_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _failing(monkeypatch, errno.EINVAL)
    with pytest.raises(OSError, match=os.strerror(errno.EINVAL)), new_file(tmp_path / "new"):
        pass


@pytest.mark.skipif(os.name == "nt", reason="directories are not opened there")
def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync_directory(tmp_path / "nowhere")
