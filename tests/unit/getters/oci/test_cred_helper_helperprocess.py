from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from getmodules.errors import AuthenticationError
from getmodules.getters.oci.cred_helper import OUTPUT_BYTES, HelperAnswer, run_helper
from tests.support.credhelpers import Helpers
from tests.support.waiting import is_alive, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fakes are shell scripts")


@pytest.fixture
def helpers(tmp_path: Path) -> Helpers:
    return Helpers(tmp_path)


def run(helpers: Helpers, body: str, given: bytes = b"ghcr.io", seconds: float = 20, **environ: str) -> HelperAnswer:
    program = helpers.script("x", body)
    return run_helper((str(program), "get"), given, {"PATH": helpers.path, **environ}, seconds=seconds)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param('printf "%s:" "$1"; cat', HelperAnswer(0, b"get:ghcr.io", b""), id="verb-and-input"),
        pytest.param("cat >/dev/null; echo no >&2; exit 3", HelperAnswer(3, b"", b"no\n"), id="complaint"),
        pytest.param("exit 0", HelperAnswer(0, b"", b""), id="ignores-its-input"),
        pytest.param("exec <&- >&- 2>&-; sleep 0.3; exit 4", HelperAnswer(4, b"", b""), id="closes-everything-early"),
        pytest.param(
            'cat >/dev/null; printf "%s" "$HOME"', HelperAnswer(0, b"/a home", b""), id="the-given-environment"
        ),
        pytest.param("kill -9 $$", HelperAnswer(-9, b"", b""), id="killed"),
    ],
)
def test_an_answer(helpers: Helpers, body: str, expected: HelperAnswer) -> None:
    assert run(helpers, body, HOME="/a home") == expected


def test_as_much_as_is_allowed_goes_both_ways(helpers: Helpers) -> None:
    given = b"x" * OUTPUT_BYTES
    assert run(helpers, "cat", given) == HelperAnswer(0, given, b"")


def test_much_input_for_a_helper_that_does_not_read(helpers: Helpers) -> None:
    assert run(helpers, "exit 5", b"x" * 1_000_000).code == 5


@pytest.mark.parametrize("stream", ["1", "2"])
def test_babble_is_cut_and_ended(helpers: Helpers, stream: str) -> None:
    began = time.monotonic()
    with pytest.raises(AuthenticationError) as caught:
        run(helpers, f"echo $$ >{helpers.directory}/pid; exec cat /dev/zero >&{stream}")
    assert caught.value.code == "authentication"
    assert "docker-credential-x wrote more than 65,536 bytes" in caught.value.message
    assert time.monotonic() - began < 10
    assert not is_alive(int((helpers.directory / "pid").read_text()))


def test_a_helper_that_hangs_is_killed_with_its_children(helpers: Helpers) -> None:
    body = f"sleep 300 & echo $! >{helpers.directory}/child; echo $$ >{helpers.directory}/pid; wait"
    before = set(threading.enumerate())
    with pytest.raises(AuthenticationError) as caught:
        run(helpers, body, seconds=0.5)
    assert caught.value.code == "authentication"
    assert "docker-credential-x did not answer within 0.5 seconds" in caught.value.message
    for name in ("pid", "child"):
        pid = int((helpers.directory / name).read_text())
        wait_until(lambda pid=pid: not is_alive(pid), f"{name} lives on")
    wait_until(lambda: set(threading.enumerate()) <= before, "a thread is left")


def test_an_agent_that_stays_behind_does_not_delay_the_answer(helpers: Helpers) -> None:
    began = time.monotonic()
    body = f"sleep 60 & echo $! >{helpers.directory}/child; echo '{{}}'"
    try:
        assert run(helpers, body) == HelperAnswer(0, b"{}\n", b"")
        assert time.monotonic() - began < 10
    finally:
        os.kill(int((helpers.directory / "child").read_text()), 9)


def test_a_helper_has_no_terminal_to_ask_on(helpers: Helpers) -> None:
    answer = run(helpers, "cat >/dev/null; (: </dev/tty) 2>/dev/null && echo terminal; echo done")
    assert answer.output == b"done\n"


def test_it_costs_no_more_than_the_helper(helpers: Helpers) -> None:
    times = []
    for _ in range(20):
        began = time.monotonic()
        run(helpers, "exit 0")
        times.append(time.monotonic() - began)
    assert min(times) < 0.045  # less than one tick of polling


@pytest.mark.parametrize(
    ("content", "mode"),
    [
        pytest.param("#!/bin/sh\n", 0o644, id="not-executable"),
        pytest.param("#!/nowhere/sh\n", 0o755, id="no-interpreter"),
        pytest.param("\x7fELF", 0o755, id="no-program"),
    ],
)
def test_what_cannot_be_started(tmp_path: Path, content: str, mode: int) -> None:
    program = tmp_path / "docker-credential-x"
    program.write_text(content)
    program.chmod(mode)
    with pytest.raises(AuthenticationError) as caught:
        run_helper((str(program), "get"), b"", {})
    assert caught.value.code == "authentication"
    assert "docker-credential-x cannot be started" in caught.value.message
