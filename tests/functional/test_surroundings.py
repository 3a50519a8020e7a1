"""A whole ``get`` in poor surroundings: a full disk, nothing writable, few descriptors, no home, no streams."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import getmodules
from getmodules import Client, GetModulesError
from tests.support.commandline import COMMAND, PATIENCE, environment
from tests.support.fakes import FILES, zip_of
from tests.support.processes import bind_mount, in_mount_namespace, mount_tmpfs, run
from tests.support.snapshots import snapshot, write_tree

BIG = {**FILES, "big": bytes(range(256)) * 400}
OLD = {"old.tf": b"# old\n", "sub/old": b"# old\n"}
#: How a child says how its attempt ended.
REFUSED, OTHERWISE = 41, 42
PAGE = resource.getpagesize()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", BIG)
    (tmp_path / "package.zip").write_bytes(zip_of(BIG))
    (tmp_path / "place").mkdir()
    # Whatever a get imports is imported now: descriptors and memory run out for the work, not for Python.
    Client(environ={}).get(str(tmp_path / "package.zip"), tmp_path / "warm")
    return tmp_path


def command(here: Path, *argv: str | Path, **how: object) -> subprocess.CompletedProcess[str]:
    options = {"cwd": here, "env": environment(HOME=str(here), TMPDIR=str(here)), **how}
    return subprocess.run([COMMAND, *argv], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)  # type: ignore[call-overload,no-any-return]


each_source = pytest.mark.parametrize("source", ["tree", "package.zip"])
with_and_without_force = pytest.mark.parametrize("force", [False, True], ids=["absent", "force"])


# --------------------------------------------------------------------------------------------- disks


def until_there_is_room(here: Path, source: str, force: bool, options: Iterator[str]) -> None:
    """With a little more room each time: refused and nothing changed, until it is enough."""

    def work() -> None:
        client, refusals = Client(environ={}), 0
        for number, option in enumerate(options):
            place = here / f"room-{number}"
            place.mkdir()
            mount_tmpfs(place, option)
            try:
                if force:
                    write_tree(place / "dest", OLD)
            except OSError:
                continue  # not even the old tree has room
            before = snapshot(place)
            try:
                client.get(str(here / source), place / "dest", force=force)
            except GetModulesError as error:
                refusals += 1
                code = error.code
            else:
                assert {name for name, (mode, _) in snapshot(place / "dest").items() if mode[0] == "-"} == set(BIG)
                assert os.listdir(place) == ["dest"]
                assert refusals > 2
                return
            assert code == "install/no-space"
            assert snapshot(place) == before
        raise AssertionError("it never succeeded")

    in_mount_namespace(work)


@pytest.mark.slow
@each_source
@with_and_without_force
def test_a_full_disk_at_every_size(source: str, force: bool, here: Path) -> None:
    until_there_is_room(here, source, force, (f"size={pages * PAGE}" for pages in range(1, 200)))


@pytest.mark.slow
@each_source
@with_and_without_force
def test_out_of_inodes_at_every_count(source: str, force: bool, here: Path) -> None:
    until_there_is_room(here, source, force, (f"nr_inodes={count}" for count in range(2, 60)))


@each_source
def test_a_disk_that_cannot_be_written(source: str, here: Path) -> None:
    def work() -> None:
        bind_mount(here / "place", here / "place", read_only=True)
        before = snapshot(here)
        with pytest.raises(getmodules.InstallError) as caught:
            Client(environ={}).get(str(here / source), here / "place" / "dest")
        assert caught.value.code == "install/denied"
        assert snapshot(here) == before

    in_mount_namespace(work)


@each_source
def test_a_source_on_a_disk_that_cannot_be_written(source: str, here: Path) -> None:
    def work() -> None:
        bind_mount(here / source, here / source, read_only=True)
        before = snapshot(here / "tree")
        Client(environ={}).get(str(here / source), here / "place" / "dest")
        assert snapshot(here / "tree") == before
        assert (here / "place" / "dest" / "big").read_bytes() == BIG["big"]

    in_mount_namespace(work)


# --------------------------------------------------------------------------------------------- descriptors


@pytest.mark.slow
@each_source
@with_and_without_force
def test_few_descriptors(source: str, force: bool, here: Path) -> None:
    """One more each time, until it succeeds; nothing is ever left behind, and the way to help oneself is named."""
    if force:
        write_tree(here / "place" / "dest", OLD)
    before = snapshot(here)
    client = Client(environ={})

    def child(most: int) -> int:
        os.closerange(3, 1024)  # what the test runner has open
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        try:
            client.get(str(here / source), here / "place" / "dest", force=force)
        except (getmodules.InstallError, getmodules.FetchError) as error:
            return REFUSED if "open files" in error.message else OTHERWISE
        return 0

    for most in range(3, 30):
        code = run(partial(child, most))
        if code == 0:
            break
        assert code == REFUSED
        assert snapshot(here) == before
    assert 5 < most < 20
    assert os.listdir(here / "place") == ["dest"]


@pytest.mark.slow
@pytest.mark.parametrize("most", range(4, 16))
def test_few_descriptors_for_the_command(most: int, here: Path) -> None:
    """Python itself needs some to start; whatever happens, it ends with a documented code and leaves nothing."""
    before = snapshot(here)
    shell = f'ulimit -n {most}; exec "$0" get ./package.zip place/dest --json'
    done = subprocess.run(
        ["sh", "-c", shell, COMMAND], cwd=here, env=environment(), capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    if done.returncode == 0:
        assert os.listdir(here / "place") == ["dest"]
        return
    assert done.returncode == 1, done
    assert snapshot(here) == before
    if done.stdout:
        error = json.loads(done.stdout)["error"]
        # A module that a getter imports when it works may be the one that cannot be opened.
        assert error["code"] in ("install", "fetch/unreadable") or "Too many open files" in error["message"]


# --------------------------------------------------------------------------------------------- the process


@each_source
@pytest.mark.parametrize("umask", ["000", "077"])
def test_any_umask(source: str, umask: str, here: Path) -> None:
    shell = f'umask {umask}; exec "$0" get ./{source} place/new/dest -q'
    done = subprocess.run(
        ["sh", "-c", shell, COMMAND], cwd=here, env=environment(), capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = snapshot(here / "place" / "new")
    assert {mode for mode, _ in found.values()} == {"-rw-r--r--", "drwxr-xr-x"}


HOMES = {"no HOME": None, "empty": "", "absent": "/nonexistent/home", "relative": "home", "a file": "package.zip"}


@each_source
@pytest.mark.parametrize("home", HOMES)
def test_any_home(source: str, home: str, here: Path) -> None:
    env = environment()
    if (value := HOMES[home]) is not None:
        env["HOME"] = value
    done = command(here, "get", f"./{source}", "place/dest", "-q", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(here / "place") == ["dest"]


def test_a_home_that_cannot_be_written(here: Path) -> None:
    def work() -> None:
        (here / "home").mkdir()
        bind_mount(here / "home", here / "home", read_only=True)
        done = command(here, "get", "./package.zip", "place/dest", "-q", env=environment(HOME=str(here / "home")))
        assert (done.returncode, done.stderr) == (0, "")

    in_mount_namespace(work)


@each_source
def test_all_streams_closed(source: str, here: Path) -> None:
    """Descriptors 0, 1 and 2 are then handed out again: nothing that is printed may land in a file."""
    shell = '"$0" get "./$1" place/dest --json -v --progress plain <&- >&- 2>&-; echo $? >code'
    subprocess.run(["sh", "-c", shell, COMMAND, source], cwd=here, env=environment(), timeout=PATIENCE, check=True)
    code = int((here / "code").read_text())
    assert code in (0, 1)  # what was to be told could not be, but the work may have been done
    assert code or (here / "place" / "dest").exists()
    if (here / "place" / "dest").exists():
        found = snapshot(here / "place" / "dest")
        assert {name: data for name, (mode, data) in found.items() if mode[0] == "-"} == BIG
    assert set(os.listdir(here / "place")) <= {"dest"}


def in_a_directory_that_is_gone(here: Path, source: str, dest: str) -> subprocess.CompletedProcess[str]:
    gone = here / "gone"
    gone.mkdir()
    shell = 'cd "$1" && rmdir "$1" && exec "$0" get "$2" "$3" --json'
    return subprocess.run(
        ["sh", "-c", shell, COMMAND, gone, source, dest], cwd=here, env=environment(), capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_with_absolute_paths_no_working_directory_is_needed(here: Path) -> None:
    done = in_a_directory_that_is_gone(here, str(here / "package.zip"), str(here / "place" / "dest"))
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(here / "place") == ["dest"]


@pytest.mark.parametrize(
    ("source", "dest", "exit_code", "code"),
    [
        pytest.param("{}/package.zip", "dest", 1, "install", id="destination"),
        pytest.param("./package.zip", "{}/place/dest", 2, "address", id="source"),
    ],
)
def test_a_relative_path_in_a_directory_that_is_gone(
    source: str, dest: str, exit_code: int, code: str, here: Path
) -> None:
    before = snapshot(here)
    done = in_a_directory_that_is_gone(here, source.format(here), dest.format(here))
    assert done.returncode == exit_code
    assert json.loads(done.stdout)["error"]["code"] == code
    assert snapshot(here) == before
