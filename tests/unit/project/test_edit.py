"""One table in, one table out, and every other character as it was."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from getmodules import ConfigError
from getmodules.project import edit as subject
from tests.support.refusals import refusal, words_of

PATH = Path("/p/getmodules.toml")

TEXT = """\
# All of our modules.

[defaults]
dest = "vendor"  # as before

# the network
[modules.net]
source = "./net"   # local
# dest = "x"

# the rest
[modules."vpc"]
source = "./vpc"

[mirrors]
"oci://a" = "oci://b"
"""


def _add(text: str, name: str = "new", **entry: str) -> str:
    return subject.with_module(text, {"source": "./new", **entry}, name, PATH)


def test_adding() -> None:
    assert _add(TEXT, version="~> 1.2") == TEXT + '\n[modules.new]\nsource = "./new"\nversion = "~> 1.2"\n'


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        pytest.param("", '[modules.new]\nsource = "./new"\n', id="to nothing"),
        pytest.param("# x", '# x\n\n[modules.new]\nsource = "./new"\n', id="after a line without an end"),
        pytest.param("# x\r\n", '# x\r\n\r\n[modules.new]\r\nsource = "./new"\r\n', id="with the line ends of Windows"),
    ],
)
def test_where_it_goes(text: str, edited: str) -> None:
    assert _add(text) == edited


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20))
def test_any_path_can_be_added(path: str) -> None:
    source = f"./{path}"
    try:
        edited = subject.with_module("", {"source": source}, "new", PATH)
    except ConfigError:
        return  # no address, or one with what looks like a secret
    assert tomllib.loads(edited) == {"modules": {"new": {"source": source}}}


@pytest.mark.parametrize(
    ("text", "name", "entry", "message"),
    [
        pytest.param(TEXT, "net", {}, "has a module net already", id="there already"),
        pytest.param(TEXT, "a b", {}, "is no name", id="a name"),
        pytest.param(TEXT, "new", {"source": "https://u:hunter22@h/x"}, "there is a secret", id="a secret"),
        pytest.param(TEXT, "new", {"version": "x"}, "[modules.new]: version", id="a version"),
        pytest.param(TEXT, "new", {"dest": "vendor/net/x"}, "lie one in the other", id="a place"),
        pytest.param("modules = {}\n", "new", {}, "cannot be changed safely", id="a table in one line"),
        pytest.param("[modules.a]\nsorce = 1\n", "new", {}, "there is no key", id="a manifest that is wrong already"),
    ],
)
def test_what_cannot_be_added(text: str, name: str, entry: dict[str, str], message: str) -> None:
    error = refusal(ConfigError, "config", _add, text, name, **entry)
    assert message in error.message
    assert "hunter22" not in words_of(error)


# ------------------------------------------------------------------------------------------------- taking out


def test_taking_out() -> None:
    assert subject.without_module(TEXT, "vpc", PATH) == TEXT.replace('[modules."vpc"]\nsource = "./vpc"\n\n', "")
    assert subject.without_module(TEXT, "net", PATH) == TEXT.replace('[modules.net]\nsource = "./net"   # local\n', "")


def test_what_was_added_and_taken_out_again_leaves_no_trace() -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n"), '[modules.a]\nsource = "./a"\n'):
        assert subject.without_module(_add(text), "new", PATH) == text


def test_the_last_one() -> None:
    assert subject.without_module('[modules.a]\nsource = "./a"\n', "a", PATH) == ""
    assert subject.without_module("[ modules . 'a' ] # x\nsource = './a'\n\n# end\n", "a", PATH) == "# end\n"


def test_a_string_that_looks_like_a_header() -> None:
    text = '[modules.a]\nsource = "./a"\n[modules.b]\nsource = "./b"\nversion = """\\\n  1.0.0\\\n"""\n'
    assert subject.without_module(text, "b", PATH) == '[modules.a]\nsource = "./a"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(TEXT, "has no module of this name", id="not there"),
        pytest.param('[modules]\nx.source = "./x"\n', "cannot take out x", id="dotted"),
        pytest.param('[modules]\nx = {source = "./x"}\n', "cannot take out x", id="in one line"),
        pytest.param('modules.x.source = "./x"\n', "cannot take out x", id="dotted, at the top"),
        pytest.param(
            "[modules.x]\nsource = '''./x\\\n[modules.x]\n'''\n", "source has characters", id="a string like a header"
        ),
    ],
)
def test_what_cannot_be_taken_out(text: str, message: str) -> None:
    assert message in refusal(ConfigError, "config", subject.without_module, text, "x", PATH).message


def test_the_nearest_name() -> None:
    assert refusal(ConfigError, "config", subject.without_module, TEXT, "vpcs", PATH).hint == "did you mean vpc?"
