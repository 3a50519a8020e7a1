"""The results of push and inspect: frozen values, like all that the library returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from getmodules.util.values import field, valueclass


@valueclass
class Pushed:
    """A published package. ``pinned`` is its pinned address, ``sent`` the number of bytes sent for it.

    ``digests`` are those of ``manifest`` and ``layer``. With ``dry_run`` they are those that would be published.
    ``contents`` are the paths of its files.
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
    contents: tuple[str, ...] = ()


@valueclass
class Referrer:
    """A manifest that refers to another one: a signature, an attestation, a list of contents."""

    digest: str
    artifact_type: str | None
    manifest: Mapping[str, Any] = field(hash=False)
    referrers: tuple[Referrer, ...] = ()


@valueclass
class Inspected:
    """The manifest at an address, and the manifests that refer to it."""

    address: str
    digest: str
    media_type: str
    manifest: Mapping[str, Any] = field(hash=False)
    referrers: tuple[Referrer, ...] = ()
