"""Limits: finite, named, on by default, and every error names the option."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import pytest

from getmodules import ConfigError, LimitExceededError, Limits
from getmodules.api.limits import metadata_exceeded
from tests.support.refusals import refusal, words_of

FIELDS = [field.name for field in fields(Limits)]


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert asdict(Limits()) == {
        "total_bytes": 2 << 30,
        "file_bytes": 1 << 30,
        "entries": 100_000,
        "ratio": 200,
        "path_bytes": 4_096,
        "depth": 64,
        "download_bytes": 2 << 30,
        "seconds": 3_600,
    }


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        pytest.param("entries=5", "entries", 5, id="a number"),
        pytest.param("total_bytes=5", "total_bytes", 5, id="bytes"),
        pytest.param("total-bytes=5", "total_bytes", 5, id="a hyphen"),
        pytest.param(" entries = 5 ", "entries", 5, id="blanks"),
        pytest.param("file_bytes=64MiB", "file_bytes", 64 << 20, id="MiB"),
        pytest.param("file_bytes=64MB", "file_bytes", 64_000_000, id="MB"),
        pytest.param("file_bytes=1KiB", "file_bytes", 1024, id="KiB"),
        pytest.param("file_bytes=1KB", "file_bytes", 1000, id="KB"),
        pytest.param("file_bytes=3GiB", "file_bytes", 3 << 30, id="GiB"),
        pytest.param("file_bytes=1GB", "file_bytes", 10**9, id="GB"),
        pytest.param("file_bytes=1TiB", "file_bytes", 1 << 40, id="TiB"),
        pytest.param("file_bytes=1TB", "file_bytes", 10**12, id="TB"),
        pytest.param("file_bytes=7B", "file_bytes", 7, id="B"),
    ],
)
def test_an_assignment(text: str, field: str, value: int) -> None:
    limits = Limits().with_assignment(text)
    assert asdict(limits) == {**asdict(Limits()), field: value}


@pytest.mark.parametrize("field", FIELDS)
def test_each_limit_is_set_by_its_variable(field: str) -> None:
    environ = {f"GETMODULES_LIMIT_{field.upper()}": " 7 ", "GETMODULES_OTHER": "x", "PATH": "/"}
    assert getattr(Limits().with_environment(environ), field) == 7


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("entries", "FIELD=VALUE", id="no value"),
        pytest.param("", "FIELD=VALUE", id="empty"),
        pytest.param("nosuch=5", "no limit named", id="unknown"),
        pytest.param("=5", "no limit named", id="no name"),
        pytest.param("entries=", "whole number", id="an empty value"),
        pytest.param("entries=0", "positive", id="zero"),
        pytest.param("entries=-1", "whole number", id="negative"),
        pytest.param("entries=1.5", "whole number", id="a fraction"),
        pytest.param("entries=1e3", "whole number", id="an exponent"),
        pytest.param("entries=1_000", "whole number", id="underscores"),
        pytest.param("entries=٣", "whole number", id="digits of another script"),
        pytest.param("entries=5MiB", "whole number", id="a unit where none belongs"),
        pytest.param("file_bytes=5mib", "64MiB", id="a unit in lower case"),
        pytest.param("file_bytes=5 MiB", "64MiB", id="a blank before the unit"),
        pytest.param("file_bytes=unlimited", "64MiB", id="no limit at all"),
        pytest.param("file_bytes=" + "9" * 19, "64MiB", id="beyond any disk"),
        pytest.param("\x1b[2J=5", "no limit named", id="escape sequence"),
    ],
)
def test_an_assignment_that_is_refused(text: str, word: str) -> None:
    error = refusal(ConfigError, "config", Limits().with_assignment, text)
    assert word in error.message
    assert words_of(error).replace("\n", "").isprintable()


def test_a_variable_that_is_refused_is_named() -> None:
    error = refusal(ConfigError, "config", Limits().with_environment, {"GETMODULES_LIMIT_ENTRIES": "many"})
    assert "GETMODULES_LIMIT_ENTRIES" in error.message
    error = refusal(ConfigError, "config", Limits().with_environment, {"GETMODULES_LIMIT_NOSUCH": "1"})
    assert all(field in (error.hint or "") for field in FIELDS)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "5", None])
def test_a_limit_is_a_positive_whole_number(value: Any) -> None:
    assert "entries" in refusal(ConfigError, "config", Limits, entries=value).message


@pytest.mark.parametrize("field", [field for field in FIELDS if field != "seconds"])  # that is the deadline's
def test_an_error_names_the_limit_and_both_ways_to_raise_it(field: str) -> None:
    error = Limits().exceeded(field, "it has more")
    assert isinstance(error, LimitExceededError)
    assert error.code == f"limit-exceeded/{field.replace('_', '-')}"
    assert error.message.startswith("it has more")
    assert f"{getattr(Limits(), field):,}" in error.message
    assert f"--limit {field}=" in (error.typed_hint or "")
    assert f"GETMODULES_LIMIT_{field.upper()}" in (error.typed_hint or "")


def test_a_fixed_bound_says_that_it_is_one() -> None:
    error = metadata_exceeded("the names")
    assert error.code == "limit-exceeded/metadata"
    assert "fixed" in (error.hint or "")
