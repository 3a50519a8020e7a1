"""Trees on disk compared with the lock, for ``verify`` and ``install``; and ``tree``, which lists locked packages.

Nothing here changes a tree or uses the network.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from getmodules.api.ports import Progress
from getmodules.archive.hashing import tree_digests
from getmodules.archive.tree_hash import TREE_SCHEMES
from getmodules.errors import GetModulesError, InstallError
from getmodules.files.os_errors import translated
from getmodules.pipeline.batch import install_all
from getmodules.project.lockfile import LockedModule, LockedPackage, require_lock
from getmodules.project.manifest import ProjectFiles
from getmodules.project.plan import Entry, admit_locked, locked_job
from getmodules.project.reports import Differences, TreeState, VerifiedModule, VerifyReport
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
        found = h1_of(dest) if vacant else hash_directory(dest)
    except GetModulesError as why:  # it is not what the lock says; the other modules are still looked at
        state, error = TreeState.MODIFIED, why
    else:
        state = TreeState.OK if found == module.h1 else TreeState.MISSING if vacant else TreeState.MODIFIED
        if state is TreeState.MODIFIED:
            detail = differences(module, package, dest, workspace)
    try:
        admit_locked(module, package, workspace)
    except GetModulesError as refusal:
        error = refusal
    return VerifiedModule(
        name=module.name, dest=module.dest, state=state, h1=module.h1, found=found, differences=detail, error=error
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
            wanted, found = dict(tree_digests(job.dest)), dict(tree_digests(dest))
    except GetModulesError:
        return None
    return Differences(
        modified=tuple(sorted(name for name in wanted if name in found and wanted[name] != found[name])),
        missing=tuple(sorted(set(wanted) - set(found))),
        extra=tuple(sorted(set(found) - set(wanted))),
    )


def describe(module: LockedModule, package: LockedPackage, dest: Path, workspace: Workspace) -> str:
    """Return the end of a sentence about ``dest`` that names the files that differ, if they are known."""
    found = differences(module, package, dest, workspace)
    if found is None:
        return ""
    parts = [
        f"{what} {', '.join(printable(name) for name in names[:_SHOWN])}" + (", …" if len(names) > _SHOWN else "")
        for what, names in (("modified", found.modified), ("missing", found.missing), ("added", found.extra))
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


def h1_of(dest: Path) -> str | None:
    """Return the hash of the directory; None if it is not one, or holds what a module cannot hold."""
    try:
        return hash_directory(dest)
    except GetModulesError:
        return None


def hash_directory(dest: Path) -> str:
    """Return the hash of the directory; raise if it has none."""
    kind = odd_kind(dest)
    if kind is not None:
        raise InstallError(f"{printable(str(dest), 1000)} is {kind}", part="protected", hint=MOVE_IT_AWAY)
    return TREE_SCHEMES["h1"](tree_digests(dest))


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
