"""The content of a directory, to the byte, so that "untouched" and "nothing left behind" are one comparison."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path


def snapshot(directory: Path) -> dict[str, tuple[str, bytes]]:
    """Each name below ``directory`` with its kind and mode, and its content or target."""
    found: dict[str, tuple[str, bytes]] = {}
    for place, directories, files in os.walk(directory):
        for name in (*directories, *files):
            path = Path(place, name)
            mode = path.lstat().st_mode
            content = b""
            if stat.S_ISREG(mode):
                content = path.read_bytes()
            elif stat.S_ISLNK(mode):
                content = os.fsencode(os.readlink(path))
            found[str(path.relative_to(directory))] = (stat.filemode(mode), content)
    return found


def write_tree(directory: Path, files: Mapping[str, bytes | str]) -> None:
    """Make ``files`` below ``directory``, and the directories that they need."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
