"""Where hooks are found: in modules only among functions, in anything else wherever pluggy finds them."""

from __future__ import annotations

import types
from typing import Any

import pytest

import getmodules
from getmodules.hookmanager import HookManager
from getmodules.plugins import REQUIRED


@getmodules.hookimpl
def getmodules_getters() -> tuple[str, ...]:
    return ("found",)


class Bound:
    @getmodules.hookimpl
    def getmodules_getters(self) -> tuple[str, ...]:
        return ("found",)

    @staticmethod
    @getmodules.hookimpl
    def getmodules_unpackers() -> tuple[str, ...]:
        return ("found",)


def _module(**names: Any) -> types.ModuleType:
    module = types.ModuleType("plugin")
    vars(module).update(names, getmodules_detectors=REQUIRED, getmodules_progress=Bound)
    return module


def test_the_hooks_are_known() -> None:
    manager = HookManager()
    assert {name for name in vars(manager.hook) if name.startswith("getmodules_")} == set(REQUIRED)


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(_module(getmodules_getters=getmodules_getters), id="a function of a module"),
        pytest.param(_module(getmodules_getters=Bound().getmodules_getters), id="a bound method in a module"),
        pytest.param(_module(getmodules_getters=staticmethod(getmodules_getters)), id="a static method in a module"),
        pytest.param(Bound(), id="a method"),
    ],
)
def test_hooks_are_found(plugin: object) -> None:
    manager = HookManager()
    manager.register(plugin)
    assert manager.hook.getmodules_getters() == [("found",)]
    assert manager.hook.getmodules_detectors() == []
