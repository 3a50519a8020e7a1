"""What is printed: data on stdout, messages on stderr, nothing harmful on either."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from getmodules.cli import render as subject
from getmodules.cli.render import Console, OutputError, ReaderGoneError
from getmodules.errors import ConfigError, NetworkError, NotFoundError
from tests.support.commandline import Terminal


class Broken(io.StringIO):
    """A stream on which nothing can be written, for a reason."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.attempts = 0

    def flush(self) -> None:
        self.attempts += 1
        raise OSError(self.number, os.strerror(self.number))


def _console(**streams: object) -> Console:
    return Console(**{"stdout": io.StringIO(), "stderr": io.StringIO(), "environ": {}, **streams})  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- data


def test_data_and_messages_go_different_ways() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = _console(stdout=out, stderr=err)
    console.data("data")
    console.message("message")
    assert (out.getvalue(), err.getvalue()) == ("data\n", "message\n")


@pytest.mark.parametrize("json_wanted", [False, True])
def test_a_result_is_text_or_json(json_wanted: bool) -> None:
    out = io.StringIO()
    console = _console(stdout=out)
    console.json = json_wanted
    console.result("text", {"b": 1, "a": None})
    assert out.getvalue() == ('{"b": 1, "a": null}\n' if json_wanted else "text\n")


def test_json_is_ascii_on_one_line_and_brings_back_every_name() -> None:
    out = io.StringIO()
    names = ["é中", "\x1b[31m\n", "\x9b2J", "not utf-8: \udcff", "\u202e"]
    _console(stdout=out).json_line({"names": names})
    assert out.getvalue().isascii()
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()
    assert json.loads(out.getvalue()) == {"names": names}


def test_data_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(OutputError) as caught:
        _console(stdout=Broken(errno.ENOSPC)).data("data")
    assert caught.value.code == "output"
    assert caught.value.exit_code == 1
    assert caught.value.message == "cannot write to standard output: No space left on device"


def test_no_stdout_at_all_is_an_error_too() -> None:
    with pytest.raises(OutputError, match="standard output is closed") as caught:
        _console(stdout=None).data("data")
    assert caught.value.code == "output"


def test_a_reader_that_went_away_is_no_error_of_ours() -> None:
    with pytest.raises(ReaderGoneError):
        _console(stdout=Broken(errno.EPIPE)).data("data")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE, errno.EIO])
def test_messages_that_cannot_be_written_are_dropped(number: int) -> None:
    out, err = io.StringIO(), Broken(number)
    console = _console(stdout=out, stderr=err)
    console.message("one")
    console.message("two")
    console.data("data")
    assert out.getvalue() == "data\n"
    assert err.attempts == 1


def test_without_stderr_there_are_no_messages() -> None:
    console = _console(stderr=None)
    console.error(ConfigError("wrong"))
    console.line("working")
    assert not console.animates


def test_what_python_would_write_at_its_end_goes_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("w") as stream:
        stream.write("buffered")
        subject._abandon(stream)
    assert path.read_text() == ""


# ---------------------------------------------------------------------------------------------- messages


def test_an_error_about_some_modules() -> None:
    err = io.StringIO()
    _console(stderr=err).error_of_modules(NotFoundError("there is nothing"), ["vpc", "net"], None)
    assert err.getvalue() == "error: vpc, net: there is nothing\n  code: not-found\n"


def test_an_error_about_many_modules() -> None:
    """All names are there, on lines that fit; the code stays last, where scripts look for it."""
    err = io.StringIO()
    names = [f"module-{number}" for number in range(14)]
    console = _console(stderr=err, environ={"COLUMNS": "40"})
    console.error_of_modules(NetworkError("h is down", hint="wait"), names, "oci://h/p")
    first, *lines = err.getvalue().splitlines()
    assert first == "error: 14 modules: h is down"
    listed = [line for line in lines if "module-" in line]
    assert ", ".join(line.strip().removeprefix("modules: ").rstrip(",") for line in listed) == ", ".join(names)
    assert len(listed) == 6
    assert max(map(len, listed)) <= 40
    assert lines[len(listed) :] == ["  address: oci://h/p", "  hint: wait", "  code: network"]


def test_a_name_that_is_wider_than_the_terminal_is_not_cut() -> None:
    err = io.StringIO()
    names = ["n" * 60, *"abc"]
    _console(stderr=err, environ={"COLUMNS": "20"}).error_of_modules(ConfigError("wrong"), names, None)
    assert "n" * 60 in err.getvalue()


def test_an_error_for_people() -> None:
    err = io.StringIO()
    _console(stderr=err).error(NotFoundError("there is nothing", hint="look elsewhere", address="file:///a"))
    assert err.getvalue() == (
        "error: there is nothing\n  address: file:///a\n  hint: look elsewhere\n  code: not-found\n"
    )


def test_an_error_that_says_less() -> None:
    err = io.StringIO()
    _console(stderr=err).error(ConfigError("wrong"))
    assert err.getvalue() == "error: wrong\n  code: config\n"


HARMFUL = "a\x1b[2Jb\x07\x9bc\u202ed\u200be"


def test_no_escape_sequence_gets_through() -> None:
    err = Terminal()
    console = Console(stdout=io.StringIO(), stderr=err, environ={"NO_COLOR": "1"})
    console.error(NotFoundError(HARMFUL, hint=HARMFUL, address=HARMFUL))
    console.labelled("note", f"{HARMFUL}\n{HARMFUL}")
    assert all(line.isprintable() for line in err.getvalue().splitlines())
    assert err.getvalue().count(r"a\x1b[2Jb") == 5


