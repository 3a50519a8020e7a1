"""What plugins are handed: a context that they cannot misuse by accident."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    Context,
    Credential,
    FetchError,
    InstallError,
    NetworkError,
    OfflineError,
    Phase,
    Secret,
)
from getmodules.api.limits import Deadline
from getmodules.api.ports import NoNetwork
from getmodules.util.values import FrozenValueError
from tests.support.contexts import a_context
from tests.support.fakes import FakeGetter, Recorder, client_with, members_of
from tests.support.refusals import refusal


def _context(during: Any, tmp_path: Path, **more: Any) -> None:
    """Run ``during`` with the context that a getter gets."""
    getter = FakeGetter(answer=lambda *_: members_of(), during_fetch=during)
    client_with(getter, **more).get("fake://u:pw@h/x", tmp_path / "dest")


def test_reports_carry_the_redacted_package(tmp_path: Path) -> None:
    recorder = Recorder()
    seen: list[str] = []

    def during(context: Context) -> None:
        seen.append(context.package)
        context.phase(Phase.DOWNLOADING, 7)
        context.advance(3)
        context.notice("look")
        context.checkpoint()

    _context(during, tmp_path, progress=recorder)
    assert seen == ["fake://u:****@h/x"]
    for event in (("phase", Phase.DOWNLOADING, 7), ("advance", 3), ("notice", "look")):
        assert event in recorder.events


def test_a_checkpoint_stops_what_is_cancelled_or_late(tmp_path: Path) -> None:
    contexts: list[Context] = []
    _context(contexts.append, tmp_path)
    context = contexts[0]
    late = dataclasses.replace(context, deadline=Deadline(1.0, 0.0, lambda: 2.0))
    refusal(NetworkError, "network/timeout", late.checkpoint)
    cancelled = threading.Event()
    cancelled.set()
    refusal(InstallError, "install/cancelled", dataclasses.replace(context, cancelled=cancelled).checkpoint)


def test_a_workshop_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    rooms: list[Path] = []

    def during(context: Context) -> None:
        for key in ("one", "../../two", "one"):
            with context.workshop(key) as room:
                rooms.append(room)
                assert room.stat().st_mode & 0o777 == 0o700
                (room / "file").touch()

    _context(during, tmp_path)
    assert rooms[0] == rooms[2] != rooms[1]
    assert not any(room.exists() for room in rooms)
    assert [entry.name for entry in tmp_path.iterdir()] == ["dest"]


def test_a_workshop_is_gone_after_an_error(tmp_path: Path) -> None:
    def during(context: Context) -> None:
        with context.workshop("one") as room:
            (room / "file").touch()
            raise FetchError("no")

    with pytest.raises(FetchError):
        _context(during, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_context_is_not_changed() -> None:
    with pytest.raises(FrozenValueError):
        a_context().package = "another"  # type: ignore[misc]


def test_a_credential_hides_its_secret() -> None:
    assert "s3cr3t" not in repr(Credential(secret=Secret("s3cr3t"), found_in="x"))


def test_what_is_asked_once_in_an_operation_is_asked_again_in_the_next(tmp_path: Path) -> None:
    answers: list[str] = []

    def during(context: Context) -> None:
        for _ in range(2):
            context.once("key", lambda: answers.append("asked"))

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        _context(during, tmp_path / name)
    assert answers == ["asked", "asked"]


def test_without_a_network_nobody_reaches_a_host() -> None:
    for reach in (lambda: NoNetwork().session(), lambda: NoNetwork().settings):
        refusal(OfflineError, "offline", reach)
