"""The registry that the tests of ``getmodules.testing`` look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.testing import Registry, module_package
from tests.support.registryclient import Stocked


@pytest.fixture(params=["memory", "layout"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Registry]:
    """Both kinds of store: what a registry answers must not depend on where it keeps things."""
    with Registry(layout=tmp_path / "layouts" if request.param == "layout" else None) as started:
        yield started


@pytest.fixture
def stocked() -> Iterator[Stocked]:
    with Registry() as started:
        package = module_package({"main.tf": "x" * 1000, "random.bin": bytes(range(256)) * 4})
        started.push("acme/vpc", package, "1.0")
        yield Stocked(started, package)
