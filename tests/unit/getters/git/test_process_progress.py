"""git's lines, as bytes."""

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


def heard(*lines: str) -> list[int]:
    seen = Seen()
    more: dict[str, Any] = {"progress": seen}
    receiving = FetchProgress(a_context(**more))
    for line in lines:
        receiving.read_line(line)
    return seen.amounts


def test_what_is_new_in_each_line_is_reported() -> None:
    assert heard(
        "remote: Counting objects: 100% (9/9), done.",
        "Receiving objects:  10% (1/10)",
        "Receiving objects:  20% (2/10), 512 bytes | 1.00 KiB/s",
        "Receiving objects:  40% (4/10), 1.50 KiB | 1.00 KiB/s",
        "Receiving objects:  50% (5/10), 1.50 KiB | 1.00 KiB/s",
        "Receiving objects: 100% (10/10), 2.00 MiB | 1.00 MiB/s, done.",
        "Resolving deltas: 100% (3/3), done.",
    ) == [512, 1024, 2 * 1024 * 1024 - 1536]


def test_the_server_does_not_speak_for_git() -> None:
    assert heard("remote: Receiving objects: 100% (1/1), 9.00 GiB | 1 B/s", "Receiving objects: x, 99 TiB |") == []
