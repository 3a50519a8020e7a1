"""What is told to whoever shows it; nothing happens where nobody does."""

from __future__ import annotations

from getmodules import Phase, Progress


def test_every_method_does_nothing() -> None:
    progress = Progress()
    progress.planned(2)
    for phase in Phase:
        progress.phase("p", phase, 10)
    progress.advance("p", 1)
    progress.notice("p", "look")
    progress.finished("p", None)
    assert vars(progress) == {}


def test_nothing_is_assumed_of_those_who_show_it() -> None:
    class Shows(Progress):
        """What people write."""

    assert Shows().may_wait
