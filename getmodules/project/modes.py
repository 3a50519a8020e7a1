"""Places where t1 says nothing, since the file system keeps no execute bits or no links: h1 alone is judged there."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from getmodules.archive.tree_hash import TreeHashes
from getmodules.errors import InstallError
from getmodules.files.durable import shown_path
from getmodules.files.modes import keeps_modes_and_links
from getmodules.files.private import PrivateDirectory
from getmodules.project.lockfile import LockedPackage
from getmodules.project.workspace import Workspace


def is_same_tree(wanted: TreeHashes, found: TreeHashes | None, dest: Path, workspace: Workspace) -> bool:
    """Return whether the tree at ``dest``, whose hashes are ``found``, is the one whose hashes are ``wanted``."""
    if found is None or found.h1 != wanted.h1:
        return False
    # Tried only if it matters: as a rule, t1 is as it should be.
    return wanted.t1 in (None, found.t1) or not keeps_t1(dest.parent, workspace)


def is_one_of(ours: Iterable[TreeHashes], found: TreeHashes | None, dest: Path, workspace: Workspace) -> bool:
    """Return whether the tree at ``dest``, whose hashes are ``found``, is one of those that we installed."""
    return any(is_same_tree(each, found, dest, workspace) for each in ours)


def knows_t1(package: LockedPackage, workspace: Workspace) -> bool:
    """Return whether the t1 of what comes from ``package`` is the same on every machine.

    A directory is copied with the modes that its file system shows. That is the project's as a rule, which is tried in
    its place: nothing is written into directories of others.
    """
    return not package.is_directory or keeps_t1(workspace.files.directory, workspace)


def keeps_t1(directory: Path, workspace: Workspace) -> bool:
    """Return whether trees in ``directory`` keep what t1 sees; if not, a note says so, once."""
    return workspace.operation.memo.once(
        ("keeps t1", directory), partial(_keeps_t1, directory, workspace), workspace.checkpoint
    )


def _keeps_t1(directory: Path, workspace: Workspace) -> bool:
    private = PrivateDirectory(directory)
    try:
        private.create()
        kept = keeps_modes_and_links(private.path)
    except (OSError, InstallError):
        return True  # where nothing can be written, what is seen is judged: the stricter answer
    finally:
        private.remove()
    if not kept:
        workspace.operation.progress.notice(
            "", f"{shown_path(directory)} has no execute bits or links: h1 alone is judged there, and not t1"
        )
    return kept
