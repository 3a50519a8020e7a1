"""What every package of an operation is worked on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Credential, InstallError, Origin, hookimpl
from getmodules.api.model import Gate, Members
from getmodules.api.ports import Progress
from getmodules.cache.session import Workshops
from getmodules.pipeline.operation import SMALL_BYTES, Means
from getmodules.pipeline.receive import Content
from getmodules.util.redact import Secret
from tests.support.fakes import FakePlugin, FakeVerifier

ORIGIN = Origin("https", "h.example", 443)


class _Credentials:
    name = "asks"

    def __init__(self) -> None:
        self.asked: list[Origin] = []

    def lookup(self, origin: Origin, path: str) -> Credential:
        self.asked.append(origin)
        return Credential(secret=Secret("of a plugin"), found_in="here")

    @hookimpl
    def getmodules_credentials(self) -> tuple[Any, ...]:
        return (self,)


def _means(*plugins: object, **environ: str) -> Means:
    client = Client(environ={"GETMODULES_PLUGINS": "", **environ}, plugins=plugins, use_cache=False)
    return client._means(None, None)


def _credential(means: Means, place: Path) -> Credential | None:
    with means.visit() as visit:
        context = means.context("p", Workshops(lambda name: place / name, visit), Progress())
        return context.credentials(ORIGIN, "/")


def test_the_environment_is_nearer_than_a_plugin(tmp_path: Path) -> None:
    plugin = _Credentials()
    found = _credential(_means(plugin, GETMODULES_TOKEN_h_example="of the environment"), tmp_path)
    assert found is not None
    assert found.secret == Secret("of the environment")
    assert plugin.asked == []


def test_a_plugin_is_asked_where_the_environment_has_none(tmp_path: Path) -> None:
    plugin = _Credentials()
    found = _credential(_means(plugin), tmp_path)
    assert found is not None
    assert found.secret == Secret("of a plugin")
    assert plugin.asked == [ORIGIN]


@pytest.mark.parametrize(
    ("packed", "is_at_hand", "alone"),
    [
        pytest.param(SMALL_BYTES, True, True, id="small"),
        pytest.param(SMALL_BYTES + 1, True, False, id="large"),
        pytest.param(SMALL_BYTES, False, False, id="read by somebody who may wait"),
        pytest.param(None, True, False, id="no archive"),
    ],
)
def test_small_archives_are_written_one_at_a_time(packed: int | None, *, is_at_hand: bool, alone: bool) -> None:
    means = _means()
    content = Content(members=Members(()), plugins=(), packed_bytes=packed, is_at_hand=is_at_hand)
    with means.alone_with(content):
        assert means.lock.locked() is alone
    assert not means.lock.locked()


@pytest.mark.parametrize(("gate", "alone"), [(Gate.PIN, True), (Gate.BYTES, True), (Gate.TREE, False)])
def test_nobody_waits_for_a_plugin_that_judges_trees(gate: Gate, *, alone: bool) -> None:
    means = _means(FakePlugin(verifiers=(FakeVerifier(gates=(gate,)),)))
    content = Content(members=Members(()), plugins=(), packed_bytes=SMALL_BYTES, is_at_hand=True)
    with means.alone_with(content):
        assert means.lock.locked() is alone


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
