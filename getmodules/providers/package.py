"""Provider packages on this machine, with the hashes and sizes that authenticators compare."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from getmodules.archive.hashing import hash_file, hash_tree, hash_zip
from getmodules.files.local import unreadable
from getmodules.providers.hashes import Hash, Platform
from getmodules.util.values import valueclass


@valueclass
class Package:
    """The hashes of a package for one platform. An unpacked one has neither ``zh`` nor ``size``."""

    platform: Platform
    h1: Hash
    zh: Hash | None = None
    size: int | None = None

    @property
    def hashes(self) -> frozenset[Hash]:
        """All hashes of the package."""
        return frozenset({self.h1}) if self.zh is None else frozenset({self.h1, self.zh})


def measure(path: str | os.PathLike[str], platform: Platform) -> Package:
    """Measure the package at ``path``, which is a zip file, or a directory into which one was unpacked."""
    path = Path(path)
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        return Package(platform=platform, h1=Hash.parse(hash_tree(path)))
    zh = Hash.parse(hash_file(path))
    return Package(platform=platform, h1=Hash.parse(hash_zip(path)), zh=zh, size=status.st_size)
