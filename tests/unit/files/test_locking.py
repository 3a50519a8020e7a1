from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.files.locking import FileLock, try_lock
from tests.support import processes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lock"
    path.touch()
    return path


def test_a_lock_excludes_a_second_descriptor_until_it_is_closed(file: Path) -> None:
    first, second = os.open(file, os.O_RDWR), os.open(file, os.O_RDWR)
    assert try_lock(first) is FileLock.HELD
    assert try_lock(second) is FileLock.BUSY
    os.close(first)
    assert try_lock(second) is FileLock.HELD
    os.close(second)


def test_a_lock_dies_with_its_process(file: Path) -> None:
    def hold(stay: Callable[[], None]) -> None:
        assert try_lock(os.open(file, os.O_RDWR)) is FileLock.HELD
        stay()

    child = processes.start_staying(hold)
    mine = os.open(file, os.O_RDWR)
    try:
        assert try_lock(mine) is FileLock.BUSY
        os.kill(child, signal.SIGKILL)
        assert processes.wait(child) == -signal.SIGKILL
        assert try_lock(mine) is FileLock.HELD
    finally:
        os.close(mine)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        pytest.param(errno.ENOLCK, FileLock.UNSUPPORTED, id="no-lock-service"),
        pytest.param(errno.ENOSYS, FileLock.UNSUPPORTED, id="no-such-call"),
        pytest.param(errno.EOPNOTSUPP, FileLock.UNSUPPORTED, id="not-on-this-file-system"),
        pytest.param(errno.EWOULDBLOCK, FileLock.BUSY, id="somebody-has-it"),
    ],
)
def test_what_the_system_answers(number: int, outcome: FileLock, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with file.open("r+b") as stream:
        assert try_lock(stream.fileno()) is outcome


def test_a_real_error_stays_one() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        try_lock(0x7FFFFFFF)


def test_a_shared_lock_is_shared_and_keeps_out_who_wants_it_alone(file: Path) -> None:
    first, second, alone = (os.open(file, os.O_RDONLY) for _ in range(3))
    assert try_lock(first, shared=True) is FileLock.HELD
    assert try_lock(second, shared=True) is FileLock.HELD
    assert try_lock(alone) is FileLock.BUSY
    os.close(first)
    assert try_lock(alone) is FileLock.BUSY
    os.close(second)
    assert try_lock(alone) is FileLock.HELD
    os.close(alone)
