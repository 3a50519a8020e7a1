"""The registry that the tests of ``getmodules.testing`` look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.testing import Registry


@pytest.fixture(params=["memory", "layout"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Registry]:
    """Both kinds of store: what a registry answers must not depend on where it keeps things."""
    with Registry(layout=tmp_path / "layouts" if request.param == "layout" else None) as started:
        yield started
