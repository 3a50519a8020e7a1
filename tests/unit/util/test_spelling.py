"""Hints speak of parameters in a program, and of options on the command line: the table, and all that hints use."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator

import pytest

import getmodules
from getmodules import Client, Limits, OfflineError
from getmodules.cli.main import COMMANDS
from getmodules.net.settings import NetSettings
from getmodules.util.spelling import SPELLINGS, for_command_line, for_programs
from getmodules.util.values import names_of
from tests.support.checkout import PACKAGE

#: Folders whose texts are for the command line alone.
_TYPED_ONLY = {PACKAGE / "cli", PACKAGE / "testing"}
#: The message about an option's own value, for ``Limits.with_assignment``, which reads what was typed.
_OF_THE_OPTION = "--limit value"
#: Commands that a program has no call for: what they change is for people.
_PEOPLES = {"auth", "cache", "login", "logout"}
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_COMMAND = re.compile(r"(?<![\w/-])getmodules (\w+)")


def _own_options() -> set[str]:
    parsers = [importlib.import_module(f"getmodules.cli.{name}").parser() for name in COMMANDS]
    return {option for parser in parsers for action in parser._actions for option in action.option_strings}


def _filled(text: str) -> str:
    return re.sub(r"[{]([A-Z]+)[}]", r"\1", text)


@pytest.mark.parametrize(("typed", "parameter"), SPELLINGS, ids=[typed for typed, _ in SPELLINGS])
def test_both_spellings(typed: str, parameter: str) -> None:
    ours, theirs = f"do {_filled(typed)}, or not", f"do {_filled(parameter)}, or not"
    assert for_programs(ours) == for_programs(theirs) == theirs
    assert for_command_line(theirs) == for_command_line(ours) == ours


@pytest.mark.parametrize(("typed", "parameter"), SPELLINGS, ids=[typed for typed, _ in SPELLINGS])
def test_both_spellings_are_there(typed: str, parameter: str) -> None:
    for option in _OPTION.findall(typed):
        assert option in _own_options()
    for command in _COMMAND.findall(typed):
        assert command in COMMANDS
    names = re.findall(r"(\w+)=", _filled(parameter))
    if parameter.startswith("NetSettings("):
        assert names[0] in names_of(NetSettings)
    elif parameter.startswith("Limits("):
        assert names == ["FIELD"]
    elif parameter.startswith("Client."):
        method = getattr(Client, re.findall(r"\w+", parameter)[1])
        if callable(method):
            inspect.signature(method).bind_partial(None, **dict.fromkeys(names))
    elif parameter.endswith("()"):
        assert hasattr(getmodules, parameter.removesuffix("()"))
    else:
        (name,) = names
        calls = (Client, Client.get, Client.install)
        assert any(name in inspect.signature(call).parameters for call in calls)


def _prose() -> Iterator[tuple[str, str]]:
    """Where, and each text of the library that has more than one word; an f-string with a word for each value."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if _TYPED_ONLY.isdisjoint(path.parents) and path.name != "spelling.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            parts: set[int] = set()
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    parts |= {id(value) for value in node.values}
                    words = [str(v.value) if isinstance(v, ast.Constant) else "value" for v in node.values]
                    text = "".join(words)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes | parts:
                    text = node.value
                else:
                    continue
                if " " in text.strip():
                    yield f"{path.name}:{node.lineno}", text


def test_each_option_that_a_text_of_the_library_names_has_a_parameter() -> None:
    own = _own_options()
    left = [
        f"{where}: {option}"
        for where, text in _prose()
        for option in _OPTION.findall(for_programs(text))
        if option in own and text != _OF_THE_OPTION
    ]
    assert left == [], "write it as a message that needs no option, or add a row to SPELLINGS"


def test_each_command_that_a_hint_of_the_library_names_has_a_call() -> None:
    left = [
        f"{where}: getmodules {command}"
        for where, text in _prose()
        for command in _COMMAND.findall(for_programs(text))
        if command in COMMANDS and command not in _PEOPLES
    ]
    assert left == []


def test_there_is_prose_to_look_at() -> None:
    texts = [text for _, text in _prose()]
    assert sum(for_programs(text) != text for text in texts) > 30


def test_an_error_has_both() -> None:
    error = OfflineError("not here", hint="run it once without --offline")
    assert error.hint == "run it once without offline=True"
    assert error.__notes__ == ["hint: run it once without offline=True"]
    assert error.as_json()["hint"] == error.typed_hint == "run it once without --offline"


def test_a_hint_that_is_made_from_another_one_has_both() -> None:
    error = OfflineError("not here", hint="run it once without --offline")
    error.hint = f"{error.hint}, or --no-cache"
    assert error.hint == "run it once without offline=True, or use_cache=False"
    assert error.__notes__ == [f"hint: {error.hint}"]
    assert OfflineError("m", hint=error.hint).typed_hint == "run it once without --offline, or --no-cache"


@pytest.mark.parametrize(
    "text", ["git config --global --add safe.directory PATH", "gpg --detach-sign", "oras push --artifact-type x",
             "--forced", "x--force", "git checkout --ours getmodules.lock", "a getmodules lockfile",
             'write expect = "h1:…"'],
)  # fmt: skip
def test_what_others_take_stays_as_it_is(text: str) -> None:
    assert for_programs(text) == for_command_line(text) == text


def test_words_of_any_kind() -> None:
    assert for_programs("--header [::1]:80 A=env:B; --limit seconds=9)") == (
        'NetSettings(headers={"[::1]:80": {"A": Secret("env:B")}}); Limits(seconds=9))'
    )
    assert Limits(seconds=9)
