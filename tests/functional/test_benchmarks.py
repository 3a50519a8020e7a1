"""What judges us must be able to say no: turns, comparisons and goals of the benchmarks, without a benchmark."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchmarks.files import digests, tree
from benchmarks.harness import (
    Goal,
    Measured,
    Rival,
    Row,
    arguments,
    at_least,
    at_most,
    compared,
    of_traffic,
    perform,
    show,
    take_turns,
    times_as_fast,
    workplace,
)
from benchmarks.processes import peak_memory, run
from tests.support import processes


def _writes(name: str, content: bytes, log: list[str] | None = None) -> Rival:
    def work(place: Path) -> None:
        (place / "file").write_bytes(content)
        if log is not None:
            log.append(name)

    return Rival(name, work, tree)


def _measured(seconds: float, *, requests: int = 0, sent: int = 0) -> Measured:
    return Measured(seconds, seconds, requests, sent)


# ------------------------------------------------------------------------------------------------ turns


def test_each_round_begins_with_another_rival_and_leaves_nothing(tmp_path: Path) -> None:
    log: list[str] = []
    measured = take_turns([_writes(name, b"", log) for name in "abc"], 3, tmp_path)
    assert "".join(log) == "abcbcacababc"
    assert list(measured) == ["a", "b", "c"]
    assert list(tmp_path.iterdir()) == []


def test_what_is_to_be_kept_is_kept(tmp_path: Path) -> None:
    take_turns([_writes("a", b"x")], 2, tmp_path, keep=True)
    assert [tree(place) for place in tmp_path.iterdir()] == [digests({"file": b"x"})] * 3


@pytest.mark.parametrize(
    ("rivals", "expected", "said"),
    [
        pytest.param(
            [_writes("a", b"x"), _writes("b", b"y")], None, "not the same: a, and what b made", id="rivals differ"
        ),
        pytest.param(
            [_writes("a", b"x")],
            digests({"file": b"y"}),
            "not the same: what was expected, and what a made",
            id="not what was expected",
        ),
        pytest.param([Rival("a", lambda place: None, tree)], None, "was left without a file", id="nothing was made"),
    ],
)
def test_rivals_who_do_not_do_the_same_are_not_compared(
    rivals: list[Rival], expected: object, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=said):
        take_turns(rivals, 1, tmp_path, expected=expected)
    assert list(tmp_path.iterdir()) == []


def test_servers_are_asked_what_one_rival_alone_wanted(tmp_path: Path) -> None:
    class Server:
        requests = 0

        def forget(self) -> None:
            self.requests = 0

        def traffic(self) -> tuple[int, int]:
            return self.requests, 10 * self.requests

    server = Server()

    def asks(times: int) -> Callable[[Path], object]:
        return lambda place: setattr(server, "requests", server.requests + times)

    measured = take_turns([Rival("once", asks(1)), Rival("twice", asks(2))], 2, tmp_path, counter=server)
    assert {name: (each.requests, each.sent) for name, each in measured.items()} == {"once": (1, 10), "twice": (2, 20)}


# ------------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("goal", "value", "reached", "said"),
    [
        pytest.param(at_most(2), 2.0, True, "goal: at most 2, reached", id="at most"),
        pytest.param(at_most(2), 2.01, False, "goal: at most 2, MISSED", id="more"),
        pytest.param(at_least(8, aim=12), 8.0, True, "goal: at least 8 (aim: 12), reached", id="at least"),
        pytest.param(at_least(8, aim=12), 7.99, False, "goal: at least 8 (aim: 12), MISSED", id="less"),
    ],
)
def test_a_goal_is_reached_or_missed(
    goal: Goal, value: float, reached: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show("title", [Row("first", 1.0), Row("judged", value, goal=goal)]) is reached
    assert said in capsys.readouterr().out


def test_a_table_has_ratios_to_one_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    measured = {"peer": _measured(4, requests=3, sent=2_000), "ours": _measured(1, requests=2, sent=10)}
    rows = compared(measured, "peer", goals={"ours": at_most(0.2)}, note=of_traffic)
    rows += [times_as_fast(measured, "ours", name, at_least(4)) for name in ("peer", "nobody")]
    assert show("title", rows) is False
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()] == [
        "",
        "title",
        "peer 1.00 x 3 requests, 2,000 bytes",
        "ours 0.25 x 2 requests, 10 bytes goal: at most 0.2, MISSED",
        "times as fast as peer 4.00 goal: at least 4, reached",
        "times as fast as nobody – it is not here",
    ]


@pytest.mark.parametrize(
    ("only", "code"),
    [
        pytest.param(None, 1, id="all of them"),
        pytest.param(["good"], 0, id="without the one that misses"),
        pytest.param(["bad"], 1, id="only that one"),
    ],
)
def test_the_exit_code_says_whether_a_goal_was_missed(only: list[str] | None, code: int) -> None:
    done = []

    def job(name: str, reached: bool) -> bool:
        done.append(name)
        return reached

    jobs = {"bad": partial(job, "bad", False), "good": partial(job, "good", True)}
    assert perform(jobs, only) == code
    assert done == (only or ["bad", "good"])


def test_jobs_can_be_chosen_in_every_way() -> None:
    parser = arguments("about", ["a", "b", "c"], rounds=9)
    assert parser.parse_args([]).rounds == 9
    assert parser.parse_args(["--quick"]).rounds == 3
    assert parser.parse_args(["--only", "a", "b", "--only", "c"]).only == ["a", "b", "c"]


# ------------------------------------------------------------------------------------------------ where and how


def test_a_directory_that_is_not_there_is_made_and_left_empty(tmp_path: Path) -> None:
    directory = tmp_path / "not" / "there"
    with workplace(directory) as work:
        (work / "file").touch()
        assert work.parent == directory
    assert list(directory.iterdir()) == []


def test_a_benchmark_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    def child() -> None:
        with workplace(tmp_path) as work:
            (work / "file").touch()
            os.kill(os.getpid(), signal.SIGTERM)

    assert processes.wait(processes.start(child)) == processes.FAILED  # it left by an exception, and so cleaned up
    assert list(tmp_path.iterdir()) == []


def test_the_memory_of_a_process_is_its_own(tmp_path: Path) -> None:
    held = bytearray(os.urandom(1 << 20)) * 300
    assert peak_memory(sys.executable, "-c", "pass", place=tmp_path) < 150
    assert peak_memory(sys.executable, "-c", "bytearray(b'x') * (200 << 20)", place=tmp_path) > 200
    assert len(held) == 300 << 20


@pytest.mark.parametrize("way", [pytest.param(run, id="timed"), pytest.param(peak_memory, id="weighed")])
def test_a_process_that_fails_ends_the_benchmark(way: Callable[..., object], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no luck"):
        way(sys.executable, "-c", "import sys; sys.exit('no luck')", place=tmp_path)
