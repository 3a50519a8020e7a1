"""What the tests of registries and layouts work with."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules.api.ports import Context
from tests.support.contexts import a_context
from tests.support.layouts import HandMade


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return a_context(tmp_path)


@pytest.fixture
def made(tmp_path: Path) -> HandMade:
    return HandMade(tmp_path / "layout")
