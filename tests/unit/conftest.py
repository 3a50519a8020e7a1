"""Fixtures of the unit tests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import remove_tree


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory that every user may write to; pytest's own are closed to others."""
    directory = Path(os.path.realpath(tempfile.mkdtemp(prefix="getmodules-test-")))
    directory.chmod(0o777)
    yield directory
    remove_tree(directory)
