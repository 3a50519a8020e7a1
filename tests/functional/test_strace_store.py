"""Faults at every system call of a ``get`` that has a store: whatever it leaves there is whole, and of use."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from getmodules import Client
from getmodules.cache.upkeep import prune, verify
from tests.support.servers import Connection, Received, serving
from tests.support.snapshots import snapshot
from tests.support.stores import a_home, nothing_half
from tests.support.strace import FILES, FULL, STRIDE, Hit, Scene, make_source, strace, sweep  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class StoreScene(Scene):
    """The package comes from a server; the store is new, or has it (a copy of ``stock``) already."""

    stock: Path | None = None

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def address(self) -> str:
        return self.source

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "GETMODULES_CACHE_DIR": str(self.cache)}

    def begins(self, line: str) -> bool:
        return super().begins(line) or f'"{self.cache}' in line

    def set_up(self) -> None:
        for name in ("place", "tmp", "home", "tree"):
            (self.root / name).mkdir(parents=True)
        (self.place / "canary").write_text("alive")
        if self.stock is not None:
            shutil.copytree(self.stock, self.cache)

    def judge_the_rest(self, hit: Hit, killed: bool) -> None:
        """The store of a killed run has leftovers, which the next one that writes, or prunes, takes away."""
        home = a_home(self.cache)
        prune(home, max_size=1 << 30)
        nothing_half(self.cache)
        beside = sorted(os.listdir(self.cache))
        assert [name for name in beside if name.startswith("version.")] == [] or killed, (hit, beside)
        assert verify(home).damaged == (), hit
        again = Client(environ={}, cache_dir=self.cache).get(self.address, self.root / "again")
        assert snapshot(again.path) == snapshot(self.root.parent / "dry" / "place" / "dest"), hit


@pytest.fixture
def source(tmp_path: Path) -> Iterator[str]:
    make_source(tmp_path / "made", "package.zip")
    content = (tmp_path / "made" / "package.zip").read_bytes()

    def answer(connection: Connection, request: Received) -> bool:
        return connection.reply("200 OK", content, Content_Type="application/zip")

    with serving(answer) as server:
        yield f"{server.url}/package.zip?checksum=sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("warm", [False, True], ids=["a new store", "a store that has it"])
def test_a_fault_at_any_call(source: str, warm: bool, tmp_path: Path) -> None:
    stock = None
    if warm:
        stock = tmp_path / "stock"
        installed = Client(environ={}, cache_dir=stock).get(source, tmp_path / "first")
        assert installed.files > len(FILES)
    stride = 1 if FULL else STRIDE if warm else 2 * STRIDE  # a new store is many calls
    assert sweep(StoreScene(tmp_path, source, force=False, stock=stock), stride)["new"]
