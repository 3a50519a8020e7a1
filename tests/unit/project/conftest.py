"""A project to work on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.testing import Registry
from tests.support.projects import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Whatever was done with it, nothing private is left in it."""
    made = Project(tmp_path / "project")
    yield made
    assert made.leftovers() == set()


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        yield running
