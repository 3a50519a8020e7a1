from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from getmodules.errors import ConfigError, InstallError
from getmodules.files.locking import FileLock, try_lock
from getmodules.getters.oci import docker_login as authwriter
from getmodules.getters.oci.docker_config import FILE_BYTES, AuthFile
from getmodules.getters.oci.docker_login import rewrite
from tests.support.processes import as_each_user, become_ordinary, run, start, strike_at, wait
from tests.support.snapshots import snapshot

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and signals are POSIX's")

LOCK = ".config.json.getmodules-lock"


def at(path: Path) -> AuthFile:
    return AuthFile(path=path, shown="~/config.json", named=True)


def add(document: dict[str, Any]) -> bool:
    document["new"] = "value"
    return True


def count(name: str) -> authwriter.Change:
    def change(document: dict[str, Any]) -> bool:
        document[name] = document.get(name, 0) + 1
        return True

    return change


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ----------------------------------------------------------------------------------------------- what is written


def test_everything_else_in_the_file_stays_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    text = '{"z": [1, 2.5, null, true], "HttpHeaders": {"b": "ü", "a": "<&>"}, "auths": {}, "a": 9007199254740993}'
    path.write_text(text)
    assert rewrite(at(path), add)
    expected = {**json.loads(text), "new": "value"}
    assert json.loads(path.read_text()) == expected
    assert list(json.loads(path.read_text())) == ["z", "HttpHeaders", "auths", "a", "new"]
    assert os.listdir(tmp_path) == ["config.json"]


@as_each_user
@pytest.mark.parametrize("umask", [0, 0o077, 0o777], ids=oct)
def test_it_is_private_whatever_it_was_and_the_umask_is(place: Path, umask: int) -> None:
    path = place / "config.json"
    path.write_text("{}")
    path.chmod(0o644)
    os.umask(umask)
    assert rewrite(at(path), add)
    assert mode(path) == 0o600
    assert os.listdir(place) == ["config.json"]


def test_missing_directories_are_made_and_private(tmp_path: Path) -> None:
    path = tmp_path / "home" / ".docker" / "config.json"
    assert rewrite(at(path), add)
    assert json.loads(path.read_text()) == {"new": "value"}
    assert [mode(path), mode(path.parent), mode(path.parent.parent)] == [0o600, 0o700, 0o700]


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("")
    assert rewrite(at(path), add)
    assert json.loads(path.read_text()) == {"new": "value"}


def test_no_change_writes_nothing_and_makes_nothing(tmp_path: Path) -> None:
    assert not rewrite(at(tmp_path / "absent" / "config.json"), lambda document: False)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("there", [True, False], ids=["to-a-file", "dangling"])
def test_a_link_stays_a_link(tmp_path: Path, there: bool) -> None:
    dotfiles, docker = tmp_path / "dotfiles", tmp_path / ".docker"
    dotfiles.mkdir()
    docker.mkdir()
    target = dotfiles / "docker.json"
    if there:
        target.write_text('{"old": 1}')
    (docker / "config.json").symlink_to("../dotfiles/docker.json")
    assert rewrite(at(docker / "config.json"), add)
    assert os.readlink(docker / "config.json") == "../dotfiles/docker.json"
    assert json.loads(target.read_text()) == ({"old": 1} if there else {}) | {"new": "value"}
    assert mode(target) == 0o600
    assert (os.listdir(dotfiles), os.listdir(docker)) == (["docker.json"], ["config.json"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_does_not_take_the_file_from_its_owner(place: Path) -> None:
    path = place / "config.json"
    path.write_text("{}")
    os.chown(path, 1234, 2345)
    assert rewrite(at(path), add)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="cut"),
        pytest.param("[]", id="array"),
        pytest.param('{"a": 1, "a": 2}', id="duplicate"),
        pytest.param("// comment\n{}", id="comment"),
    ],
)
def test_a_malformed_file_is_refused_untouched(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    before = snapshot(tmp_path)
    with pytest.raises(ConfigError) as caught:
        rewrite(at(path), add)
    assert caught.value.code == "config"
    assert snapshot(tmp_path) == before


def test_a_file_that_would_grow_beyond_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a" / "config.json"

    def grow(document: dict[str, Any]) -> bool:
        document["x"] = "x" * FILE_BYTES
        return True

    with pytest.raises(InstallError) as caught:
        rewrite(at(path), grow)
    assert caught.value.code == "install"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["device", "directory", "fifo"])
def test_what_is_not_a_file_is_never_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.json"
    if kind == "device":
        path.symlink_to(os.devnull)
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises((InstallError, ConfigError)) as caught:
        rewrite(at(path), add)
    assert caught.value.code == ("config" if kind == "directory" else "install")
    assert os.listdir(tmp_path) == ["config.json"]
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert not path.is_file()


