"""The lock file on disk: as it was, or all of the new one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from getmodules import ConfigError, GetModulesError, InstallError
from getmodules.addresses.versions import Version
from getmodules.providers import Engine, LockFile, ProviderLock, format_lock_file, read_lock_file, write_lock_file
from tests.support.refusals import refusal
from tests.support.releases import ADDRESS

LOCKS = LockFile.of([ProviderLock(address=ADDRESS, version=Version(1, 2, 3))])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".terraform.lock.hcl"


@pytest.mark.parametrize("engine", Engine)
def test_what_is_written_reads_back(path: Path, engine: Engine) -> None:
    write_lock_file(path, LOCKS, engine)
    assert path.read_bytes() == format_lock_file(LOCKS, engine).encode()
    assert read_lock_file(path) == LOCKS
    assert os.listdir(path.parent) == [path.name]


def test_without_a_file_nothing_is_locked(path: Path) -> None:
    assert read_lock_file(path) == LockFile()


@pytest.mark.skipif(os.name == "nt", reason="no modes here")
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_everybody_who_builds_can_read_it(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_lock_file(path, LOCKS)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path.symlink_to(tmp_path / "elsewhere" / "lock.hcl")
    write_lock_file(path, LOCKS)
    assert path.is_symlink()
    assert read_lock_file(path) == LOCKS
    assert os.listdir(tmp_path / "elsewhere") == ["lock.hcl"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_one(path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path.write_bytes(b"# old\n")

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    refusal(InstallError, "install/no-space", write_lock_file, path, LOCKS)
    assert path.read_bytes() == b"# old\n"
    assert os.listdir(path.parent) == [path.name]


def test_the_directory_must_be_there(tmp_path: Path) -> None:
    refusal(InstallError, "install", write_lock_file, tmp_path / "missing" / "lock.hcl", LOCKS)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_what_is_no_file_stays_what_it_is(path: Path, operation: str, kind: str) -> None:
    if kind == "directory":
        path.mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
    else:
        pytest.skip("no fifos here")
    before = path.stat()
    error: GetModulesError
    if operation == "read":
        error = refusal(ConfigError, "config", read_lock_file, path)
    else:
        error = refusal(InstallError, "install", write_lock_file, path, LOCKS)
    assert "not a file" in error.message
    assert os.path.samestat(before, path.stat())
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_cannot_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"")

    def denied(*arguments: object, **more: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    assert "Permission denied" in refusal(ConfigError, "config", read_lock_file, path).message


def test_an_error_names_file_line_and_column(path: Path) -> None:
    path.write_bytes(b"\n  ?\n")
    error = refusal(ConfigError, "config", read_lock_file, path)
    assert error.message.startswith(f"{path}, line 2, column 3: ")
