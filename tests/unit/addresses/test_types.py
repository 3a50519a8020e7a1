"""What stands behind the question mark."""

from __future__ import annotations

import pytest

from getmodules import Arguments
from getmodules.addresses.grammar import parse_query


def test_arguments_are_a_mapping_that_remembers() -> None:
    arguments = parse_query("b=%2f&a=1&c")
    assert list(arguments) == ["b", "a", "c"]
    assert (arguments["b"], arguments.get("nosuch"), len(arguments)) == ("/", None, 3)
    assert arguments.query == "b=%2f&a=1&c"
    with pytest.raises(KeyError):
        arguments["nosuch"]
    assert bool(Arguments()) is False


@pytest.mark.parametrize(
    ("query", "name", "value", "expected"),
    [
        pytest.param("a=1&b=2", "a", "3", "a=3&b=2", id="in its old place"),
        pytest.param("a=1", "b", "2", "a=1&b=2", id="at the end"),
        pytest.param("", "tag", "1.0+x", "tag=1.0+x", id="a plus stays"),
        pytest.param("", "u", "file:https://h/x?a=b&c", "u=file:https://h/x%3Fa%3Db%26c", id="an address"),
        pytest.param("", "v", "a b#%", "v=a%20b%23%25", id="what no query can hold"),
    ],
)
def test_an_argument_is_set(query: str, name: str, value: str, expected: str) -> None:
    arguments = parse_query(query).with_value(name, value)
    assert arguments.query == expected
    assert parse_query(expected)[name] == value


def test_arguments_with_and_without() -> None:
    arguments = parse_query("a=1&b=2&c=3")
    assert arguments.without("b", "x").query == "a=1&c=3"
    assert arguments.only("c", "a", "x").query == "a=1&c=3"
