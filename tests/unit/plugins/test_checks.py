"""What a plugin made, held against its annotations."""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import Any

import pytest

from getmodules import Blob, Demand, Digest, Gate, LimitExceededError
from getmodules.addresses.grammar import parse_query
from getmodules.addresses.types import Argument, Arguments, PackageAddress
from getmodules.plugins.checks import bounded_names, is_url, reads_back, wrong_blob, wrong_demand
from tests.support.refusals import refusal

SHA256 = "sha256:" + "0" * 64


class Loud(str):
    """What is written is not always what is checked."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("acme://h/x", True, id="a URL"),
        pytest.param("file:///", True, id="the root directory"),
        pytest.param("acme://h/x//y", False, id="with a subdirectory"),
        pytest.param("acme://h/x?a=1", False, id="with a query"),
        pytest.param("acme::acme://h/x", False, id="with a force"),
        pytest.param("h/x", False, id="shorthand"),
        pytest.param("acme://h/..", False, id="dots"),
        pytest.param("acme://h/\n", False, id="a line feed"),
        pytest.param("", False, id="empty"),
    ],
)
def test_a_url_and_nothing_else(text: str, expected: bool) -> None:
    assert is_url(text) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, True, id="only chunks"),
        pytest.param({"size": 0, "name": "a", "media_type": "b", "format": "c"}, True, id="everything"),
        pytest.param({"digests": (Digest.parse(SHA256),)}, True, id="a promise"),
        pytest.param({"size": -1}, False, id="a negative size"),
        pytest.param({"size": True}, False, id="a size as bool"),
        pytest.param({"size": 1.0}, False, id="a size as float"),
        pytest.param({"digests": [Digest.parse(SHA256)]}, False, id="a list of digests"),
        pytest.param({"digests": (SHA256,)}, False, id="a digest as text"),
        pytest.param({"name": b"a"}, False, id="a name as bytes"),
        pytest.param({"media_type": 3}, False, id="a media type as number"),
        pytest.param({"format": 3}, False, id="a format as number"),
        pytest.param({"validator": {"ETag": '"1"', "Last-Modified": "now"}}, True, id="a validator"),
        pytest.param({"validator": MappingProxyType({"ETag": "1"})}, True, id="a frozen validator"),
        pytest.param({"validator": None}, False, id="no validator at all"),
        pytest.param({"validator": (("ETag", "1"),)}, False, id="a validator as pairs"),
        pytest.param({"validator": {"ETag": b"1"}}, False, id="a validator as bytes"),
        pytest.param({"validator": {1: "1"}}, False, id="a validator with a number for a name"),
        pytest.param({"validator": {"ETag": Loud("1")}}, False, id="a validator of its own class"),
        pytest.param({"validator": {"ETag": "1\r\nX: y"}}, False, id="a validator with line ends"),
        pytest.param({"validator": {"ETag": "\x1b[2J"}}, False, id="a validator that no terminal should see"),
        pytest.param({"validator": {"ETag": "x" * 4_092}}, True, id="a long validator"),
        pytest.param({"validator": {"ETag": "x" * 4_093}}, False, id="too long a validator"),
        pytest.param({"validator": {str(number): "" for number in range(9)}}, False, id="too many validators"),
    ],
)
def test_a_blob(fields: dict[str, Any], expected: bool) -> None:
    assert (wrong_blob(Blob(chunks=(), **fields)) is None) is expected


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        pytest.param(Demand(gate=Gate.PIN, check="c", value="v", by="b"), True, id="of a pin"),
        pytest.param(Demand(gate=Gate.BYTES, check="c", value=SHA256, by="b"), True, id="of bytes"),
        pytest.param(Demand(gate=Gate.BYTES, check="c", value="v", by="b"), False, id="of bytes, without a digest"),
        pytest.param(Demand(gate=Gate.PIN, check="c", value="v", by="b", hint="h"), True, id="with a hint"),
        pytest.param(Demand(gate=Gate.PIN, check="c", value="v", by="b", hint=b"h"), False, id="with an odd hint"),  # type: ignore[arg-type]
        pytest.param(Demand(gate="pin", check="c", value="v", by="b"), False, id="a gate as text"),  # type: ignore[arg-type]
        pytest.param(Demand(gate=Gate.PIN, check="c", value=3, by="b"), False, id="a number"),  # type: ignore[arg-type]
        pytest.param("demand", False, id="text"),
    ],
)
def test_a_demand(demand: Any, expected: bool) -> None:
    assert (wrong_demand(demand) is None) is expected


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(Arguments((Argument("ref", "v1", "ref=v2"),)), id="another value"),
        pytest.param(Arguments((Argument("ref", "v1", "ref=v1&checksum=x"),)), id="two in one"),
        pytest.param(Arguments((Argument("ref", "v1", "ref=v1\n"),)), id="a newline"),
        pytest.param(Arguments((1,)), id="no argument"),  # type: ignore[arg-type]
        pytest.param(Arguments(None), id="nothing"),  # type: ignore[arg-type]
        pytest.param(Arguments((Argument("ref", 5, None),)), id="no strings"),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_are_not_what_they_look_like(arguments: Arguments) -> None:
    assert not reads_back(PackageAddress(getter="x", url="x://h/p", arguments=arguments))


def test_arguments_that_read_back() -> None:
    assert reads_back(PackageAddress(getter="x", url="x://h/p", arguments=parse_query("ref=a%2Fb&flag")))


def test_names_are_counted() -> None:
    looked: list[None] = []
    assert bounded_names(["a", "b", "a"], lambda: looked.append(None)) == ("a", "b")
    assert len(looked) == 3
    error = refusal(
        LimitExceededError, "limit-exceeded/metadata", bounded_names, itertools.repeat("x" * 100_000), lambda: None
    )
    assert "versions" in error.message
    with pytest.raises(TypeError):
        bounded_names([Loud("a")], lambda: None)
