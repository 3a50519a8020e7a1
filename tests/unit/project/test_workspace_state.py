"""What a checkout remembers, and whose turn it is."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from getmodules import InstallError, Progress
from getmodules.archive.tree_hash import TreeHashes
from getmodules.files.private import Sweeper
from getmodules.project.workspace import ProjectState
from tests.support.fakes import Recorder
from tests.support.processes import as_each_user
from tests.support.refusals import refusal


def _nothing() -> None:
    pass


def _of(dest: str, *h1s: str) -> dict[str, frozenset[TreeHashes]]:
    return {dest: frozenset(TreeHashes(h1, h1.replace("h1:", "t1:")) for h1 in h1s)}


@pytest.fixture
def state(tmp_path: Path) -> ProjectState:
    return ProjectState(tmp_path, Sweeper())


def test_what_was_installed_is_remembered(state: ProjectState, tmp_path: Path) -> None:
    assert state.installed() == {}
    with state.exclusive(Progress(), _nothing):
        state.remember(_of("b", "h1:1"))
        state.remember(_of("a", "h1:2"))
        state.remember({})
    assert state.installed() == _of("a", "h1:2") | _of("b", "h1:1")
    assert {path.name for path in (tmp_path / ".getmodules").iterdir()} == {".gitignore", "installed.json"}


def test_what_is_known_already_is_not_written_again(state: ProjectState, tmp_path: Path) -> None:
    with state.exclusive(Progress(), _nothing):
        state.remember(_of("a", "h1:1"))
        inode = (tmp_path / ".getmodules/installed.json").stat().st_ino
        state.remember(_of("a", "h1:1"))
    assert (tmp_path / ".getmodules/installed.json").stat().st_ino == inode


def test_what_is_not_sure_yet_is_a_list(state: ProjectState, tmp_path: Path) -> None:
    with state.exclusive(Progress(), _nothing):
        state.remember(_of("a", "h1:1", "h1:2") | _of("b", "h1:1"))
        text = (tmp_path / ".getmodules/installed.json").read_text()
        assert json.loads(text) == {
            "a": [{"h1": "h1:1", "t1": "t1:1"}, {"h1": "h1:2", "t1": "t1:2"}],
            "b": {"h1": "h1:1", "t1": "t1:1"},
        }
        assert state.installed() == _of("a", "h1:1", "h1:2") | _of("b", "h1:1")
        state.remember(_of("a") | _of("b"))
    assert list(tmp_path.iterdir()) == []


def test_what_an_earlier_version_knows_is_read_and_stays_as_it_is(state: ProjectState, tmp_path: Path) -> None:
    """It has h1 alone; so has what is installed from a lock of that version, until it is known better."""
    written = {"a": "h1:1", "b": ["h1:1", "h1:2"]}
    (tmp_path / ".getmodules").mkdir()
    (tmp_path / ".getmodules/installed.json").write_text(json.dumps(written))
    known = {"a": frozenset({TreeHashes("h1:1")}), "b": frozenset({TreeHashes("h1:1"), TreeHashes("h1:2")})}
    assert state.installed() == known
    state.remember(_of("c", "h1:3"))
    kept = json.loads((tmp_path / ".getmodules/installed.json").read_text())
    assert kept == {**written, "c": {"h1": "h1:3", "t1": "t1:3"}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff",
        b'{"a": 1}',
        b'{"a": [1]}',
        b'{"a": {"t1": "t1:1"}}',
        b'{"a": {"h1": 1}}',
        b'{"a": {"h1": "h1:1", "t1": 1}}',
        b"[" * 100_000,
    ],
    ids=range(10),
)
def test_a_memory_that_cannot_be_read_knows_nothing(content: bytes, state: ProjectState, tmp_path: Path) -> None:
    (tmp_path / ".getmodules").mkdir()
    (tmp_path / ".getmodules/installed.json").write_bytes(content)
    assert state.installed() == {}


def test_a_run_that_installed_nothing_leaves_nothing(state: ProjectState, tmp_path: Path) -> None:
    with state.exclusive(Progress(), _nothing):
        assert (tmp_path / ".getmodules").is_dir()
    with pytest.raises(ZeroDivisionError), state.exclusive(Progress(), _nothing):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_one_at_a_time(tmp_path: Path) -> None:
    inside, most, ran = 0, 0, 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most, ran
        for _ in range(20):
            with ProjectState(tmp_path, Sweeper()).exclusive(Progress(), _nothing):
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1
                    ran += 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, ran) == (1, 160)


def test_who_waits_says_so_and_can_be_stopped(state: ProjectState, tmp_path: Path) -> None:
    class EnoughError(Exception):
        pass

    def enough() -> None:
        raise EnoughError

    seen = Recorder()
    with (
        state.exclusive(Progress(), _nothing),
        pytest.raises(EnoughError),
        ProjectState(tmp_path, Sweeper()).exclusive(seen, enough),
    ):
        pytest.fail("it was somebody else's turn")
    assert seen.events == [("notice", "waiting for another getmodules that works in this project")]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param("", "install/protected", id="itself"),
        pytest.param("/installed.json", "", id="what it knows"),
        pytest.param("/busy", "install", id="whose turn it is"),
    ],
)
def test_nothing_is_written_through_a_link(name: str, code: str, tmp_path: Path) -> None:
    """A project that somebody else made may hold one."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    if name:
        (tmp_path / "project/.getmodules").mkdir()
    (tmp_path / f"project/.getmodules{name}").symlink_to(tmp_path / "outside" / name.strip("/"))
    state = ProjectState(tmp_path / "project", Sweeper())

    def work() -> None:
        with state.exclusive(Progress(), _nothing):
            state.remember(_of("a", "h1:1"))

    if name == "/installed.json":
        work()  # what it knows is only a help
    else:
        assert refusal(InstallError, code, work).message
    assert list((tmp_path / "outside").iterdir()) == []


@as_each_user
def test_a_project_that_cannot_be_written_to(place: Path) -> None:
    """What is in its place there needs no turn, and what goes elsewhere is not remembered."""
    (place / "p").mkdir()
    (place / "p").chmod(0o555)
    state = ProjectState(place / "p", Sweeper())
    with state.exclusive(Progress(), _nothing):
        state.remember(_of("a", "h1:1"))
    assert state.installed() == (_of("a", "h1:1") if os.geteuid() == 0 else {})
    assert (place / "p/.getmodules").exists() is (os.geteuid() == 0)


def test_what_cannot_be_remembered_is_logged(
    state: ProjectState, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with state.exclusive(Progress(), _nothing):
        (tmp_path / ".getmodules/installed.json").mkdir()
        state.remember(_of("a", "h1:1"))
        assert "installed.json: it is not a file" in caplog.text
        caplog.clear()
        state.remember(_of("a", "h1:1"), matters=False)
    assert caplog.text == ""


def test_where_there_is_no_place_to_remember_anything_nobody_is_told(
    state: ProjectState, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state.remember(_of("a", "h1:1"))
    assert (caplog.text, list(tmp_path.iterdir())) == ("", [])
