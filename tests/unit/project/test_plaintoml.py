"""What is read line by line is what the standard library reads; and what getmodules writes is read so."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from getmodules.project.edit import with_module
from getmodules.project.lockfile import Lock, LockedModule, LockedPackage, format_lock
from getmodules.project.plaintoml import read_plain

_names = st.sampled_from(["a", "b", "c-d", "E_1", "7", "a.b", "a.b.c", "b.a", "modules.vpc"])
_strings = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=8)
_values = st.one_of(
    _strings.map(lambda text: f'"{text}"'),
    st.integers(-3, 10**20).map(str),
    st.sampled_from(["007", "1_000", "true", "1.5", "'x'", "[]", "{}", '"""x"""', '"" ""', "1979-05-27", "0x1F", ""]),
)
_lines = st.one_of(
    _names.map(lambda name: f"[{name}]"),
    _names.map(lambda name: f"[[{name}]]"),
    st.builds("{}{}={}{}".format, _names, st.sampled_from(["", " ", "  "]), st.sampled_from(["", " "]), _values),
    _strings.map(lambda text: f"# {text}"),
    st.sampled_from(["", " ", "\t", "[", "[a", "a = ", '"a" = 1', "a = 1 # why", "a = 1 ", "\r", "=======", "[ a ]"]),
)


@given(st.lists(_lines, max_size=9).map("\n".join))
@example("[a]\n[a.b]\n[a]")
@example("[a.b]\n[a]\nb = 1")
@example("[[a]]\n[a.b]\nc = 1")
@example("[a]\n[[a]]")
@example('a = "1"\n[a]')
@example("a = 1\na = 1")
def test_it_is_what_the_standard_library_reads(text: str) -> None:
    plain = read_plain(text)
    assert plain is None or plain == tomllib.loads(text)


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        pytest.param("", True, id="nothing"),
        pytest.param('# a\n\nversion = 1\n[[package]]\nid = "x"\nsize = 0\n[[package]]\nid = "y"\n', True, id="a lock"),
        pytest.param(
            '[defaults]\nx = "1"\n[modules.a]\nsource = "./a"\n[modules.b-1]\nsource="ü"\n', True, id="a manifest"
        ),
        pytest.param('a = "x\\ty"\n', False, id="an escape"),
        pytest.param('a = "x"\r\n', False, id="lines of Windows"),
        pytest.param("a = 1\na = 1\n", False, id="a key twice"),
        pytest.param("[a]\n[a]\n", False, id="a table twice"),
        pytest.param("[[a]]\n[a]\n", False, id="a table that is a list"),
        pytest.param("[a]\n[[a]]\n", False, id="a list that is a table"),
        pytest.param("a = 1\n[a.b]\n", False, id="a table in a number"),
        pytest.param("[a.b]\n[a]\n", False, id="a table that is there already, in a way"),
        pytest.param("a.b = 1\n", False, id="a dotted key"),
        pytest.param(f"a = {'1' * 19}\n", False, id="a large number"),
    ],
)
def test_what_is_plain(text: str, is_plain: bool) -> None:
    plain = read_plain(text)
    assert (plain is not None) == is_plain
    if plain is not None:
        assert plain == tomllib.loads(text)


def test_what_is_written_is_plain() -> None:
    package = LockedPackage(address="http://h/a.zip?checksum=x", id="sha256:1", getter="http", archive="a", size=3)
    module = LockedModule(name="a", source="http://h/a.zip", package=package.address, dest="modules/a", h1="h1:x")
    lock = format_lock(Lock.of([(module, package)]))
    assert read_plain(lock) == tomllib.loads(lock)
    manifest = with_module("", {"source": "http://h/a.zip"}, "a", Path("getmodules.toml"))
    assert read_plain(manifest) == tomllib.loads(manifest)
