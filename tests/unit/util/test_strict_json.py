from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from getmodules.util.strict_json import (
    DEPTH,
    VALUES,
    StrictJsonError,
    array,
    array_of,
    integer,
    loads,
    mapping,
    optional,
    required,
    size,
    string,
    table_of,
)

LIMIT = 1 << 20


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(
            b'{"a": [1, -2, 1.5, true, false, null, "x"]}', {"a": [1, -2, 1.5, True, False, None, "x"]}, id="all"
        ),
        pytest.param(b' \n"x"\t', "x", id="blanks-around"),
        pytest.param('"grün"'.encode(), "grün", id="utf-8"),
        pytest.param(rb'"\ud83d\ude00"', "😀", id="surrogate-pair"),
        pytest.param(rb'"\\ud800"', r"\ud800", id="escaped-backslash-is-no-surrogate"),
        pytest.param(b"9223372036854775807", 2**63 - 1, id="largest-integer"),
        pytest.param(b"[" * DEPTH + b"]" * DEPTH, None, id="deepest"),
        pytest.param(b"[" + b"{}," * 1000 + b"[]]", None, id="wide-is-not-deep"),
        pytest.param(
            json.dumps("[" * 500 + '"' + "{" * 500).encode(), "[" * 500 + '"' + "{" * 500, id="brackets-in-text"
        ),
        pytest.param(b'{"A": 1, "a": 2}', {"A": 1, "a": 2}, id="names-differ-by-case"),
        pytest.param(b'["' + b",[{" * (LIMIT // 4) + b'"]', None, id="marks-in-text-are-no-values"),
        pytest.param(b"[" + b"0," * (VALUES - 2) + b"0]", None, id="as-many-values-as-allowed"),
    ],
)
def test_reads(data: bytes, value: Any) -> None:
    expected = json.loads(data) if value is None else value
    assert loads(data, "it", LIMIT) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "Expecting value at line 1, column 1", id="empty"),
        pytest.param(b'{"a": 1} x', "Extra data at line 1, column 10", id="something-behind"),
        pytest.param(b'{"a": 1,}', "at line 1", id="trailing-comma"),
        pytest.param(b'{"a": 1, "a": 1}', "the name 'a' stands twice", id="duplicate-name"),
        pytest.param(
            b'[{"x": {"b": 1, "\\u0062": 2}}]', "the name 'b' stands twice", id="duplicate-name-escaped-and-deep"
        ),
        pytest.param(
            b'{"\\u001b[2J": 1, "\\u001b[2J": 2}', r"'\\x1b[2J' stands twice", id="duplicate-name-shown-escaped"
        ),
        pytest.param(b"NaN", "NaN is not a number of JSON", id="nan"),
        pytest.param(b"[Infinity]", "Infinity is not a number", id="infinity"),
        pytest.param(b"-Infinity", "-Infinity is not a number", id="minus-infinity"),
        pytest.param(b"1e999", "64 bits", id="float-becomes-infinite"),
        pytest.param(b"9223372036854775808", "64 bits", id="integer-too-large"),
        pytest.param(b"9" * 100_000, "64 bits", id="integer-endless"),
        pytest.param(b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1), f"more than {DEPTH} deep", id="too-deep"),
        pytest.param(b'{"a":' * 100_000, f"more than {DEPTH} deep", id="far-too-deep"),
        pytest.param(b"[" + b"0," * (VALUES - 1) + b"0]", f"more than {VALUES:,} values", id="too-many-values"),
        pytest.param(b"[" + b"{}," * (VALUES // 2) + b"0]", f"more than {VALUES:,} values", id="too-many-empty-ones"),
        pytest.param(b'"\xff"', "not UTF-8", id="not-utf-8"),
        pytest.param('{"a": 1}'.encode("utf-16"), "not UTF-8", id="utf-16"),
        pytest.param(b'\xef\xbb\xbf{"a": 1}', "BOM", id="byte-order-mark"),
        pytest.param(rb'{"a": "\uD800"}', "not UTF-8", id="lone-surrogate"),
        pytest.param(b'"a\nb"', "control character", id="line-break-in-text"),
        pytest.param(b"'a'", "Expecting value", id="single-quotes"),
        pytest.param(b"<html>", "Expecting value", id="html"),
    ],
)
def test_refuses(data: bytes, reason: str) -> None:
    with pytest.raises(StrictJsonError) as caught:
        loads(data, "the manifest", LIMIT)
    message = str(caught.value)
    assert message.startswith("the manifest is not usable JSON: ")
    assert reason in message
    assert len(message) < 300
    assert message.isprintable()


