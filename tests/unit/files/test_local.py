"""Files of this machine, that change or are replaced at the wrong moment."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules.errors import FetchError, NotFoundError
from getmodules.files.local import CHUNK, LocalFile, read_file, reopened, unreadable
from tests.support.refusals import refusal

DATA = bytes(range(256)) * 2048


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(DATA)
    return file


def read(path: Path, size: int = len(DATA)) -> bytes:
    return b"".join(LocalFile(path, size))


def test_a_file_comes_in_pieces_as_it_is(path: Path) -> None:
    pieces = list(LocalFile(path, len(DATA)))
    assert b"".join(pieces) == DATA
    assert len(pieces) == len(DATA) // CHUNK


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read(tmp_path / "empty", 0) == b""


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(len(DATA) - 1, id="it grew"),
        pytest.param(len(DATA) + 1, id="it shrank"),
        pytest.param(0, id="it was empty"),
    ],
)
def test_a_file_that_has_another_size_by_now(path: Path, size: int) -> None:
    error = refusal(FetchError, "fetch/changed", read, path, size)
    assert str(path) in error.message
    assert error.hint == "try again"


def test_no_byte_beyond_the_size_is_handed_out(path: Path) -> None:
    received = bytearray()

    def receive() -> None:
        for piece in LocalFile(path, CHUNK + 1):
            received.extend(piece)

    refusal(FetchError, "fetch/changed", receive)
    assert len(received) <= CHUNK + 1


@pytest.mark.skipif(os.name == "nt", reason="links and fifos as POSIX has them")
@pytest.mark.parametrize("kind", ["link", "dangling", "directory", "fifo"])
def test_what_took_the_place_of_a_file_is_refused_and_never_waited_for(path: Path, kind: str) -> None:
    other = path.with_name("other")
    path.rename(other)
    if kind == "link":
        path.symlink_to(other)
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    refusal(FetchError, "fetch/unreadable", read, path)
    refusal(FetchError, "fetch/unreadable", lambda: LocalFile(path, 1).opened().__enter__())
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


@pytest.mark.parametrize("missing", ["nowhere", "file/below"])
def test_nothing_there(path: Path, missing: str) -> None:
    error = refusal(NotFoundError, "not-found", lambda: list(read_file(path.parent / missing)))
    assert missing in error.message
    assert error.hint


def test_a_descriptor_of_it_is_closed_again(path: Path) -> None:
    with LocalFile(path, len(DATA)).opened() as fd:
        assert os.read(fd, 4) == DATA[:4]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no file that opens and cannot be read")
def test_an_error_while_reading() -> None:
    error = refusal(FetchError, "fetch/unreadable", lambda: list(read_file(Path("/proc/self/mem"))))
    assert "Input/output error" in error.message


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(FileNotFoundError(2, "No such file"), "not-found", id="missing"),
        pytest.param(NotADirectoryError(20, "Not a directory"), "not-found", id="below a file"),
        pytest.param(PermissionError(13, "Permission denied"), "fetch/unreadable", id="denied"),
        pytest.param(OSError(5, "Input/output error"), "fetch/unreadable", id="a broken disk"),
    ],
)
def test_what_an_error_of_the_system_means(error: OSError, code: str) -> None:
    made = unreadable(Path("/x/\x1b[2J"), error)
    assert made.code == code
    assert "\x1b" not in made.message


def test_a_file_that_can_be_opened_and_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As network file systems do when the server forgot it: an error of ours, and no descriptor left open."""
    (tmp_path / "file").write_bytes(b"x")
    opened: list[int] = []

    def stale(fd: int) -> os.stat_result:
        opened.append(fd)
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", stale)
        refusal(FetchError, "fetch/unreadable", lambda: list(read_file(tmp_path / "file")))
    (fd,) = opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@pytest.fixture(params=["with /proc", "without"])
def held(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Path]]:
    """An open file, on systems that can open what is open once more, and on those that have its path only."""
    path = tmp_path / "held"
    path.write_bytes(b"content")
    descriptor = os.open(path, os.O_RDONLY)
    os.read(descriptor, 3)
    if request.param == "without":
        real = builtins.open

        def no_proc(name: Any, *arguments: Any, **more: Any) -> Any:
            if str(name).startswith("/proc"):
                raise FileNotFoundError(name)
            return real(name, *arguments, **more)

        monkeypatch.setattr("builtins.open", no_proc)
    yield descriptor, path
    os.close(descriptor)


def test_what_is_open_is_opened_once_more_from_its_beginning(held: tuple[int, Path]) -> None:
    for _ in range(2):
        with reopened(*held) as file:
            assert file.read() == b"content"


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "removed"])
def test_another_file_is_never_taken_for_it(held: tuple[int, Path], replaced: bool, request: Any) -> None:
    descriptor, path = held
    path.unlink()
    if replaced:
        path.write_bytes(b"another")
    if "without" in request.node.name:
        with pytest.raises(OSError, match="taken away"):
            reopened(descriptor, path)
    else:
        with reopened(descriptor, path) as file:
            assert file.read() == b"content"
