"""Stores for tests: one of our own, what is in it, and damage to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from getmodules import Client, Digest
from getmodules.cache.location import CacheLocation, open_cache
from getmodules.cache.session import CacheSession
from getmodules.files.private import PrivateDirectories
from tests.support.fakes import FakePlugin, Recorder


def a_home(root: Path) -> CacheLocation:
    home = open_cache(root)
    assert home is not None
    return home


@contextmanager
def a_session(root: Path) -> Iterator[CacheSession]:
    """The cache as an operation with one run sees it; what it does not take goes beside it."""
    with (
        PrivateDirectories().removed_at_end() as private,
        CacheSession(a_home(root), private, lambda name: root.parent / name) as session,
    ):
        yield session


def keep(root: Path, content: bytes, algorithm: str = "sha256") -> Digest:
    """``content`` as a blob of the store."""
    digest = Digest.of(content, algorithm)
    with a_session(root) as session:
        session.keep_bytes(content, digest)
    assert path_of(root, digest).read_bytes() == content
    return digest


def path_of(root: Path, digest: Digest) -> Path:
    return root / "blobs" / digest.algorithm / digest.hex[:2] / digest.hex


def blobs_of(root: Path) -> list[Path]:
    return sorted(path for path in (root / "blobs").rglob("*") if not path.is_dir())


def records_of(root: Path, kind: str = "*") -> list[Path]:
    return sorted((root / "records").glob(f"{kind}/??/*"))


def damage(path: Path) -> None:
    """One bit of a file, in its middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def nothing_half(root: Path) -> None:
    """No run has left anything in the store that is not whole."""
    assert os.listdir(root / "ingest") == [] if (root / "ingest").exists() else True
    assert os.listdir(root / "locks") == [] if (root / "locks").exists() else True
    for path in blobs_of(root):
        assert path == path_of(root, Digest.of(path.read_bytes(), path.parts[-3]))


def caching_client(root: Path, *getters: Any, progress: Recorder | None = None, **more: Any) -> Client:
    """A client with fake getters, and a store."""
    plugin = FakePlugin(*getters)
    return Client(plugins=(plugin,), environ={"GETMODULES_PLUGINS": ""}, cache_dir=root, progress=progress, **more)
