"""How a function becomes a fault."""

from __future__ import annotations

import types

import pytest

from getmodules.testing.faults.fault import Fault, fault, faults_of, is_any
from getmodules.testing.registry.server import Exchange


def test_a_docstring_is_what_a_fault_does() -> None:
    @fault("named")
    def perform(exchange: Exchange) -> None:
        """It does
        this."""

    assert isinstance(perform, Fault)
    assert (perform.name, perform.summary, perform.is_about) == ("named", "It does this.", is_any)
    module = types.ModuleType("module")
    module.__dict__.update(one=perform, other="nothing")
    assert list(faults_of(module)) == [perform]


def test_a_fault_without_one_is_none() -> None:
    with pytest.raises(AssertionError, match="nameless"):
        fault("nameless")(lambda exchange: None)
