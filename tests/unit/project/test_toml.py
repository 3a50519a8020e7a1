"""TOML that people edit, with bounds, and errors that say where."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from getmodules import ConfigError
from getmodules.project import toml as subject
from tests.support.refusals import refusal, words_of

NAME = "getmodules.toml"


def _table(text: str) -> subject.TomlTable:
    return subject.parse(text, NAME)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a = \n", "line 1, column 5: invalid value", id="no value"),
        pytest.param("a = 1\n[b\n", "line 2, column 3", id="a header that does not end"),
        pytest.param("[a]\n[a]\n", "line 2, column 3", id="a table twice"),
        pytest.param("a = 1\na = 2\n", "line 2, column 6", id="a key twice"),
        pytest.param("[[a]]\n[a]\n", "line 2, column", id="a table that is a list"),
        pytest.param("[a]\n[[a]]\n", "line 2, column", id="a list that is a table"),
        pytest.param("a = 1\n[a.b]\n", "line 2, column", id="a table in a number"),
        pytest.param("a = 007\n", "line 1, column", id="a number that begins with zeros"),
        pytest.param('a = "', "getmodules.toml: ", id="the end, where no line is told"),
        pytest.param(f"a = {'1' * 5000}", "getmodules.toml", id="a number without an end"),
        pytest.param(f"a = {'[' * 100_000}", "nested too deeply", id="a nest without an end"),
        pytest.param(f"{'a.' * 5000}a = 1", "line 1: more than 100 dots", id="a key without an end"),
        pytest.param(f"b = {{{'a.' * 5000}a = 1}}", "line 1: more than 100 dots", id="a key in an inline table"),
        pytest.param("a = 1\n<<<<<<< HEAD\nb = 2\n=======\n", "line 2: there is a conflict of a merge", id="a merge"),
        pytest.param("a = 1\r\n=======\r\n", "line 2: there is a conflict of a merge", id="its middle, on Windows"),
        pytest.param("a = 1\n>>>>>>> theirs\n", "line 2: there is a conflict of a merge", id="its end"),
    ],
)
def test_what_is_no_toml(text: str, message: str) -> None:
    error = refusal(ConfigError, "config", _table, text)
    assert message in error.message
    assert NAME in error.message
    assert error.hint or "deeply" in message or "dots" in message


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param(
            '# a\n\nversion = 1\n[[package]]\nid = "x"\nsize = 0\n[[package]]\nid = "y"\n',
            {"version": 1, "package": [{"id": "x", "size": 0}, {"id": "y"}]},
            id="a lock",
        ),
        pytest.param(
            '[defaults]\nx = "1"\n[modules.a]\nsource = "./a"\n[modules.b-1]\nsource="ü"\n',
            {"defaults": {"x": "1"}, "modules": {"a": {"source": "./a"}, "b-1": {"source": "ü"}}},
            id="a manifest",
        ),
        pytest.param('a = "x\\ty"\n', {"a": "x\ty"}, id="an escape"),
        pytest.param('a = "x"\r\n', {"a": "x"}, id="lines of Windows"),
        pytest.param("[a.b]\n[a]\nc = 1\n", {"a": {"b": {}, "c": 1}}, id="a table that another one has begun"),
        pytest.param("[[a]]\n[a.b]\nc = 1\n", {"a": [{"b": {"c": 1}}]}, id="a table in the last of a list"),
        pytest.param("a.b = 1\n", {"a": {"b": 1}}, id="a dotted key"),
        pytest.param(f"a = {'1' * 19}\n", {"a": int("1" * 19)}, id="a large number"),
    ],
)
def test_what_is_read(text: str, values: object) -> None:
    assert _table(text).values == values


def test_text_in_an_error_is_harmless() -> None:
    error = refusal(ConfigError, "config", _table, '"\\u001b[2Ja" = 1\n"\\u001b[2Ja" = 2\n')
    assert "\x1b" not in words_of(error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"a = 1\nb = '\xff'\n", "line 2: this is not UTF-8", id="not UTF-8"),
        pytest.param(b"#" * (subject.MAX_BYTES + 1), "larger than", id="too large"),
    ],
)
def test_files_that_are_not_read(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(content)
    assert message in refusal(ConfigError, "config", subject.read_text, path).message


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / NAME
    assert subject.read_text(path) is None
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert subject.read_text(path) == "a = 1\r\n"
    assert "is not a file" in refusal(ConfigError, "config", subject.read_text, tmp_path).message
    os.mkfifo(tmp_path / "fifo")  # and is not waited for
    assert "is not a file" in refusal(ConfigError, "config", subject.read_text, tmp_path / "fifo").message
    refusal(ConfigError, "config", subject.read_text, path / "below")
    assert "not possible" in refusal(ConfigError, "config", subject.read_text, Path("a\0b")).message


# -------------------------------------------------------------------------------------------------- tables


def test_what_a_table_gives() -> None:
    top = _table('[t]\ntext = "x"\nyes = true\nten = 10\n[[list]]\na = "1"\n[[list]]\na = "2"\n[t.below]\nb = "y"\n')
    table = top.table("t")
    assert (table.text("text"), table.text("none")) == ("x", None)
    assert (table.flag("yes"), table.flag("no")) == (True, False)
    assert (table.number("ten"), table.number("none")) == (10, None)
    assert dict(table.table("below").strings()) == {"b": "y"}
    assert [each.required("a") for each in top.tables("list")] == ["1", "2"]
    assert (top.tables("none"), dict(top.table("none").entries())) == ((), {})
    table.finish()
    top.finish()


@pytest.mark.parametrize(
    ("text", "use", "message"),
    [
        pytest.param("[t]\na = 1", lambda t: t.text("a"), "[t]: a is not a string", id="a number for a string"),
        pytest.param('[t]\na = ""', lambda t: t.text("a"), "[t]: a is empty", id="an empty string"),
        pytest.param('[t]\na = "x\\n"', lambda t: t.text("a"), "a has characters that cannot be seen", id="a line end"),
        pytest.param("[t]\n", lambda t: t.required("a"), "[t]: there is no a", id="missing"),
        pytest.param('[t]\na = "true"', lambda t: t.flag("a"), "a is not true or false", id="a string for a flag"),
        pytest.param("[t]\na = -1", lambda t: t.number("a"), "a is not a whole number", id="a negative number"),
        pytest.param("[t]\na = true", lambda t: t.number("a"), "a is not a whole number", id="a flag for a number"),
        pytest.param("[t]\na = 1", lambda t: t.table("a"), "a is not a table: write [t.a]", id="a number for a table"),
        pytest.param("[t]\na = 1", lambda t: t.tables("a"), "a is not a list of tables", id="a number for a list"),
        pytest.param("[t]\na = [1]", lambda t: t.tables("a"), "a is not a list of tables", id="a list of numbers"),
    ],
)
def test_what_a_table_refuses(text: str, use: object, message: str) -> None:
    error = refusal(ConfigError, "config", use, _table(text).table("t"))  # type: ignore[arg-type]
    assert message in error.message
    assert error.message.startswith(f"{NAME}: ")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        pytest.param("sorce", "did you mean source?", id="near"),
        pytest.param("xyz", "known: source, dest", id="far"),
    ],
)
def test_an_unknown_key(key: str, hint: str) -> None:
    table = _table(f'[modules.vpc]\n{key} = "x"').table("modules").table("vpc")
    table.text("source")
    error = refusal(ConfigError, "config", table.finish, "dest")
    assert error.message == f"{NAME}: [modules.vpc]: there is no key {key!r} here"
    assert error.hint == hint


def test_an_unknown_key_where_nothing_can_stand() -> None:
    assert refusal(ConfigError, "config", _table("a = 1").finish).hint == "nothing can stand here"


def test_what_is_wrong_with_a_value_is_said_with_its_place() -> None:
    def never(text: str) -> str:
        raise ConfigError("it is wrong", hint="make it right")

    error = refusal(ConfigError, "config", _table('[t]\na = "x"').table("t").checked, "a", never)
    assert (error.message, error.hint) == (f"{NAME}: [t]: a: it is wrong", "make it right")


def test_a_header_with_a_secret_is_not_shown() -> None:
    table = _table('["https://user:hunter22@h"]\n').table("https://user:hunter22@h")
    assert "hunter22" not in table.where


@given(st.text())
def test_a_string_of_toml_reads_back(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # half a surrogate pair is in no file
    assert tomllib.loads(f"a = {subject.toml_string(text)}") == {"a": text}
