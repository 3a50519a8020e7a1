from __future__ import annotations

import errno
import logging
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.errors import InstallError
from getmodules.files import private as privatedir
from getmodules.files.locking import FileLock, try_lock
from getmodules.files.private import LOCK_NAME, PrivateDirectory, Sweeper
from tests.support import processes
from tests.support.processes import as_each_user
from tests.support.snapshots import snapshot

DEAD = ".getmodules-0123456789abcdef"


def dead_directory(parent: Path, name: str = DEAD) -> Path:
    """What a killed process leaves."""
    directory = parent / name
    directory.mkdir(0o700)
    (directory / LOCK_NAME).touch(0o600)
    (directory / "tree" / "sub").mkdir(parents=True)
    (directory / "tree" / "sub" / "file").write_text("half")
    (directory / "tree" / "sub").chmod(0o500)
    return directory


@as_each_user
def test_it_is_private_locked_and_goes_without_a_trace(place: Path) -> None:
    directory = PrivateDirectory(place)
    directory.create()
    status = directory.path.lstat()
    assert stat.S_IMODE(status.st_mode) == 0o700
    assert status.st_uid == os.geteuid()
    with (directory.path / LOCK_NAME).open("r+b") as lock:
        assert try_lock(lock.fileno()) is FileLock.BUSY
    (directory.path / "tree").mkdir()
    directory.remove()
    assert os.listdir(place) == []
    directory.remove()
    assert os.listdir(place) == []


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777], ids=oct)
@as_each_user
def test_the_umask_does_not_matter(umask: int, place: Path) -> None:
    os.umask(umask)
    directory = PrivateDirectory(place)
    directory.create()
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    directory.remove()
    assert os.listdir(place) == []


def test_a_parent_that_is_not_there_is_said(tmp_path: Path) -> None:
    directory = PrivateDirectory(tmp_path / "absent")
    with pytest.raises(FileNotFoundError):
        directory.create()
    directory.remove()
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------- the owner against a sweeper


def sweeper_finds_no_lock(path: Path) -> None:
    """Between mkdir and open: the newborn is empty, and is removed."""
    path.rmdir()


def sweeper_has_the_lock(path: Path) -> None:
    """Between open and flock: the sweeper was faster, and still works."""
    held.append(os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT))
    assert try_lock(held[-1]) is FileLock.HELD


def sweeper_is_done(path: Path) -> None:
    """Between open and flock: the sweeper was faster, and has removed it all; our descriptor is of nothing."""
    (path / LOCK_NAME).unlink()
    path.rmdir()


held: list[int] = []


