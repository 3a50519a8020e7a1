"""Fixtures of the unit tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory that every user may write to; pytest's own are closed to others."""
    directory = Path(os.path.realpath(tempfile.mkdtemp(prefix="getmodules-test-")))
    directory.chmod(0o777)
    yield directory
    for path, directories, _files in os.walk(directory):
        for name in directories:
            if not Path(path, name).is_symlink():
                Path(path, name).chmod(0o700)
    shutil.rmtree(directory)
