"""A file for what arrives, and its second place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from getmodules.files import download_file as arriving
from getmodules.files.download_file import DownloadFile

PIECES = [bytes([number]) * 100_000 for number in range(5)]


class Broken:
    """``os.write`` that fails from a number of bytes on, for one directory; it writes what fits before."""

    def __init__(self, directory: Path, room: int, number: int = errno.ENOSPC) -> None:
        self.directory, self.room, self.number = directory, room, number
        self.write = os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        if not os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(self.directory)):
            return self.write(descriptor, data)
        if self.room == 0:
            raise OSError(self.number, os.strerror(self.number))
        written = self.write(descriptor, data[: self.room])
        self.room -= written
        return written


@pytest.fixture
def first(tmp_path: Path) -> Path:
    (tmp_path / "first").mkdir()
    return tmp_path / "first" / "file"


def read(descriptor: int | None) -> bytes:
    assert descriptor is not None
    return os.pread(descriptor, 1 << 20, 0)


def test_all_in_the_first_place(first: Path, tmp_path: Path) -> None:
    complaints: list[OSError] = []
    file = DownloadFile(lambda: tmp_path / "spare", lambda: first, complaints.append)
    for piece in PIECES:
        file.write(piece)
    assert read(file.complete()) == b"".join(PIECES)
    file.close()
    file.close()
    assert (file.path, complaints, os.listdir(tmp_path)) == (first, [], ["first"])


@pytest.mark.parametrize("room", [0, 1, 100_000, 250_000, 499_999])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_what_does_not_fit_goes_on_elsewhere(
    first: Path, tmp_path: Path, room: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arriving.os, "write", Broken(first.parent, room, number))
    complaints: list[OSError] = []
    file = DownloadFile(lambda: tmp_path / "spare", lambda: first, complaints.append)
    for piece in PIECES:
        file.write(piece)
    assert file.path == tmp_path / "spare"
    assert read(file.complete()) == b"".join(PIECES)
    file.close()
    assert [error.errno for error in complaints] == [number]
    assert not first.exists()


def test_where_the_first_place_cannot_be_had(tmp_path: Path) -> None:
    def nowhere() -> Path:
        raise OSError(errno.EROFS, "read-only")

    complaints: list[OSError] = []
    file = DownloadFile(lambda: tmp_path / "spare", nowhere, complaints.append)
    file.write(b"x")
    assert (file.path, len(complaints)) == (tmp_path / "spare", 1)
    file.close()


def test_where_neither_place_takes_it(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving.os, "write", Broken(tmp_path, 150_000))
    before = len(os.listdir("/proc/self/fd"))
    file = DownloadFile(lambda: tmp_path / "spare", lambda: first, lambda error: None)
    file.write(PIECES[0])
    with pytest.raises(OSError, match="No space"):
        file.write(PIECES[1])
    file.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_was_stored_and_cannot_be_read_again_is_an_error(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arriving.os, "write", Broken(first.parent, 100_000))
    file = DownloadFile(lambda: tmp_path / "spare", lambda: first, lambda error: None)
    file.write(PIECES[0])
    os.truncate(first, 10)
    with pytest.raises(OSError, match="not there any more"):
        file.write(PIECES[1])
    file.close()


def test_without_a_first_place_an_error_is_an_error(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving.os, "write", Broken(first.parent, 0))
    file = DownloadFile(lambda: first)
    with pytest.raises(OSError, match="No space"):
        file.write(b"x")
    file.close()


def test_nothing_is_written_over(first: Path) -> None:
    first.write_text("mine")
    with pytest.raises(FileExistsError):
        DownloadFile(lambda: first)
    assert first.read_text() == "mine"
