"""Digests of the files that rivals have made, for comparison; and the processor's instructions for hashing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path


def tree(root: Path) -> dict[str, bytes]:
    """The files below ``root`` with their digests, without what git keeps for itself."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not name.startswith(".git/"):
            with path.open("rb", buffering=0) as file:
                found[name] = hashlib.file_digest(file, "sha256").digest()
    if not found:
        raise SystemExit(f"{root} was left without a file")
    return found


def trees(places: Mapping[str, Path]) -> dict[str, dict[str, bytes]]:
    """Return the files of several modules with their digests."""
    return {name: tree(place) for name, place in places.items()}


def digests(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the same as :func:`tree` of a directory with these files."""
    return {name: hashlib.sha256(data).digest() for name, data in files.items()}


def has_sha_instructions() -> bool | None:
    """Return whether the processor has instructions for SHA-256, or None if that is not known."""
    try:
        return " sha_ni" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return None


def sha_instructions() -> str:
    return {True: "with SHA-NI", False: "no SHA-NI", None: "SHA-NI: unknown"}[has_sha_instructions()]
