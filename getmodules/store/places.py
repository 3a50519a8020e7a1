"""Putting things into the store: each directory on the way is ours alone, made where it is missing, and no link."""

from __future__ import annotations

import os
from pathlib import Path

from getmodules.files.opening import directory_below, is_in_the_way, split


def put(root: Path, name: str, fresh: Path) -> Path:
    """``fresh``, a file of the store, is from now on what ``name`` is there. Raises ``OSError``."""
    parents, last = split(name)
    with directory_below(root, parents, make=True) as (prefix, directory):
        os.replace(fresh, f"{prefix}{last}", dst_dir_fd=directory)
    return root / name


def room(root: Path, name: str) -> Path:
    """The directory ``name`` of the store. Raises ``OSError``."""
    with directory_below(root, name.split("/"), make=True):
        return root / name


def listing(root: Path, name: str) -> list[str]:
    """What is in the directory ``name`` of the store; nothing where that is none, or a link. Raises ``OSError``."""
    try:
        with directory_below(root, name.split("/")) as (prefix, directory):
            return sorted(os.listdir(prefix if directory is None else directory))
    except OSError as error:
        if isinstance(error, FileNotFoundError) or is_in_the_way(error):
            return []
        raise
