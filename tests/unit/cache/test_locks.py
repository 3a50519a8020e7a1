"""One at a time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.cache import locks as claims
from getmodules.cache.locks import attempt, lock_name, locked
from getmodules.files.locking import FileLock
from tests.support import processes


def no_wait(first: bool) -> None:
    raise AssertionError("nobody is to wait here")


def test_a_name_tells_nothing_of_its_key() -> None:
    assert lock_name("https://u:s3cr3t@h/x") != lock_name("https://u:other@h/x")
    assert lock_name("\udcff").isalnum()
    assert len(lock_name("x" * 10_000)) == 32


def test_the_file_goes_with_the_claim(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", no_wait):
        assert os.listdir(tmp_path) == ["lock"]
    assert os.listdir(tmp_path) == []


def test_threads_take_turns_and_the_first_pause_is_announced(tmp_path: Path) -> None:
    inside, most, firsts = [0], [0], []

    def work() -> None:
        for _ in range(20):
            with locked(tmp_path / "lock", firsts.append):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1]
    assert os.listdir(tmp_path) == []


def test_a_waiter_is_told_once_and_may_give_up(tmp_path: Path) -> None:
    told: list[bool] = []

    def wait(first: bool) -> None:
        told.append(first)
        if len(told) == 3:
            raise KeyboardInterrupt

    with locked(tmp_path / "lock", no_wait):
        with pytest.raises(KeyboardInterrupt), locked(tmp_path / "lock", wait):
            pass
        assert os.listdir(tmp_path) == ["lock"]
    assert told == [True, False, False]


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    def hold(stay: Callable[[], None]) -> None:
        with locked(tmp_path / "lock", no_wait):
            stay()

    child = processes.start_staying(hold)
    assert attempt(tmp_path / "lock", os.O_RDWR) == (None, FileLock.BUSY)
    os.kill(child, signal.SIGKILL)
    processes.wait(child)
    with locked(tmp_path / "lock", no_wait):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_on_a_file_that_was_taken_away_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its opening and its locking somebody tidied up: a second one would hold a lock on another file."""
    real, seen = claims.try_lock, []

    def swept(descriptor: int) -> FileLock:
        if not seen:
            os.unlink(tmp_path / "lock")
        seen.append(descriptor)
        return real(descriptor)

    monkeypatch.setattr(claims, "try_lock", swept)
    with locked(tmp_path / "lock", no_wait):
        assert len(seen) == 2
        assert attempt(tmp_path / "lock", os.O_RDWR) == (None, FileLock.BUSY)


def test_without_locks_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "try_lock", lambda descriptor: FileLock.UNSUPPORTED)
    with locked(tmp_path / "lock", no_wait), locked(tmp_path / "lock", no_wait):
        pass


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "lock", no_wait):
        pass
    assert os.listdir(tmp_path) == ["lock"]
