"""The pytest fixtures of :mod:`getmodules.testing`: ``pytest_plugins = ["getmodules.testing.fixtures"]``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from getmodules.testing.registry.service import Registry


@pytest.fixture
def oci_registry() -> Iterator[Registry]:
    """An empty registry for each test: plain http, in memory, open to everybody."""
    with Registry() as registry:
        yield registry
