"""The caller's progress, which plugins call as well."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from getmodules import Context, Phase, Progress
from getmodules.pipeline.operation import Reporting
from tests.support.fakes import FakeGetter, Recorder, client_with, members_of


class _EnoughError(Exception):
    pass


class _Cancels(Progress):
    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.ended: list[BaseException | None] = []

    def notice(self, package: str, message: str) -> None:
        raise self.error

    def finished(self, package: str, error: BaseException | None) -> None:
        self.ended.append(error)


def _notices(context: Context) -> None:
    context.notice("look")


def _swallows(context: Context) -> None:
    try:
        context.notice("look")
    except BaseException as error:
        raise KeyError("something else") from error


def _carries_on(context: Context) -> None:
    with suppress(BaseException):
        context.notice("look")


@pytest.mark.parametrize("during", [_notices, _swallows, _carries_on])
@pytest.mark.parametrize(
    "error", [_EnoughError("now"), KeyboardInterrupt(), SystemExit(3)], ids=lambda e: type(e).__name__
)
def test_cancelling_is_no_plugins_fault(tmp_path: Path, during: Any, error: BaseException) -> None:
    progress = _Cancels(error)
    getter = FakeGetter(answer=lambda *_: members_of(), during_fetch=during)
    with pytest.raises(type(error)) as caught:
        client_with(getter, progress=progress).get("fake://h/x", tmp_path / "dest")
    assert caught.value is error
    assert progress.ended == [error]
    assert list(tmp_path.iterdir()) == []


def test_reports_reach_the_caller() -> None:
    recorder = Recorder()
    reporting = Reporting(recorder)
    reporting.phase("p", Phase.UNPACKING, 5)
    reporting.advance("p", 3)
    reporting.notice("p", "m")
    reporting.finished("p", None)
    assert recorder.events == [
        ("phase", Phase.UNPACKING, 5),
        ("advance", 3),
        ("notice", "m"),
        ("finished", "p", None),
    ]
    assert reporting.cancelled_by is None


def test_progress_that_is_none_of_ours(tmp_path: Path) -> None:
    """Whatever has the methods will do."""

    class Looks:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return lambda *_: self.seen.append(name)

    looks = Looks()
    client_with(FakeGetter(answer=lambda *_: members_of()), progress=looks).get("fake://h/x", tmp_path / "dest")  # type: ignore[arg-type]
    assert looks.seen[-1] == "finished"