def test_refuses_more_bytes_than_the_limit_before_reading_them() -> None:
    assert loads(b"[1, 2]", "it", 6) == [1, 2]
    with pytest.raises(StrictJsonError, match=r"^it has 7 bytes, more than the 6 that it may have$"):
        loads(b"[1, 2] ", "it", 6)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'"' + rb"\"" * 500_000, id="quotes-without-an-end"),
        pytest.param(b"[" * 65 + b'"' + b"\\" * 999_999, id="backslashes-without-an-end"),
        pytest.param(b"[]," * 300_000, id="many-brackets"),
        pytest.param(b'"[' * 300_000, id="many-strings"),
    ],
)
def test_hostile_documents_take_linear_time(data: bytes) -> None:
    began = time.process_time()
    with pytest.raises(StrictJsonError):
        loads(data, "it", LIMIT)
    assert time.process_time() - began < 3


def test_a_refusal_carries_no_part_of_the_document() -> None:
    """Not in the message, and not in an exception behind it that a crash reporter would dump."""
    with pytest.raises(StrictJsonError) as caught:
        loads(json.dumps({"auth": "hunter2"}).encode() + b"x", "it", LIMIT)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "hunter2" not in str(caught.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_reads_whatever_json_can_say(value: Any, ascii_only: bool) -> None:
    assert loads(json.dumps(value, ensure_ascii=ascii_only).encode(), "it", LIMIT) == value


@given(st.binary(max_size=60) | st.text('[]{}",:\\u0aed1.-\n', max_size=60).map(str.encode))
def test_is_never_laxer_than_the_standard_library(data: bytes) -> None:
    try:
        value = loads(data, "it", LIMIT)
    except StrictJsonError:
        return
    assert value == json.loads(data)


# ------------------------------------------------------------------------------------------------- the checks


@pytest.mark.parametrize(
    ("check", "value"),
    [
        pytest.param(mapping, {"a": 1}, id="mapping"),
        pytest.param(array, [1, "x"], id="array"),
        pytest.param(string, "", id="string"),
        pytest.param(integer, -1, id="integer"),
        pytest.param(size, 0, id="size"),
        pytest.param(array_of(string), ["a", "b"], id="array-of-strings"),
        pytest.param(table_of(string), {"a": "b"}, id="table-of-strings"),
        pytest.param(table_of(array_of(integer)), {"a": [1]}, id="nested"),
    ],
)
def test_a_check_returns_what_it_was_given(check: Callable[[Any, str], Any], value: Any) -> None:
    assert check(value, "it") == value


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        pytest.param(mapping, [], "it must be an object, not an array", id="array-for-object"),
        pytest.param(array, {}, "it must be an array, not an object", id="object-for-array"),
        pytest.param(string, 1, "it must be a string, not a number", id="number-for-string"),
        pytest.param(string, None, "it must be a string, not null", id="null-for-string"),
        pytest.param(integer, True, "it must be a whole number, not true or false", id="bool-for-integer"),
        pytest.param(integer, 1.0, "it must be a whole number, not a number", id="float-for-integer"),
        pytest.param(integer, "1", "it must be a whole number, not a string", id="string-for-integer"),
        pytest.param(size, -1, "it must not be negative", id="negative-size"),
        pytest.param(array_of(string), ["a", 1], "it[1] must be a string, not a number", id="in-an-array"),
        pytest.param(table_of(string), {"a": {}}, "it: 'a' must be a string, not an object", id="in-a-table"),
        pytest.param(
            table_of(string), {"\x1b": 1}, r"it: '\\x1b' must be a string, not a number", id="name-is-escaped"
        ),
    ],
)
def test_a_check_says_what_is_wrong_where(check: Callable[[Any, str], Any], value: Any, message: str) -> None:
    with pytest.raises(StrictJsonError) as caught:
        check(value, "it")
    assert str(caught.value) == message


def test_required_and_optional_members() -> None:
    owner = {"a": "x", "n": None, "i": 1}
    assert required(owner, "a", string, "it") == "x"
    assert optional(owner, "a", string, "it") == "x"
    assert optional(owner, "n", string, "it") is None
    assert optional(owner, "absent", string, "it") is None
    for call, message in (
        (lambda: required(owner, "absent", string, "it"), "it has no 'absent'"),
        (lambda: required(owner, "n", string, "it"), "it: 'n' must be a string, not null"),
        (lambda: required(owner, "i", string, "it"), "it: 'i' must be a string, not a number"),
        (lambda: optional(owner, "i", string, "it"), "it: 'i' must be a string, not a number"),
    ):
        with pytest.raises(StrictJsonError) as caught:
            call()
        assert str(caught.value) == message
