"""Site directories with distributions that were never installed, and clients that see what a test chose."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client

NO_STRANGERS = {"GETMODULES_PLUGINS": ""}
#: What most modules of plugins in tests begin with.
HEADER = """\
from getmodules import *
from getmodules import hookimpl
from getmodules import (
    Blob, Client, Context, Credential, Demand, Elsewhere, Gate, Kind, Member, Members, PackageAddress, Pin, Secret,
)
"""


@cache
def first_party() -> Client:
    """A client without strangers' plugins; clients are not changed by use."""
    return Client(environ=NO_STRANGERS)


class Site:
    """A directory on ``sys.path`` in which distributions appear."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(
        self,
        distribution: str,
        source: str,
        *,
        version: str = "1.0",
        module: str | None = None,
        entries: Mapping[str, str] | None = None,
    ) -> None:
        """A distribution with one module and, if not said otherwise, one entry point of the distribution's name."""
        module = module or distribution.replace("-", "_")
        text = HEADER + textwrap.dedent(source)
        (self.root / f"{module}.py").write_text(text, encoding="utf-8")
        self.describe(distribution, version, {distribution: module} if entries is None else entries)

    def describe(self, distribution: str, version: str, entries: Mapping[str, str]) -> None:
        info = self.root / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", encoding="utf-8"
        )
        lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
        (info / "entry_points.txt").write_text(f"[other]\nx = y\n\n[getmodules]\n{lines}", encoding="utf-8")

    def client(self, **more: Any) -> Client:
        return Client(**{"environ": {}, **more})


@contextmanager
def a_site(root: Path) -> Iterator[Site]:
    """A site directory that is on ``sys.path`` as long as the block runs; its modules go with it."""
    root.mkdir()
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        try:
            yield Site(root)
        finally:
            for name in set(sys.modules) - before:
                file = getattr(sys.modules[name], "__file__", None) or ""
                if file.startswith(str(root)):
                    del sys.modules[name]
