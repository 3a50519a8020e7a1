"""The registry that the tests of ``getmodules.testing`` look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from getmodules.testing import Package, Registry, module_package
from tests.asking import sha


@pytest.fixture(params=["memory", "layout"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Registry]:
    """Both kinds of store: what a registry answers must not depend on where it keeps things."""
    with Registry(layout=tmp_path / "layouts" if request.param == "layout" else None) as started:
        yield started


@dataclass(frozen=True)
class Stocked:
    """A registry with one module, ``acme/vpc`` in version 1.0."""

    registry: Registry
    package: Package

    manifest = "/v2/acme/vpc/manifests/1.0"
    tags = "/v2/acme/vpc/tags/list"

    @property
    def content(self) -> bytes:
        return self.package.blobs[1]

    @property
    def blob(self) -> str:
        return f"/v2/acme/vpc/blobs/{sha(self.content)}"


@pytest.fixture
def stocked() -> Iterator[Stocked]:
    with Registry() as started:
        package = module_package({"main.tf": "x" * 1000, "random.bin": bytes(range(256)) * 4})
        started.push("acme/vpc", package, "1.0")
        yield Stocked(started, package)
