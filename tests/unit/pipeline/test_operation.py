"""What every package of an operation is worked on with."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Credential, InstallError, Origin, hookimpl
from getmodules.api.model import Members
from getmodules.api.ports import Progress
from getmodules.archive.source import HEAD_BYTES
from getmodules.cache.session import Workshops
from getmodules.pipeline.operation import SMALL_BYTES, Means
from getmodules.pipeline.receive import Content
from getmodules.util.redact import Secret

ORIGIN = Origin("https", "h.example", 443)


class _Credentials:
    name = "asks"

    def __init__(self) -> None:
        self.turn_was_free: list[bool] = []
        self.means: Means

    def lookup(self, origin: Origin, path: str) -> Credential:
        self.turn_was_free.append(_is_free(self.means))
        return Credential(secret=Secret("of a plugin"), found_in="here")

    @hookimpl
    def getmodules_credentials(self) -> tuple[Any, ...]:
        return (self,)


def _is_free(means: Means) -> bool:
    """Whether another thread could have the turn."""
    found: list[bool] = []

    def look() -> None:
        found.append(means.turns._turn.acquire(blocking=False))
        if found[0]:
            means.turns._turn.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


def _means(*plugins: object, **environ: str) -> Means:
    client = Client(environ={"GETMODULES_PLUGINS": "", **environ}, plugins=plugins, use_cache=False)
    return client._means(None, None)


def _credential(means: Means, place: Path) -> Credential | None:
    with means.visit() as visit:
        context = means.context("p", Workshops(lambda name: place / name, visit), Progress())
        with means.turns.taken():
            return context.credentials(ORIGIN, "/")


def test_the_environment_is_nearer_than_a_plugin(tmp_path: Path) -> None:
    plugin = _Credentials()
    found = _credential(_means(plugin, GETMODULES_TOKEN_h_example="of the environment"), tmp_path)
    assert found is not None
    assert found.secret == Secret("of the environment")
    assert plugin.turn_was_free == []


def test_a_plugin_is_asked_without_the_turn(tmp_path: Path) -> None:
    plugin = _Credentials()
    plugin.means = means = _means(plugin)
    found = _credential(means, tmp_path)
    assert found is not None
    assert found.secret == Secret("of a plugin")
    assert plugin.turn_was_free == [True]


@pytest.mark.parametrize(
    ("packed", "may_wait", "free"),
    [
        pytest.param(HEAD_BYTES, False, False, id="small"),
        pytest.param(SMALL_BYTES + 1, False, True, id="large"),
        pytest.param(HEAD_BYTES, True, True, id="of somebody who may wait"),
    ],
)
def test_who_has_the_turn_while_it_is_unpacked(packed: int, *, may_wait: bool, free: bool) -> None:
    means = _means()
    content = Content(members=Members(()), plugins=(), packed_bytes=packed, may_wait=may_wait)
    with means.turns.taken(), means.unpacking(content):
        assert _is_free(means) is free


def test_a_workshop_is_the_packages_own(tmp_path: Path) -> None:
    means = _means()
    with means.visit() as visit:
        context = means.context("p", Workshops(lambda name: tmp_path / name, visit), Progress())
        with context.workshop("key") as room:
            assert room.parent == tmp_path


def test_cancelled_is_cancelled() -> None:
    means = _means()
    means.checkpoint()
    means.cancelled.set()
    with pytest.raises(InstallError):
        means.checkpoint()
