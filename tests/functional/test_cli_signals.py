"""Signals while something is being installed: the exit code, a word, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commandline import COMMAND, PATIENCE, environment, make_slow_plugin, start, wait_for
from tests.support.snapshots import snapshot


@pytest.fixture
def here(tmp_path: Path) -> Path:
    # Far longer than any test waits, so that it is never done before the signal.
    make_slow_plugin(tmp_path / "site", seconds=60)
    (tmp_path / "work").mkdir()
    return tmp_path


def _start(here: Path, *argv: str) -> subprocess.Popen[str]:
    return start(*argv, cwd=here / "work", PYTHONPATH=str(here / "site"))


def _writing(here: Path) -> Callable[[], object]:
    """Whether the first file is in the private directory already."""
    return lambda: any((here / "work").glob(".getmodules-*/*-tree/first.tf"))


@pytest.mark.parametrize("dest", ["dest", "deeper/and/deeper/dest"], ids=["beside", "with new parents"])
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_ends_it_cleanly(number: signal.Signals, code: int, dest: str, here: Path) -> None:
    child = _start(here, "get", "slow://x", dest, "--json")
    wait_for(child, lambda: any((here / "work").rglob("first.tf")))
    child.send_signal(number)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == code
    assert err == "interrupted\n"
    assert out == '{"error": {"code": "interrupted", "message": "interrupted", "hint": null, "address": null}}\n'
    assert snapshot(here / "work") == {}


def test_what_was_there_before_is_there_after(here: Path) -> None:
    (here / "work" / "dest").mkdir()
    (here / "work" / "dest" / "mine").write_text("precious")
    before = snapshot(here / "work")
    child = _start(here, "get", "slow://x", "dest", "--force")
    wait_for(child, _writing(here))
    child.terminate()
    assert child.communicate(timeout=PATIENCE) == ("", "interrupted\n")
    assert child.returncode == 143
    assert snapshot(here / "work") == before


@pytest.mark.slow
def test_impatience_leaves_nothing_behind(here: Path) -> None:
    """Whoever hammers on Ctrl-C interrupts the cleaning as well."""
    big = here / "big"
    big.mkdir()
    for number in range(3000):
        (big / f"{number}.tf").write_text("x")
    child = _start(here, "get", str(big), "dest")
    wait_for(child, lambda: sum(1 for _ in (here / "work").glob(".getmodules-*/*-tree/*")) > 200)
    while child.poll() is None:
        child.send_signal(signal.SIGINT)
        time.sleep(0.001)
    _, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, err) == (130, "interrupted\n")
    assert snapshot(here / "work") == {}


@pytest.mark.slow
@pytest.mark.parametrize("delay", range(0, 60, 6))
def test_a_signal_at_any_moment_leaves_all_or_nothing(delay: int, here: Path) -> None:
    source = here / "source"
    source.mkdir()
    for number in range(400):
        (source / f"{number}.tf").write_text("x")
    child = _start(here, "get", str(source), "dest", "-q")
    wait_for(child, lambda: list((here / "work").iterdir()))
    time.sleep(delay / 1000)
    child.terminate()
    child.communicate(timeout=PATIENCE)
    left = sorted(path.name for path in (here / "work").iterdir())
    if left == ["dest"]:
        assert len(list((here / "work" / "dest").iterdir())) == 400
        assert child.returncode in (0, 143)
    else:
        assert (left, child.returncode) == ([], 143)


def test_a_job_in_the_background_does_not_hear_what_it_was_told_to_ignore(here: Path) -> None:
    ignoring = subprocess.Popen(
        ["bash", "-c", "trap '' HUP; exec \"$@\"", "nohup", COMMAND, "get", "slow://x", "dest"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here / "work",
        env=environment(PYTHONPATH=str(here / "site")),
    )
    wait_for(ignoring, _writing(here))
    ignoring.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert ignoring.poll() is None
    ignoring.terminate()
    ignoring.communicate(timeout=PATIENCE)
    assert ignoring.returncode == 143
    assert snapshot(here / "work") == {}


def test_while_it_waits_for_sources() -> None:
    ours, theirs = os.pipe()
    with subprocess.Popen(
        [COMMAND, "detect", "-"],
        stdin=ours,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as child:
        os.close(ours)
        os.write(theirs, b"/a\n")
        assert child.stdout is not None
        assert child.stdout.readline() == "file:///a\n"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=PATIENCE) == ("", "interrupted\n")
    os.close(theirs)
    assert child.returncode == 130
