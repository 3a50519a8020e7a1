"""``WWW-Authenticate`` as registries write it, and as nobody should."""

from __future__ import annotations

import time
from typing import Any

import pytest

from getmodules.getters.oci.auth import Challenge, choose_challenge, parse_challenges

BEARER = {"realm": "https://auth.example/token", "service": "registry.example", "scope": "repository:a/b:pull,push"}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("Basic", [("basic", {})], id="a scheme alone"),
        pytest.param('Basic realm="x"', [("basic", {"realm": "x"})], id="basic"),
        pytest.param("BASIC REALM=x", [("basic", {"realm": "x"})], id="capitals, a bare value"),
        pytest.param(
            'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
            [("bearer", BEARER)],
            id="bearer, a comma in a value",
        ),
        pytest.param(
            'Bearer realm = "https://auth.example/token" , service="registry.example"'
            '\t,\tscope="repository:a/b:pull,push"',
            [("bearer", BEARER)],
            id="blanks everywhere",
        ),
        pytest.param('Bearer realm="a\\"b\\\\c"', [("bearer", {"realm": 'a"b\\c'})], id="escapes"),
        pytest.param('Bearer realm="a",realm="b"', [("bearer", {"realm": "a"})], id="the first of two counts"),
        pytest.param('Bearer realm=""', [("bearer", {"realm": ""})], id="an empty value"),
        pytest.param(
            'Basic realm="x", Bearer realm="y"',
            [("basic", {"realm": "x"}), ("bearer", {"realm": "y"})],
            id="two schemes",
        ),
        pytest.param("Negotiate, Basic", [("negotiate", {}), ("basic", {})], id="two without parameters"),
        pytest.param('Bearer realm="x', [("bearer", {})], id="a quote that does not end"),
        pytest.param('Bearer realm="x" ???', [("bearer", {"realm": "x"})], id="garbage at the end"),
        pytest.param('=x, Basic realm="x"', [], id="garbage at the start"),
        pytest.param('"Bearer"', [], id="a quoted scheme"),
    ],
)
def test_a_header(header: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    assert [(each.scheme, each.parameters) for each in parse_challenges(header)] == expected


def test_what_is_too_long_is_cut() -> None:
    (found,) = parse_challenges('Basic realm="x", padding=' + "y" * 100_000)
    assert found.parameters["realm"] == "x"
    assert len(found.parameters["padding"]) < 5_000


@pytest.mark.parametrize("unit", ['"', "\\", ",", " ", "a ", "a=", 'a="', 'a="\\', "Bearer ", ", ,"])
def test_no_header_takes_long(unit: str) -> None:
    began = time.monotonic()
    parse_challenges("Bearer " + unit * (100_000 // len(unit)))
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    ("schemes", "chosen"),
    [
        pytest.param((), None, id="none"),
        pytest.param(("negotiate",), None, id="none that is known"),
        pytest.param(("basic",), "basic", id="basic"),
        pytest.param(("basic", "bearer"), "bearer", id="bearer before basic"),
        pytest.param(("negotiate", "basic"), "basic", id="the one that is known"),
    ],
)
def test_which_one_is_answered(schemes: tuple[str, ...], chosen: str | None) -> None:
    found: Any = choose_challenge(tuple(Challenge(scheme, {}) for scheme in schemes))
    assert (found.scheme if found else None) == chosen


def test_of_two_of_a_kind_the_first_is_answered() -> None:
    first = Challenge("bearer", {"realm": "1"})
    assert choose_challenge((first, Challenge("bearer", {"realm": "2"}))) is first
