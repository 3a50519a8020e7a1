from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from getmodules.api.limits import RATIO_FREE_BYTES, Limits
from getmodules.archive.selection import Output
from getmodules.archive.write_thread import WriteThread
from getmodules.archive.writer import TreeBuilder
from getmodules.errors import LimitExceededError
from tests.support.contexts import a_context
from tests.support.refusals import refusal


def a_place(tmp_path: Path, packed: int | None = None, **limits: int) -> TreeBuilder:
    return TreeBuilder(Output("", tmp_path), a_context(limits=replace(Limits(), **limits)), packed)


def test_parents_are_made_once_and_counted(tmp_path: Path) -> None:
    place, thread = a_place(tmp_path, entries=5), WriteThread()
    place.make_directory("a/b")
    place.make_directory("a/b")
    place.write_file("a/b/f", b"1", b"digest", executable=False, thread=thread)
    place.write_file("a/c/f", b"2", b"digest", executable=False, thread=thread)
    refusal(LimitExceededError, "limit-exceeded/entries", place.make_directory, "d")
    assert [entry.path for entry in place.finish().entries] == ["a", "a/b", "a/b/f", "a/c", "a/c/f"]


@pytest.mark.parametrize(
    ("packed", "allowed", "code"),
    [
        pytest.param(None, Limits().total_bytes, "total-bytes", id="a tree has no ratio"),
        pytest.param(1, RATIO_FREE_BYTES, "ratio", id="small ones are free"),
        pytest.param(1 << 20, 200 << 20, "ratio", id="ratio"),
        pytest.param(1 << 30, Limits().total_bytes, "total-bytes", id="total"),
    ],
)
def test_which_limit_is_the_nearest(packed: int | None, allowed: int, code: str, tmp_path: Path) -> None:
    place = a_place(tmp_path, packed)
    place.count_bytes(allowed)
    refusal(LimitExceededError, f"limit-exceeded/{code}", place.count_bytes, 1)
