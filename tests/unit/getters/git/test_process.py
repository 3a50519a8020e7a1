"""A process that is watched: what it says, and what ends it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from getmodules import InstallError, LimitExceededError, Limits, NetworkError
from getmodules.api.limits import Deadline
from getmodules.getters.git import process as under_test
from getmodules.getters.git.process import ProcessLimits, collect
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.waiting import is_alive, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell is needed")
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def shell(script: str, *, talks: bool = False) -> subprocess.Popen[bytes]:
        stdin = subprocess.PIPE if talks else subprocess.DEVNULL
        pipe = subprocess.PIPE
        process = subprocess.Popen(["sh", "-c", script], stdin=stdin, stdout=pipe, stderr=pipe, start_new_session=True)
        started.append(process)
        return process

    yield shell
    for process in started:
        assert process.poll() is not None, "it was left behind"


def test_all_that_it_says(start: Start) -> None:
    done = collect(start("cat; echo one >&2; printf 'a\\rb\\rlast' >&2; exit 3", talks=True), a_context(), given=b"in")
    assert (done.code, done.output, done.said) == (3, b"in", "one\na\nb\nlast\n")


def test_input_that_nobody_reads(start: Start) -> None:
    assert collect(start("exit 0", talks=True), a_context(), given=b"x" * 1_000_000).code == 0


def test_the_end_of_what_it_says_is_kept(start: Start) -> None:
    done = collect(start("yes 0123456789 | head -c 300000 >&2; echo the reason >&2"), a_context())
    assert done.said.endswith("the reason\n")
    assert len(done.said) < 100_000


def test_an_end_of_time_takes_its_children_along(start: Start, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    context = a_context(limits=Limits(seconds=1), deadline=Deadline.after(1))
    script = f"sleep 1000 & echo $! > {note}; wait"
    refusal(NetworkError, "network/timeout", collect, start(script), context)
    child = int(note.read_text(encoding="ascii"))
    wait_until(lambda: not is_alive(child), "the child lives on")


def test_who_cancels_does_not_wait(start: Start) -> None:
    cancelled = threading.Event()
    cancelled.set()
    refusal(InstallError, "install/cancelled", collect, start("sleep 1000"), a_context(cancelled=cancelled))


def test_silence(start: Start) -> None:
    limits = ProcessLimits(int, 0.3, place="waiting for the answer of git.example:443")
    error = refusal(NetworkError, "network/timeout", collect, start("sleep 1000"), a_context(), limits=limits)
    assert error.message == "waiting for the answer of git.example:443: nothing came for 0.3 seconds"


def test_silence_is_told_once(start: Start) -> None:
    told: list[str] = []
    limits = ProcessLimits(int, 60, tell_silence=lambda: told.append("silent"), note_seconds=0.2)
    assert collect(start("sleep 1"), a_context(), limits=limits).code == 0
    assert told == ["silent"]


def test_what_grows_is_not_silent(start: Start) -> None:
    grown = iter(range(10**9))
    done = collect(start("sleep 1"), a_context(), limits=ProcessLimits(lambda: next(grown), 0.5))
    assert done.code == 0


def test_who_looks_may_end_it(start: Start) -> None:
    def look() -> int:
        raise Limits().exceeded("download_bytes", "what git fetches")

    limits = ProcessLimits(look, 60)
    refusal(
        LimitExceededError,
        "limit-exceeded/download-bytes",
        collect,
        start("sleep 1000"),
        a_context(),
        limits=limits,
    )


def test_a_last_look_after_the_end(start: Start) -> None:
    looks = []
    collect(start("exit 0"), a_context(), limits=ProcessLimits(lambda: looks.append(1) or 0, 60))
    assert looks


def test_too_long_an_output(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "METADATA_BYTES", 1000)
    refusal(LimitExceededError, "limit-exceeded/metadata", collect, start("yes"), a_context())


def test_output_that_a_child_keeps_open_is_not_waited_for(start: Start, tmp_path: Path) -> None:
    """The master of shared ssh connections does; it is not ours to end."""
    note = tmp_path / "pid"
    assert collect(start(f"sleep 1000 & echo $! > {note}; echo done"), a_context()).output == b"done\n"
    os.kill(int(note.read_text(encoding="ascii")), 9)


def test_an_error_while_measuring_ends_it(start: Start) -> None:
    def measure() -> int:
        raise InstallError("cancelled", part="cancelled")

    limits = ProcessLimits(measure, 60)
    refusal(InstallError, "install/cancelled", collect, start("echo x >&2; sleep 1000"), a_context(), limits=limits)
