from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from getmodules.util.processes import feed, kill, pause
from tests.support.waiting import is_alive, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell is needed")
Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def shell(script: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(["sh", "-c", script], stdin=pipe, stdout=pipe, start_new_session=True))
        return started[-1]

    yield shell
    for process in started:
        kill(process)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


def test_a_process_ends_with_its_children(start: Start, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    process = start(f"sleep 1000 & echo $! > {note}.new; mv {note}.new {note}; wait")
    wait_until(note.exists)
    kill(process)
    assert process.returncode == -signal.SIGKILL
    child = int(note.read_text(encoding="ascii"))
    wait_until(lambda: not is_alive(child), "the child lives on")


def test_what_has_ended_is_not_killed(start: Start) -> None:
    process = start("exit 5")
    process.wait()
    kill(process)
    assert process.returncode == 5


def test_one_that_nobody_has_waited_for_yet(start: Start) -> None:
    process = start("exit 5")
    wait_until(lambda: not is_alive(process.pid))
    kill(process)
    assert process.returncode == 5


def test_input_arrives_and_ends(start: Start) -> None:
    process = start("cat")
    feed(process, b"x" * 1_000_000)
    assert process.stdout is not None
    assert process.stdout.read() == b"x" * 1_000_000
    assert process.wait() == 0


def test_input_that_nobody_reads_holds_nobody_up(start: Start) -> None:
    process = start("exit 5")
    feed(process, b"x" * 1_000_000)
    assert process.wait() == 5
    wait_until(lambda: process.stdin is not None and process.stdin.closed, "its input is still open")


def test_a_pause_ends_with_the_process(start: Start) -> None:
    process = start("exit 5")
    pause(process, 1000)
    assert process.returncode == 5


def test_a_pause_ends_without_the_process(start: Start) -> None:
    process = start("sleep 1000")
    began = time.monotonic()
    pause(process, 0.01)
    assert time.monotonic() - began < 20
    assert process.poll() is None
