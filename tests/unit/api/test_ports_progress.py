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
