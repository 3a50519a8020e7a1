"""Patterns that are compiled when they are needed."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from getmodules import patterns
from getmodules.patterns import pattern


def test_nothing_is_compiled_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def watched(text: Any, flags: Any = 0) -> Any:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(patterns.re, "compile", watched)
    later = pattern("a+")
    assert compiled == []
    assert later.fullmatch("aaa")
    assert not later.match("b")
    assert compiled == ["a+"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(lambda p: p.match("ab")[0], "a", id="match"),
        pytest.param(lambda p: p.fullmatch("ab"), None, id="fullmatch"),
        pytest.param(lambda p: p.search("bA")[0], "A", id="search, with flags"),
        pytest.param(lambda p: [m[0] for m in p.finditer("xaxA")], ["a", "A"], id="finditer"),
        pytest.param(lambda p: p.findall("aba"), ["a", "a"], id="findall"),
        pytest.param(lambda p: p.sub("-", "xa"), "x-", id="sub"),
        pytest.param(lambda p: p.split("xay"), ["x", "y"], id="split"),
    ],
)
def test_it_does_what_a_pattern_does(call: Any, expected: object) -> None:
    assert call(pattern("a", re.IGNORECASE)) == expected


def test_bytes() -> None:
    assert pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_what_a_pattern_does_not_have() -> None:
    with pytest.raises(AttributeError):
        pattern("a").nothing_of_this_name  # type: ignore[attr-defined]  # noqa: B018


def test_many_threads_may_be_the_first() -> None:
    later = pattern("(x+)y")
    barrier = threading.Barrier(8)
    found: list[bool] = []

    def use() -> None:
        barrier.wait(30)
        found.append(later.fullmatch("xxy") is not None)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8
