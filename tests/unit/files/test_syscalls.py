from __future__ import annotations

import builtins
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.files import syscalls
from getmodules.files.syscalls import exchange, sync_filesystem
from tests.support.snapshots import snapshot


def test_exchange_swaps_two_directories(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "ü b"
    a.mkdir()
    b.mkdir()
    (a / "from-a").touch()
    (b / "from-b").touch()
    assert exchange(a, b)
    assert (os.listdir(a), os.listdir(b)) == (["from-b"], ["from-a"])


def test_exchange_swaps_a_directory_and_a_file(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.mkdir()
    b.write_text("b")
    assert exchange(a, b)
    assert a.read_text() == "b"
    assert b.is_dir()


def test_exchange_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    before = snapshot(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        exchange(tmp_path / "a", tmp_path / "b")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename2 == str(tmp_path / "b")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(errno.ENOSYS, id="old-kernel"),
        pytest.param(errno.EINVAL, id="file-system-does-not-know-the-flag"),
        pytest.param(errno.ENOTSUP, id="macos-volume"),
    ],
)
def test_exchange_is_false_where_it_is_not_supported(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syscalls, "_call", lambda *call: number)
    assert not exchange(tmp_path / "a", tmp_path / "b")


def test_a_c_library_without_the_function_is_a_system_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syscalls, "_libc_function", lambda name: None)
    a, b = tmp_path / "a", tmp_path / "b"
    a.mkdir()
    b.mkdir()
    assert not exchange(a, b)
    synced_with_the_fallback(tmp_path)


@pytest.fixture
def nothing_remembered() -> Iterator[None]:
    syscalls._libc_function.cache_clear()
    yield
    syscalls._libc_function.cache_clear()


@pytest.mark.usefixtures("nothing_remembered")
def test_a_python_without_ctypes_is_a_system_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def no_ctypes(name: str, *rest: object, **more: object) -> object:
        if name == "ctypes":
            raise ImportError(name)
        return original(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", no_ctypes)
    assert not exchange(tmp_path / "a", tmp_path / "b")
    synced_with_the_fallback(tmp_path)


def synced_with_the_fallback(directory: Path) -> None:
    synced: list[str] = []
    fd = os.open(directory, os.O_RDONLY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sync", lambda: synced.append("sync"))
        patch.setattr(os, "fsync", lambda fd: synced.append("fsync"))
        sync_filesystem(fd)
    os.close(fd)
    assert synced == ["sync", "fsync"]


@pytest.mark.skipif(sys.platform != "linux", reason="syncfs is Linux's")
def test_one_file_system_is_synced_not_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sync", lambda: pytest.fail("syncfs exists: no need to sync the world"))
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    sync_filesystem(fd)
    os.close(fd)


def test_a_failing_sync_is_an_error() -> None:
    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        sync_filesystem(0x7FFFFFFF)
    assert caught.value.errno == errno.EBADF
