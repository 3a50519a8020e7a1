"""Trees on disk compared with the lock, for ``verify`` and ``install``; and ``tree``, which lists locked packages.

Nothing here changes a tree or uses the network.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from getmodules.api.model import Entry as TreeEntry, Kind
from getmodules.api.ports import Progress
from getmodules.archive.hashing import tree_entries
from getmodules.archive.tree_hash import TreeHashes, hash_entries
from getmodules.errors import GetModulesError, InstallError
from getmodules.files.os_errors import translated
from getmodules.pipeline.batch import install_all
from getmodules.project.lockfile import LockedModule, LockedPackage, require_lock
from getmodules.project.manifest import ProjectFiles
from getmodules.project.modes import is_same_tree, keeps_t1
from getmodules.project.plan import Entry, admit_locked, locked_job
from getmodules.project.reports import Difference, Differences, TreeState, VerifiedModule, VerifyReport
from getmodules.project.workspace import Workspace, choose_modules, private_directory
from getmodules.util.once import Memo
from getmodules.util.redact import printable
from getmodules.util.values import replace

_SHOWN = 5
MOVE_IT_AWAY = "move it away; getmodules install then brings the module"


def verify(names: tuple[str, ...], workspace: Workspace) -> VerifyReport:
    """Compare the trees of a project with its lock."""
    lock = require_lock(workspace.files)
    return VerifyReport(
        modules=tuple(_verified(lock.entry(name), workspace) for name in choose_modules(names, lock.modules))
    )


def _verified(entry: Entry, workspace: Workspace) -> VerifiedModule:
    module, package = entry
    workspace.checkpoint()
    found = detail = error = None
    try:
        dest = workspace.dest(module.dest)
        vacant = is_vacant(dest)
        found = hashes_of(dest) if vacant else hash_directory(dest)
        same = is_same_tree(module.hashes, found, dest, workspace)
    except GetModulesError as why:  # it is not what the lock says; the other modules are still looked at
        state, error = TreeState.MODIFIED, why
    else:
        state = TreeState.OK if same else TreeState.MISSING if vacant else TreeState.MODIFIED
        if state is TreeState.MODIFIED:
            detail = differences(module, package, dest, workspace)
    try:
        admit_locked(module, package, workspace)
    except GetModulesError as refusal:
        error = refusal
    return VerifiedModule(
        name=module.name,
        dest=module.dest,
        state=state,
        h1=module.h1,
        found=None if found is None else found.h1,
        t1=module.hashes.t1,
        found_t1=None if found is None else found.t1,
        differences=detail,
        error=error,
    )


def differences(module: LockedModule, package: LockedPackage, dest: Path, workspace: Workspace) -> Differences | None:
    """Compare ``dest`` with what is locked, file by file.

    Returns None if what is locked is not in the cache, or if ``dest`` cannot be read.
    """
    quiet = replace(workspace.operation, offline=True, progress=Progress(), memo=Memo())
    try:
        with private_directory(workspace) as spare:
            job = locked_job(module, package, workspace, spare / module.name)
            if install_all([job], quiet).failures:
                return None
            wanted, found = _entries_by_path(job.dest), _entries_by_path(dest)
    except GetModulesError:
        return None
    by_t1 = module.hashes.t1 is not None and keeps_t1(dest.parent, workspace)
    changes = {name: _changes(wanted[name], found[name], by_t1) for name in sorted(wanted.keys() & found.keys())}
    return Differences(
        changed={name: change for name, change in changes.items() if change},
        missing=tuple(sorted(set(wanted) - set(found))),
        extra=tuple(sorted(set(found) - set(wanted))),
    )


def _entries_by_path(root: Path) -> dict[str, TreeEntry]:
    return {entry.path: entry for entry in tree_entries(root)}


def _changes(wanted: TreeEntry, found: TreeEntry, by_t1: bool) -> tuple[Difference, ...]:
    """Return how ``found`` differs from ``wanted``: for t1, or only for h1, which follows links and sees contents."""
    other_content = wanted.sha256 != found.sha256
    if not (by_t1 or other_content):
        return ()
    if wanted.kind is not found.kind:
        return (Difference.KIND,)
    if wanted.target != found.target:
        return (Difference.TARGET,)
    other_mode = by_t1 and wanted.kind is Kind.FILE and wanted.executable is not found.executable
    return (Difference.CONTENT,) * other_content + (Difference.EXECUTABLE,) * other_mode


def describe(module: LockedModule, package: LockedPackage, dest: Path, workspace: Workspace) -> str:
    """Return the end of a sentence about ``dest`` that names the files that differ, if they are known."""
    found = differences(module, package, dest, workspace)
    if found is None:
        return ""
    modified = tuple(f"{printable(name)} ({found.labels(name)})" for name in found.modified)
    missing, added = (tuple(map(printable, names)) for names in (found.missing, found.extra))
    parts = [
        f"{what} {', '.join(names[:_SHOWN])}" + (", …" if len(names) > _SHOWN else "")
        for what, names in (("modified", modified), ("missing", missing), ("added", added))
        if names
    ]
    return f": {'; '.join(parts)}" if parts else ""


# -------------------------------------------------------------------------------------------------------- destinations


def is_vacant(dest: Path) -> bool:
    """Return whether there is nothing at ``dest``, or an empty directory."""
    with translated(f"cannot look at {printable(str(dest), 1000)}"):
        try:
            mode = os.lstat(dest).st_mode
            return stat.S_ISDIR(mode) and not os.listdir(dest)
        except FileNotFoundError:
            return True


def hashes_of(dest: Path) -> TreeHashes | None:
    """Return the hashes of the directory; None if it is not one, or holds what a module cannot hold."""
    try:
        return hash_directory(dest)
    except GetModulesError:
        return None


def hash_directory(dest: Path) -> TreeHashes:
    """Return the hashes of the directory; raise if it has none."""
    kind = odd_kind(dest)
    if kind is not None:
        raise InstallError(f"{printable(str(dest), 1000)} is {kind}", part="protected", hint=MOVE_IT_AWAY)
    return hash_entries(tuple(tree_entries(dest)))


def odd_kind(dest: Path) -> str | None:
    """Return a word for what lies there instead of a directory, which ``--force`` does not replace; None for one."""
    with translated(f"cannot look at {printable(str(dest), 1000)}"):
        mode = os.lstat(dest).st_mode
    if stat.S_ISDIR(mode):
        return None
    return "a link" if stat.S_ISLNK(mode) else "no directory"


# ------------------------------------------------------------------------------------------------------------ packages


def read_tree(files: ProjectFiles) -> tuple[tuple[LockedPackage, tuple[LockedModule, ...]], ...]:
    """Return each locked package with its modules, both in the order of the lock."""
    lock = require_lock(files)
    modules: dict[str, list[LockedModule]] = {address: [] for address in lock.packages}
    for module in lock.modules.values():
        modules[module.package].append(module)
    return tuple((package, tuple(modules[address])) for address, package in lock.packages.items())