@pytest.mark.parametrize(
    ("moment", "meddle"),
    [
        pytest.param("open", sweeper_finds_no_lock, id="no-lock-yet"),
        pytest.param("flock", sweeper_has_the_lock, id="sweeper-holds-the-lock"),
        pytest.param("flock", sweeper_is_done, id="sweeper-removed-it"),
    ],
)
def test_a_newborn_that_meets_a_sweeper_takes_a_new_name(
    moment: str, meddle: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    real_open, real_lock = os.open, try_lock

    def met() -> None:
        (newborn,) = [path for path in tmp_path.iterdir() if path.name not in names]
        names.append(newborn.name)
        if len(names) == 1:
            meddle(newborn)

    def opened(path: Path, flags: int, mode: int = 0o777) -> int:
        if moment == "open":
            met()
        return real_open(path, flags, mode)

    def locked(fd: int) -> FileLock:
        if moment == "flock":
            met()
        return real_lock(fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", opened)
        patch.setattr(privatedir, "try_lock", locked)
        directory = PrivateDirectory(tmp_path)
        directory.create()
    assert len(names) == 2
    assert directory.path.name == names[1]
    directory.remove()
    assert [path.name for path in tmp_path.iterdir()] == names[:1] * len(held)
    for fd in held:
        os.close(fd)
    held.clear()


def test_something_that_takes_each_one_away_ends_in_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken_away(fd: int) -> FileLock:
        (newborn,) = tmp_path.iterdir()
        (newborn / LOCK_NAME).unlink()
        newborn.rmdir()
        return FileLock.HELD

    monkeypatch.setattr(privatedir, "try_lock", taken_away)
    with pytest.raises(InstallError, match="each one is taken away") as caught:
        PrivateDirectory(tmp_path).create()
    assert caught.value.code == "install"
    assert os.listdir(tmp_path) == []


def test_creators_and_sweepers_in_many_processes_never_hurt_the_living(tmp_path: Path) -> None:
    def live() -> None:
        for _ in range(40):
            Sweeper().sweep(tmp_path)
            directory = PrivateDirectory(tmp_path)
            directory.create()
            (directory.path / "work").write_text("mine")
            Sweeper().sweep(tmp_path)
            assert (directory.path / "work").read_text() == "mine"
            directory.remove()

    children = [processes.start(live) for _ in range(6)]
    assert [processes.wait(child) for child in children] == [0] * 6
    # A sweeper that met a newborn may have left its empty directory to a second one.
    Sweeper().sweep(tmp_path)
    assert os.listdir(tmp_path) == []


# --------------------------------------------------------------------------------------------------- sweeping


@as_each_user
def test_what_a_dead_process_left_is_removed(place: Path) -> None:
    dead_directory(place)
    (place / ".getmodules-00000000000000ff").mkdir(0o700)  # killed between mkdir and open
    Sweeper().sweep(place)
    assert os.listdir(place) == []


def test_a_living_process_is_left_alone_until_it_is_killed(tmp_path: Path) -> None:
    def live(stay: Callable[[], None]) -> None:
        directory = PrivateDirectory(tmp_path)
        directory.create()
        (directory.path / "work").write_text("mine")
        stay()

    child = processes.start_staying(live)
    before = snapshot(tmp_path)
    Sweeper().sweep(tmp_path)
    assert snapshot(tmp_path) == before
    os.kill(child, signal.SIGKILL)
    processes.wait(child)
    Sweeper().sweep(tmp_path)
    assert os.listdir(tmp_path) == []


def test_another_thread_of_this_process_is_alive_too(tmp_path: Path) -> None:
    directory = PrivateDirectory(tmp_path)
    directory.create()
    sweeping = threading.Thread(target=Sweeper().sweep, args=(tmp_path,))
    sweeping.start()
    sweeping.join()
    assert directory.path.is_dir()
    directory.remove()
    assert os.listdir(tmp_path) == []


def a_link_to_a_dead_one(parent: Path) -> None:
    (parent / "elsewhere").mkdir()
    dead_directory(parent / "elsewhere")
    (parent / DEAD).symlink_to(f"elsewhere/{DEAD}")


def a_file(parent: Path) -> None:
    (parent / DEAD).write_text("mine")


def another_name(parent: Path) -> None:
    for name in (".getmodules-backup", ".getmodules-0123", f"{DEAD}.old", DEAD.upper(), f"x{DEAD}"):
        dead_directory(parent, name)


def full_without_a_lock(parent: Path) -> None:
    (dead_directory(parent) / LOCK_NAME).unlink()


def open_to_others(parent: Path) -> None:
    dead_directory(parent).chmod(0o755)


def lock_is_a_link(parent: Path) -> None:
    (parent / "canary").write_text("mine")
    lock = dead_directory(parent) / LOCK_NAME
    lock.unlink()
    lock.symlink_to("../canary")


def lock_is_a_fifo(parent: Path) -> None:
    lock = dead_directory(parent) / LOCK_NAME
    lock.unlink()
    os.mkfifo(lock)


@pytest.mark.parametrize(
    "leftover",
    [
        pytest.param(a_link_to_a_dead_one, id="a-link"),
        pytest.param(a_file, id="a-file"),
        pytest.param(another_name, id="names-that-are-not-ours"),
        pytest.param(full_without_a_lock, id="no-lock-but-content"),
        pytest.param(open_to_others, id="not-private"),
        pytest.param(lock_is_a_link, id="lock-is-a-link"),
        pytest.param(lock_is_a_fifo, id="lock-is-a-fifo"),
    ],
)
@as_each_user
def test_what_is_not_certainly_ours_stays(leftover: Callable[[Path], None], place: Path) -> None:
    leftover(place)
    before = snapshot(place)
    Sweeper().sweep(place)
    assert snapshot(place) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what somebody else owns")
def test_what_another_user_left_stays_even_for_root(place: Path) -> None:
    dead = dead_directory(place)
    for path in (dead, *dead.rglob("*")):
        os.chown(path, processes.ORDINARY, processes.ORDINARY)
    before = snapshot(place)
    Sweeper().sweep(place)
    assert snapshot(place) == before


def test_a_directory_is_swept_once_in_a_run_under_whatever_name(tmp_path: Path) -> None:
    parent, link = tmp_path / "parent", tmp_path / "link"
    parent.mkdir()
    link.symlink_to(parent)
    sweeper = Sweeper()
    sweeper.sweep(parent)
    dead_directory(parent)
    sweeper.sweep(parent)
    sweeper.sweep(link)
    assert os.listdir(parent) == [DEAD]
    Sweeper().sweep(link)
    assert os.listdir(parent) == []


@as_each_user
def test_a_sweep_never_fails(place: Path) -> None:
    Sweeper().sweep(place / "absent")
    (place / "file").touch()
    Sweeper().sweep(place / "file")
    (place / "closed").mkdir(0o300)
    Sweeper().sweep(place / "closed")
    assert sorted(os.listdir(place)) == ["closed", "file"]


def test_where_there_are_no_locks_nothing_is_swept_and_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privatedir, "try_lock", lambda fd: FileLock.UNSUPPORTED)
    dead_directory(tmp_path)
    directory = PrivateDirectory(tmp_path)
    directory.create()
    Sweeper().sweep(tmp_path)
    assert len(os.listdir(tmp_path)) == 2
    directory.remove()
    assert os.listdir(tmp_path) == [DEAD]


# -------------------------------------------------------------------------------------------------- removing


def test_an_error_that_passes_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = PrivateDirectory(tmp_path)
    directory.create()
    (directory.path / "file").touch()
    failures = iter([OSError(errno.EMFILE, "Too many open files")])
    real_open = os.open

    def flaky(*arguments: object, **more: object) -> int:
        for failure in failures:
            raise failure
        return real_open(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", flaky)
    directory.remove()
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_removed_is_logged_not_raised_and_the_next_run_may_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    directory = PrivateDirectory(tmp_path)
    directory.create()
    (directory.path / "stubborn").touch()
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "getmodules"):

        def refuse(name: str, *, dir_fd: int | None = None) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        patch.setattr(os, "unlink", refuse)
        directory.remove()
    (record,) = caplog.records
    assert "stubborn: Operation not permitted" in record.getMessage()
    assert len(os.listdir(tmp_path)) == 1
    Sweeper().sweep(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on descriptors that can be set")
@pytest.mark.parametrize("free", range(10))
def test_where_there_are_too_few_descriptors_to_clean_up_nothing_is_made(free: int, tmp_path: Path) -> None:
    import resource

    def child() -> int:
        os.closerange(3, 1024)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3 + free, 3 + free))
        directory = PrivateDirectory(tmp_path)
        try:
            directory.create()
            (directory.path / "sub").mkdir()
        except OSError as error:
            return error.errno or 0
        finally:
            directory.remove()
        return 0

    assert processes.run(child) == (errno.EMFILE if free < 6 else 0)
    assert os.listdir(tmp_path) == []
