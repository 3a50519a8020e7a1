"""What publishing and looking result in: frozen values, like all that the library hands out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from getmodules.util.values import field, valueclass


@valueclass
class Pushed:
    """A published package. ``pinned`` is the address that brings exactly it; ``sent`` the bytes of bodies that it took.

    ``digests`` are those of ``manifest`` and ``layer``. With ``dry_run`` they are what would be published.
    """

    address: str
    pinned: str
    id: str
    digests: Mapping[str, str]
    annotations: Mapping[str, str]
    files: int
    size: int
    sent: int
    dry_run: bool = False


@valueclass
class Referrer:
    """A manifest that refers to another one, as it says itself: a signature, an attestation, a list of contents."""

    digest: str
    artifact_type: str | None
    manifest: Mapping[str, Any] = field(hash=False)
    referrers: tuple[Referrer, ...] = ()


@valueclass
class Inspected:
    """What lies at an address: the manifest as it was published, and what refers to it."""

    address: str
    digest: str
    media_type: str
    manifest: Mapping[str, Any] = field(hash=False)
    referrers: tuple[Referrer, ...] = ()
