"""The growth of a store, as bytes that were fetched."""

from __future__ import annotations

from typing import Any

from getmodules.api.ports import Progress
from getmodules.getters.git.process import FetchProgress
from tests.support.contexts import a_context


class Seen(Progress):
    def __init__(self) -> None:
        self.amounts: list[int] = []

    def advance(self, package: str, amount: int) -> None:
        self.amounts.append(amount)


def test_what_is_new_at_each_look_is_reported() -> None:
    seen, sizes = Seen(), iter((0, 512, 512, 2048, 1024, 3000))  # a pack is gone for a moment while git renames it
    more: dict[str, Any] = {"progress": seen}
    progress = FetchProgress(a_context(**more), lambda: next(sizes))
    assert [progress.measure() for _ in range(6)] == [0, 512, 512, 2048, 1024, 3000]
    assert seen.amounts == [512, 1536, 952]
