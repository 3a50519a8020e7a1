"""The search for a project: the nearest directory, from one upwards, that has a manifest (or a lock).

What lies above the current directory may be somebody else's: whoever can write to ``/tmp`` could put a manifest there,
with mirrors and sources of their own, for everybody who works below. So a file above counts only if it belongs to the
user, to root, or to the owner of the current directory. File systems are no border.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from getmodules.files.durable import shown_path
from getmodules.project.names import LOCK_NAME, MANIFEST_NAME

MANIFEST = (MANIFEST_NAME,)
#: For work that needs only the lock; where a manifest is nearer, its project is meant, locked or not.
MANIFEST_OR_LOCK = (MANIFEST_NAME, LOCK_NAME)


def find_project(start: Path, names: tuple[str, ...], notice: Callable[[str], None]) -> Path | None:
    """Return the nearest directory, ``start`` or one above it, that has a file of one of these names; None without.

    ``start`` is absolute. Files above it that belong to others are passed over, and ``notice`` is told.
    """
    for directory in (start, *start.parents):
        found = [path for path in (directory / name for name in names) if _is_there(path)]
        if directory == start and found:
            return directory
        foreign = next((path for path in found if not _is_trusted(path, start)), None)
        if foreign is not None:
            notice(
                f"passing over {shown_path(foreign)}, which belongs neither to you nor to root nor to the owner of the "
                f"current directory; --manifest {shown_path(directory)} takes it all the same"
            )
        elif found:
            return directory
    return None


def _is_there(path: Path) -> bool:
    """Return whether there is something to read at ``path``, as far as can be seen."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:  # also a directory above that we may not look into
        return False


def _is_trusted(path: Path, start: Path) -> bool:
    """Return whether the file, and a link that leads to it, belong to somebody who may decide what is done here."""
    if sys.platform == "win32":
        return True  # files have no owner there that Python could name
    trusted = {os.geteuid(), 0}
    with suppress(OSError):
        trusted.add(os.stat(start).st_uid)
    try:
        return {os.lstat(path).st_uid, os.stat(path).st_uid} <= trusted
    except OSError:
        return False
