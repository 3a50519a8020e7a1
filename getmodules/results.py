"""What the library hands back: frozen, and safe to show or to store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from getmodules.model import Evidence
from getmodules.util.values import valueclass


@valueclass
class Resolved:
    """What an address means today: the pinned address and the id that it stands for."""

    source: str
    address: str
    pinned: str
    id: str


@valueclass
class Installed:
    """A directory that can be trusted, and why.

    ``pinned`` is the address that brings exactly this again; ``None`` for a directory, whose content is its
    only identity. ``package_h1`` is that of the whole package, where the whole package was written.
    Addresses are redacted: what is stored or shown must not carry a password.
    """

    path: Path
    source: str
    address: str
    pinned: str | None
    id: str
    h1: str
    package_h1: str | None
    digests: Mapping[str, str]
    files: int
    bytes: int
    evidence: tuple[Evidence, ...]
    #: sha256 of the archive's own bytes, and how many they are, where it came as one.
    archive: str | None = None
    archive_bytes: int | None = None
