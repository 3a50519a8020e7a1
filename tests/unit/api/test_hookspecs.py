"""The hooks: each is asked once, and what it returns arrives where it belongs."""

from __future__ import annotations

from typing import Any

import pluggy
import pytest

from getmodules import Client, Gate, hookimpl
from getmodules.api import hookspecs
from getmodules.plugins.loader import REQUIRED
from tests.support.fakes import FakeCredentials, FakeGetter, FakeVerifier

HOOKS = {
    "getmodules_detectors": "detectors",
    "getmodules_getters": "getters",
    "getmodules_unpackers": "formats",
    "getmodules_credentials": "credentials",
    "getmodules_verifiers": "verifiers",
    "getmodules_progress": "progress",
}


class _Everything:
    """One object that fits every port, and a plugin that offers it by every hook."""

    name = "everything"
    names = suffixes = media_types = ()
    gates = (Gate.PIN,)

    def detect(self, shorthand: Any) -> None:
        return None

    def open(self, stream: Any) -> None:
        return None


class _Detector(_Everything):
    pass


class _Unpacker(_Everything):
    names: Any = ("everything",)
    suffixes: Any = (".everything",)
    media_types: Any = ("application/everything",)

    def unpack(self, archive: Any, context: Any) -> tuple[()]:
        return ()


class _Plugin:
    def __init__(self) -> None:
        self.asked: list[str] = []

    @hookimpl
    def getmodules_detectors(self) -> Any:
        self.asked.append("getmodules_detectors")
        return (_Detector(),)

    @hookimpl
    def getmodules_getters(self) -> Any:
        self.asked.append("getmodules_getters")
        return (FakeGetter(),)

    @hookimpl
    def getmodules_unpackers(self) -> Any:
        self.asked.append("getmodules_unpackers")
        return (_Unpacker(),)

    @hookimpl
    def getmodules_credentials(self) -> Any:
        self.asked.append("getmodules_credentials")
        return (FakeCredentials(),)

    @hookimpl
    def getmodules_verifiers(self) -> Any:
        self.asked.append("getmodules_verifiers")
        return (FakeVerifier(),)

    @hookimpl
    def getmodules_progress(self) -> Any:
        self.asked.append("getmodules_progress")
        return (_Detector(),)


def test_each_hook_is_asked_once_and_its_offers_are_bound() -> None:
    plugin = _Plugin()
    catalog = Client(environ={"GETMODULES_PLUGINS": ""}, plugins=[plugin]).catalog
    assert sorted(plugin.asked) == sorted(HOOKS)
    loaded = catalog.plugins[-1]
    assert loaded.error is None
    assert sorted(loaded.offers) == sorted(HOOKS)
    assert "everything" in [detector.name for detector in catalog.detectors]
    assert "fake" in catalog.getters
    assert "everything" in catalog.formats
    assert [each.name for each in catalog.credentials] == ["vault"]
    assert [each.name for each in catalog.verifiers] == ["watchman"]
    assert "everything" in catalog.progress


def test_there_are_these_hooks_and_no_others() -> None:
    assert {name for name in vars(hookspecs) if name.startswith("getmodules_")} == set(HOOKS) == set(REQUIRED)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_takes_no_arguments_and_has_nothing_of_its_own(hook: str) -> None:
    assert list(getattr(hookspecs, hook)()) == []
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    assert getattr(manager.hook, hook)() == []
    assert getattr(manager.hook, hook).spec.argnames == ()