def test_an_endless_message_is_cut() -> None:
    err = io.StringIO()
    _console(stderr=err).labelled("note", "x" * 100_000)
    assert len(err.getvalue()) < 3_000


def test_whole_makes_harmless_and_never_cuts() -> None:
    text = (HARMFUL + "\U000e0001") * 1_000
    shown = subject.harmless(text)
    assert shown.isprintable()
    assert shown == subject.harmless(HARMFUL + "\U000e0001") * 1_000
    assert subject.harmless("") == ""


@pytest.mark.parametrize(
    ("terminal", "environ", "coloured"),
    [
        pytest.param(True, {"TERM": "xterm"}, True, id="terminal"),
        pytest.param(True, {}, True, id="terminal without a name"),
        pytest.param(True, {"TERM": "xterm", "NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param(True, {"TERM": "xterm", "NO_COLOR": ""}, True, id="NO_COLOR that is empty"),
        pytest.param(True, {"TERM": "dumb"}, False, id="dumb terminal"),
        pytest.param(False, {"TERM": "xterm"}, False, id="no terminal"),
    ],
)
def test_colours_only_where_they_are_seen_and_wanted(terminal: bool, environ: dict[str, str], coloured: bool) -> None:
    err = Terminal() if terminal else io.StringIO()
    Console(stdout=io.StringIO(), stderr=err, environ=environ).error(ConfigError("wrong"))
    assert err.getvalue().startswith("\x1b[1;31merror\x1b[0m: wrong" if coloured else "error: wrong")
    assert ("\x1b" in err.getvalue()) is coloured


# ------------------------------------------------------------------------------------------------- line


def test_a_line_is_written_over() -> None:
    err = Terminal()
    console = _console(stderr=err)
    console.line("a long line")
    console.line("short")
    console.line("short")
    console.line("")
    assert err.getvalue() == "\ra long line" + "\rshort      " + "\r     \r"


def test_several_lines_are_written_over() -> None:
    err = Terminal()
    console = _console(stderr=err)
    console.block(["one", "two", "three"])
    console.block(["one", "two", "three"])
    console.block(["four"])
    console.block([])
    assert err.getvalue() == "\r\x1b[Jone\ntwo\nthree" + "\r\x1b[2A\x1b[Jfour" + "\r    \r"


def test_several_lines_are_taken_away_before_anything_else_is_printed() -> None:
    both = Terminal()
    console = _console(stdout=both, stderr=both)
    console.block(["one", "two"])
    console.data("done")
    assert both.getvalue() == "\r\x1b[Jone\ntwo" + "\r\x1b[1A\x1b[J" + "done\n"


@pytest.mark.parametrize(
    ("environ", "height"),
    [
        pytest.param({"LINES": "7"}, 7, id="said"),
        pytest.param({"LINES": "0"}, 24, id="none"),
        pytest.param({}, 24, id="no terminal"),
    ],
)
def test_height(environ: dict[str, str], height: int) -> None:
    assert Console(stdout=io.StringIO(), stderr=io.StringIO(), environ=environ).height == height


@pytest.mark.parametrize("what", ["data", "message"])
def test_a_line_is_taken_away_before_anything_else_is_printed(what: str) -> None:
    both = Terminal()
    console = _console(stdout=both, stderr=both)
    console.line("working")
    getattr(console, what)("done")
    assert both.getvalue() == "\rworking\r       \rdone\n"


def test_threads_do_not_mix_their_lines() -> None:
    out = io.StringIO()
    console = _console(stdout=out)

    def write(letter: str) -> None:
        for _ in range(200):
            console.data(letter * 50)
            console.line(letter)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = out.getvalue().splitlines()
    assert len(lines) == 800
    assert {len(set(line)) for line in lines} == {1}


# ------------------------------------------------------------------------------------------------ streams


def test_lines_of_stdin_are_those_that_are_not_blank() -> None:
    console = _console(stdin=io.StringIO("a\n\n  \n b \r\nlast"))
    assert list(console.lines_of_stdin()) == ["a", " b ", "last"]


class ADirectory(io.StringIO):
    def __next__(self) -> str:
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        pytest.param(None, "standard input is closed", id="closed"),
        pytest.param(ADirectory(), "cannot read standard input: Is a directory", id="a directory"),
    ],
)
def test_stdin_that_cannot_be_read(stdin: io.StringIO | None, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        list(_console(stdin=stdin).lines_of_stdin())
    assert message in caught.value.message
    assert caught.value.code == "config"


def test_the_streams_of_the_process_never_fail_to_encode(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8"))
    console = Console.of_process()
    (line,) = console.lines_of_stdin()
    console.data(f"é {line}")
    assert raw.getvalue() == rb"\xe9 \udcff" + b"\n"


def test_a_process_may_have_no_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    console = Console.of_process()
    console.message("nobody hears this")
    with pytest.raises(OutputError):
        console.data("nor this")


# ------------------------------------------------------------------------------------------------- width


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        pytest.param("132", 132, id="said"),
        pytest.param("0", 80, id="zero"),
        pytest.param("-5", 80, id="negative"),
        pytest.param("wide", 80, id="no number"),
        pytest.param("²", 80, id="a digit that is no number"),
    ],
)
def test_width(columns: str, width: int) -> None:
    assert Console(stdout=io.StringIO(), stderr=None, environ={"COLUMNS": columns}).width == width


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("abc", 3, id="ascii"),
        pytest.param("é", 1, id="latin"),
        pytest.param("中文", 4, id="wide"),
        pytest.param("e\u0301", 1, id="combining"),
    ],
)
def test_cells(text: str, cells: int) -> None:
    assert subject.cells(text) == cells
