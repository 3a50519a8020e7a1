"""The pytest fixtures of :mod:`getmodules.testing`: ``pytest_plugins = ["getmodules.testing.fixtures"]``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.cache.location import VARIABLE
from getmodules.testing.registry.service import Registry


@pytest.fixture
def getmodules_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for each test, in ``GETMODULES_CACHE_DIR``: the user's own neither helps nor remembers.

    Every other fixture uses it, so that a test that passes once passes twice, and content from an earlier test hides no
    fault.
    """
    # tmp_path is the test's: it may look at what is in there
    directory = tmp_path_factory.mktemp("getmodules-cache")
    monkeypatch.setenv(VARIABLE, str(directory))
    return directory


@pytest.fixture
def oci_registry(getmodules_cache: Path) -> Iterator[Registry]:
    """An empty registry for each test: plain http, in memory, open to everybody; with a cache of its own."""
    with Registry() as registry:
        yield registry
