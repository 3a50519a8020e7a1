"""Fixtures of the functional tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gitplaces import Place, a_place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """For tests of the git getter: others have places of their own."""
    with a_place(tmp_path / "place") as made:
        yield made


@pytest.fixture
def canary(place: Place) -> Iterator[None]:
    """Beside everything that could be written to. Afterwards it lives, and besides what was asked for it is alone."""
    (place.work / "canary").write_text("alive")
    yield
    assert set(os.listdir(place.top)) == {"root", "home", "work", "temporary"}
    assert set(os.listdir(place.work)) <= {"canary", "dest"}
    assert (place.work / "canary").read_text() == "alive"