def test_a_directory_that_may_not_be_written(place: Path) -> None:
    docker = place / ".docker"
    docker.mkdir()
    (docker / "config.json").write_text("{}")
    docker.chmod(0o555)

    def as_an_ordinary_user() -> None:
        become_ordinary()
        for path in (docker / "config.json", docker / "deeper" / "config.json"):
            with pytest.raises(InstallError) as caught:
                rewrite(at(path), add)
            assert caught.value.code == "install/denied"
            assert "cannot write the credentials to ~/config.json" in caught.value.message

    assert run(as_an_ordinary_user) == 0
    assert os.listdir(docker) == ["config.json"]


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(authwriter.os, call, fail)
    with pytest.raises(InstallError) as caught:
        rewrite(at(tmp_path / ".docker" / "config.json"), add)
    assert caught.value.code == "install/no-space"
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------------ many writers


def test_no_writer_loses_what_another_wrote(tmp_path: Path) -> None:
    path = tmp_path / ".docker" / "config.json"

    def write(name: str) -> int:
        for _ in range(10):
            assert rewrite(at(path), count(name))
        return 0

    writers = [start(lambda name=name: write(name)) for name in "abcdef"]
    assert [wait(writer) for writer in writers] == [0] * 6
    assert json.loads(path.read_text()) == dict.fromkeys("abcdef", 10)
    assert os.listdir(path.parent) == ["config.json"]


def test_a_program_without_locks_that_comes_in_between_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"theirs": 0}')
    calls = 0

    def change(document: dict[str, Any]) -> bool:
        nonlocal calls
        calls += 1
        if calls <= 3:  # the first look, and two rounds that docker spoils
            (tmp_path / "theirs").write_text(json.dumps({"theirs": calls}))
            os.replace(tmp_path / "theirs", path)
        return add(document)

    assert rewrite(at(path), change)
    assert json.loads(path.read_text()) == {"theirs": 3, "new": "value"}
    assert os.listdir(tmp_path) == ["config.json"]


def test_a_program_that_never_stops_writing(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    calls = 0

    def change(document: dict[str, Any]) -> bool:
        nonlocal calls
        calls += 1
        (tmp_path / "theirs").write_text("{" + " " * calls + "}")
        os.replace(tmp_path / "theirs", path)
        return add(document)

    with pytest.raises(InstallError) as caught:
        rewrite(at(path), change)
    assert caught.value.code == "install"
    assert "another program keeps changing it" in caught.value.message
    assert os.listdir(tmp_path) == ["config.json"]
    assert json.loads(path.read_text()) == {}


def test_a_lock_that_is_not_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authwriter, "LOCK_SECONDS", 0.1)
    path = tmp_path / "config.json"
    with open(tmp_path / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InstallError) as caught:
            rewrite(at(path), add)
    assert caught.value.code == "install"
    assert LOCK in (caught.value.hint or "")
    assert not path.exists()
    assert rewrite(at(path), add)  # its holder is gone: so is the lock
    assert os.listdir(tmp_path) == ["config.json"]


def test_a_lock_that_its_last_holder_removed_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our open and our lock it went out of its directory, where the next one would not find it."""
    first, seen = True, []

    def lock(fd: int) -> FileLock:
        nonlocal first
        if first:
            first = False
            os.unlink(tmp_path / LOCK)
        return try_lock(fd)

    def change(document: dict[str, Any]) -> bool:
        seen.append((tmp_path / LOCK).exists())
        return add(document)

    monkeypatch.setattr(authwriter, "try_lock", lock)
    assert rewrite(at(tmp_path / "config.json"), change)
    assert seen == [False, True]
    assert os.listdir(tmp_path) == ["config.json"]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / LOCK).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InstallError) as caught:
        rewrite(at(tmp_path / "config.json"), add)
    assert caught.value.code == "install"
    assert os.listdir(tmp_path) == [LOCK]


def test_killed_at_any_moment_the_file_is_whole_and_the_next_writer_cleans_up(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    old = {"auths": {"x": {}}}
    struck = 0
    for number in range(1, 100):
        path.write_text(json.dumps(old))

        def killed(number: int = number) -> None:
            strike_at(number, lambda: os.kill(os.getpid(), 9))
            rewrite(at(path), add)

        code = run(killed)
        assert json.loads(path.read_text()) in (old, {**old, "new": "value"})
        assert rewrite(at(path), count("after"))
        assert os.listdir(tmp_path) == ["config.json"]
        if code == 0:
            break
        assert code == -9
        struck = number
    assert struck >= 6
