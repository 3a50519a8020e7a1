"""The table of commands, and how a call finds its command."""

from __future__ import annotations

import importlib
import io
import os
import re
import subprocess
import sys

import pytest

from getmodules.cli import main as subject
from getmodules.cli.render import Console
from getmodules.version import VERSION
from tests.support.commandline import call


def test_help_says_what_it_is_and_names_each_command() -> None:
    result = call("--help")
    assert (result.code, result.err) == (0, "")
    assert "directory you can trust" in result.out
    for name, line in subject.COMMANDS.items():
        assert f"  {name} " in result.out
        assert line in result.out
    assert result.out.count("\n  getmodules ") == 3  # examples
    assert "exit codes:" in result.out


@pytest.mark.parametrize("name", subject.COMMANDS)
def test_the_help_of_a_command_has_examples(name: str) -> None:
    result = call(name, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"usage: getmodules {name} ")
    assert f"\n  getmodules {name} " in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())


@pytest.mark.parametrize("name", subject.COMMANDS)
def test_the_help_is_as_wide_as_the_terminal(name: str) -> None:
    narrow, wide = (call(name, "--help", environ={"COLUMNS": columns}) for columns in ("60", "100"))
    assert len(narrow.out.splitlines()) > len(wide.out.splitlines())


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(option: str) -> None:
    assert call(option) == (0, f"getmodules {VERSION}\n", "")


@pytest.mark.parametrize("command", [(), *((name,) for name in subject.COMMANDS)], ids=" ".join)
def test_help_is_a_command_as_well(command: tuple[str, ...]) -> None:
    assert call("help", *command) == call(*command, "--help")


def test_the_help_of_what_is_no_command() -> None:
    result = call("help", "gett")
    assert (result.code, result.out) == (2, "")
    assert "there is no command 'gett'" in result.err
    assert "hint: did you mean get?" in result.err


def _groups(help_text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in help_text.split("\n\n"):
        title, colon, body = part.partition(":\n")
        if colon and body.startswith("  "):
            found[title] = body
    return found


def test_the_help_has_groups() -> None:
    groups = _groups(call("get", "--help").out)
    assert list(groups)[:4] == ["what", "where from", "network", "output"]
    for group, options in {
        "what": ("SOURCE", "DEST", "--expect", "--force", "--limit"),
        "where from": ("--base", "--registry", "--offline", "--no-cache", "--no-plugin"),
        "output": ("--help", "--help-all", "--json", "--quiet", "--verbose", "--progress"),
    }.items():
        for option in options:
            shown = re.compile(rf"^  (-\w, )?{option}\b", re.MULTILINE)
            assert [title for title in list(groups)[:4] if shown.search(groups[title])] == [group]


NETWORK = {"--ca-file", "--client-cert", "--plain-http", "--mirror"}


@pytest.mark.parametrize("name", subject.COMMANDS)
def test_the_network_is_in_full_with_help_all_only(name: str) -> None:
    short, full = (_groups(call(name, option).out) for option in ("--help", "--help-all"))
    assert ("network" in short) is ("network" in full)
    for group in short.keys() - {"network"}:
        assert short[group].split() == full[group].split()
    if "network" in short:
        options = re.findall(r"--[a-z-]+", short["network"])
        assert {*NETWORK, "--help-all"} <= set(options)
        assert len(short["network"].splitlines()) <= 3
        for option in {*options} - {"--help-all"}:
            assert re.search(rf"^  {option} \S+(?:\n|\s{{2,}}| NAME)", full["network"], re.MULTILINE)
    else:
        assert "--ca-file" not in call(name, "--help-all").out


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("init", "getmodules add "),
        ("update", "getmodules lock --upgrade"),
        ("upgrade", "getmodules lock --upgrade"),
        ("list", "getmodules tree"),
        ("sync", "getmodules install"),
    ],
)
def test_commands_of_other_tools_are_answered_with_ours(name: str, ours: str) -> None:
    result = call(name, "--json")
    assert result.code == 2
    assert result.object["error"]["code"] == "config"
    assert result.object["error"]["message"] == f"there is no command '{name}'"
    assert result.object["error"]["hint"].startswith(ours)
    assert f"hint: {ours}" in result.err


def test_without_a_command_the_help_is_a_mistakes_message() -> None:
    result = call()
    assert (result.code, result.out) == (2, "")
    assert result.err == call("--help").out


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        pytest.param(["gett"], "there is no command 'gett'", "did you mean get?", id="near"),
        pytest.param(["zzz"], "there is no command 'zzz'", "the commands are: get, add", id="far"),
        pytest.param(["main"], "there is no command 'main'", "", id="a module that is no command"),
        pytest.param(["https://u:secret@h/"], "'https://u:****@h/'", "", id="an address with a password"),
        pytest.param(["--vers"], "there is no option '--vers' here", "did you mean --version?", id="abbreviated"),
        pytest.param(["--wrong", "get"], "there is no option '--wrong' here", "", id="option before the command"),
    ],
)
def test_what_is_no_command(argv: list[str], message: str, hint: str) -> None:
    result = call(*argv)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert hint in result.err
    assert "secret" not in result.err
    assert result.err.endswith("  code: config\n")


def test_a_mistake_is_json_as_well() -> None:
    result = call("gett", "--json")
    assert result.code == 2
    assert result.object == {
        "error": {
            "code": "config",
            "message": "there is no command 'gett'",
            "hint": "did you mean get?",
            "address": None,
        }
    }
    assert "there is no command 'gett'" in result.err


def test_json_after_two_dashes_is_no_option() -> None:
    result = call("detect", "--", "--json")
    assert (result.code, result.out) == (2, "")
    assert "address: --json" in result.err


def test_each_command_is_a_module_with_a_parser_and_a_run() -> None:
    for name in subject.COMMANDS:
        module = importlib.import_module(f"getmodules.cli.{name}")
        assert callable(module.parser)
        assert callable(module.run)


@pytest.mark.parametrize(
    "argv", [["--help"], ["--version"], *([name, "--help"] for name in subject.COMMANDS)], ids=" ".join
)
def test_nothing_heavy_is_imported_to_help(argv: list[str]) -> None:
    code = (
        "import sys; from getmodules.cli.main import entry; code = entry();"
        "heavy = {'pluggy', 'requests', 'furl', 'git', 'oras', 'json', 'dataclasses', 'getmodules.client'};"
        "sys.exit(' '.join(heavy & set(sys.modules)) or code)"
    )
    # Without site: what a machine's start-up files import is not ours.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, *argv], capture_output=True, text=True, cwd=_root(), check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def _root() -> str:
    return os.path.dirname(os.path.dirname(subject.__file__.removesuffix("cli/main.py")))


def test_the_entry_point_runs_what_the_process_was_called_with(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = Console(stdout=out, stderr=io.StringIO(), environ={})
    monkeypatch.setattr(sys, "argv", ["getmodules", "--version"])
    monkeypatch.setattr(Console, "of_process", lambda: console)
    handlers = _handlers()
    try:
        assert subject.entry() == 0
    finally:
        _restore(handlers)
    assert out.getvalue() == f"getmodules {VERSION}\n"


def _handlers() -> dict[int, object]:
    import signal

    return {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


def _restore(handlers: dict[int, object]) -> None:
    import signal

    for number, handler in handlers.items():
        signal.signal(number, handler)  # type: ignore[arg-type]
