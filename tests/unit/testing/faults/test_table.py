"""The table of faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules.testing import FAULTS
from tests.support.checkout import DOCS

DOCUMENTATION = DOCS / "reference" / "testing.rst"
TESTS = Path(__file__).parent


def test_a_name_is_there_once() -> None:
    from getmodules.testing.faults import table as faults

    everything = [fault.name for module in faults._MODULES for fault in faults.faults_of(module)]
    assert len(everything) == len(set(everything)) == len(FAULTS)
    assert len(FAULTS) > 100


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_documented_with_what_it_does(name: str) -> None:
    text = " ".join(DOCUMENTATION.read_text(encoding="utf-8").split())
    assert f"``{name}`` {FAULTS[name].summary}" in text


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_a_test(name: str) -> None:
    assert any(f'"{name}"' in path.read_text(encoding="utf-8") for path in TESTS.glob("test_*.py"))
