"""The parser of a command: options anywhere, mistakes as errors of ours, help where it belongs."""

from __future__ import annotations

import argparse
import io
import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

from getmodules.api.limits import Limits
from getmodules.cli import options as subject
from getmodules.cli.render import Console
from getmodules.errors import ConfigError
from tests.support.commandline import call


def _parser() -> subject.Parser:
    parser = subject.Parser(usage="getmodules try THING... [OPTION...]", description="d", epilog="e")
    parser.add_argument("things", nargs="+")
    parser.add_argument("--colour")
    parser.add_argument("--number", type=int)
    subject.add_output(parser)
    return parser


def _parse(*argv: str) -> argparse.Namespace:
    return _parser().parse(argv, Console(stdout=io.StringIO(), stderr=None, environ={}))


@pytest.mark.parametrize(
    ("argv", "things", "colour"),
    [
        pytest.param(["a", "b"], ["a", "b"], None, id="only arguments"),
        pytest.param(["a", "--colour", "red", "b"], ["a", "b"], "red", id="option between arguments"),
        pytest.param(["--colour=red", "a"], ["a"], "red", id="option first"),
        pytest.param(["-"], ["-"], None, id="a lone dash"),
        pytest.param(["--", "--colour", "-x"], ["--colour", "-x"], None, id="after two dashes"),
        pytest.param(["a", "--colour", "red", "--", "-b"], ["a", "-b"], "red", id="before and after two dashes"),
        pytest.param(["--", "--", "a"], ["--", "a"], None, id="the second two dashes are an argument"),
    ],
)
def test_options_may_stand_anywhere(argv: list[str], things: list[str], colour: str | None) -> None:
    parsed = _parse(*argv)
    assert (parsed.things, parsed.colour) == (things, colour)


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        pytest.param([], "the following arguments are required: things", "usage: getmodules try", id="too few"),
        pytest.param(["a", "--colour"], "argument --colour: expected one argument", "usage: ", id="no value"),
        pytest.param(["a", "--number", "x"], "argument --number: invalid int value: 'x'", "usage: ", id="bad value"),
        pytest.param(["a", "--color=red"], "there is no option '--color' here", "did you mean --colour?", id="near"),
        pytest.param(["a", "--xyz"], "there is no option '--xyz' here", "usage: ", id="far"),
        pytest.param(["a", "--col", "red"], "there is no option '--col' here", "--colour", id="abbreviated"),
        pytest.param(["a", "-q", "-v"], "argument -v/--verbose: not allowed with argument -q", "usage: ", id="both"),
        pytest.param(
            ["a", "--number", "https://u:secret@h/"], "invalid int value: 'https://u:****@h/'", "", id="a secret"
        ),
    ],
)
def test_a_mistake_is_an_error_of_ours(argv: list[str], message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _parse(*argv)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.code == "config"


@pytest.mark.parametrize("words", [["a", "b", "c"], ["a", "b", "--", "c"]], ids=["plain", "after two dashes"])
def test_one_argument_too_many(words: list[str]) -> None:
    result = call("get", *words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: one argument too many: 'c'\n")


def test_help_goes_to_the_console_and_ends() -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        _parser().parse(["--help"], Console(stdout=out, stderr=None, environ={}))
    assert ended.value.code == 0
    assert out.getvalue().startswith("usage: getmodules try THING... [OPTION...]\n\nd\n")
    assert out.getvalue().endswith("\ne\n")


def test_the_help_of_limit_names_each_field() -> None:
    text = call("get", "--help").out.partition("Fields:")[2].partition("\n\n")[0]
    assert re.findall(r"\w+", text) == [field.name for field in fields(Limits)]


@pytest.mark.parametrize(
    ("name", "near"),
    [pytest.param("detct", "detect", id="typo"), pytest.param("xyz", None, id="nothing like it")],
)
def test_nearest(name: str, near: str | None) -> None:
    assert subject.nearest(name, ["detect", "get"]) == near


@pytest.mark.parametrize(
    ("name", "near"),
    [("--timout", "--timeout"), ("--offline", None), ("--plugin", "--no-plugin"), ("-timeout", "--timeout")],
)
def test_the_dashes_of_options_make_none_alike(name: str, near: str | None) -> None:
    assert subject.nearest(name, ["--no-plugin", "--json", "--timeout", "-q"]) == near


# ------------------------------------------------------------------------------------------------- base


def test_base_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert subject.base_of(argparse.Namespace(base=None)) == str(tmp_path)
    assert subject.base_of(argparse.Namespace(base="a/../b")) == str(tmp_path / "b")
    assert subject.base_of(argparse.Namespace(base="/srv")) == "/srv"


def test_an_empty_base_is_a_mistake() -> None:
    result = call("detect", "./a", "--base", "")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: --base is empty\n")


def test_without_a_current_directory_absolute_sources_still_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert call("detect", "/a").out == "file:///a\n"
        relative = call("detect", "./a")
        assert (relative.code, relative.out) == (2, "")
    finally:
        os.chdir(tmp_path)


# ------------------------------------------------------------------------------------------------ client


@pytest.mark.parametrize("command", ["get ./source dest", "resolve ./source"])
def test_limits_come_from_the_environment_and_options_beat_them(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*command.split(), "--limit", "entries=5", "--limit", "entries=x")
    assert (result.code, "--limit entries=x" in result.err) == (2, True)
    result = call(*command.split(), environ={"GETMODULES_LIMIT_ENTRIES": "x"})
    assert (result.code, "GETMODULES_LIMIT_ENTRIES" in result.err) == (2, True)


def test_the_limit_of_an_option_beats_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.tf").write_text("#\n")
    environ = {"GETMODULES_LIMIT_FILE_BYTES": "1"}
    assert call("get", "./source", "a", environ=environ).code == 3
    assert call("get", "./source", "a", "--limit", "file_bytes=1KiB", environ=environ).code == 0


@pytest.mark.parametrize("argv", [["get", "./a", "b"], ["detect", "./a"], ["resolve", "./a"], ["plugins"]])
def test_a_plugin_that_does_not_exist_cannot_be_taken_out(argv: list[str]) -> None:
    result = call(*argv, "--no-plugin", "htp")
    assert (result.code, result.out) == (2, "")
    assert "did you mean http?" in result.err


def test_a_plugin_that_was_taken_out_brings_nothing() -> None:
    assert call("detect", "https://h/x.zip").code == 0
    result = call("detect", "https://h/x.zip", "--no-plugin", "http", "--no-plugin", "git")
    assert result.code == 2
    assert "unknown-scheme" in result.err
