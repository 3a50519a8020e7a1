"""``remove``, and what ``install --prune`` takes away: directories in which the project wants nothing any more.

Only a directory that is just what was installed there is removed, since that can be had again; anything else stays, and
is named. The files come first: where a run is killed after that, the directory stays, and ``install --prune`` knows it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

from getmodules.archive.tree_hash import TreeHashes
from getmodules.errors import ConfigError, GetModulesError, InstallError
from getmodules.files.durable import shown_path
from getmodules.files.os_errors import translated
from getmodules.files.private import PrivateDirectory
from getmodules.files.staging import Destination
from getmodules.project.destinations import Occupied, find_occupant
from getmodules.project.edit import without_module
from getmodules.project.lockfile import Lock
from getmodules.project.manifest import Manifest, parse_manifest
from getmodules.project.modes import is_one_of
from getmodules.project.names import check_dest
from getmodules.project.plan import Entry
from getmodules.project.reports import FormerDirectory, FormerState, RemoveReport
from getmodules.project.toml import read_marked
from getmodules.project.transaction import changed_files
from getmodules.project.trees import describe, hash_directory, is_vacant, odd_kind
from getmodules.project.workspace import Workspace, target_of
from getmodules.util.values import field, valueclass

_EDITED = "it is not what was installed there"
_NOT_LOCKED = "it is not in the lock, so that nobody knows what was installed there"


@valueclass(kw_only=False, frozen=False)
class Removal:
    """A module that ``remove`` takes out of the manifest and the lock, with its directory unless that is to be kept."""

    name: str
    keep: bool
    _dest: str = field(default="", init=False)
    _text: str = field(default="", init=False)

    def edited(self, path: Path) -> Manifest:
        found = read_marked(path)
        if found is None:
            raise ConfigError(f"there is no {shown_path(path)}", hint="--manifest FILE names one that lies elsewhere")
        mark, text = found
        rest = without_module(text, self.name, path)
        self._text = mark + rest
        self._dest = parse_manifest(text, path).modules[self.name].dest
        return parse_manifest(rest, path)

    def settle(self, workspace: Workspace) -> RemoveReport:
        with workspace.exclusive():
            manifest = workspace.manifest()
            target_of(workspace.files.manifest)
            lock = workspace.lock()
            entry = None
            if lock is not None and self.name in lock.modules:
                entry = lock.entry(self.name)
                lock = Lock.of(lock.entry(name) for name in lock.modules if name != self.name)
            with changed_files(lock if entry else None, self._text, workspace):
                pass
            return RemoveReport(name=self.name, directory=self._clear(entry, Occupied.of(manifest, lock), workspace))

    def _clear(self, entry: Entry | None, occupied: Occupied, workspace: Workspace) -> FormerDirectory:
        dest = self._dest if entry is None else entry[0].dest
        if entry is not None and not self.keep:
            found = take_away(dest, {entry[0].hashes}, occupied, workspace)
            forget([found], workspace)
            return _explained(found, entry, workspace)
        state = FormerState.KEPT if os.path.lexists(workspace.files.directory / dest) else FormerState.MISSING
        reason = None if self.keep or state is FormerState.MISSING else _NOT_LOCKED
        return FormerDirectory(dest=dest, state=state, reason=reason)


def _explained(found: FormerDirectory, entry: Entry, workspace: Workspace) -> FormerDirectory:
    """Return ``found`` with the files that keep it from being removed, if they are known."""
    if found.reason != _EDITED:
        return found
    files = describe(*entry, workspace.files.directory / found.dest, workspace)
    return FormerDirectory(dest=found.dest, state=found.state, reason=f"{_EDITED}{files}")


# --------------------------------------------------------------------------------------------------------- directories


def prune(occupied: Occupied, workspace: Workspace) -> tuple[FormerDirectory, ...]:
    """Take away what was installed in this checkout where the project wants nothing any more."""
    wanted = {dest for _, dest in occupied.dests}
    found = [
        take_away(dest, hashes, occupied, workspace)
        for dest, hashes in sorted(workspace.state.installed().items())
        if dest not in wanted
    ]
    forget(found, workspace)
    return tuple(each for each in found if each.state is not FormerState.MISSING)


def forget(directories: Collection[FormerDirectory], workspace: Workspace) -> None:
    """Remember no more what was installed in directories that are gone."""
    gone: Mapping[str, frozenset[TreeHashes]] = {
        each.dest: frozenset() for each in directories if each.state is not FormerState.KEPT
    }
    workspace.state.remember(gone, matters=False)


def take_away(dest: str, ours: Collection[TreeHashes], occupied: Occupied, workspace: Workspace) -> FormerDirectory:
    """Remove the directory ``dest`` if its hashes are among ``ours``, and the directories above that are empty then.

    It stays, with a reason, if it was edited, is a link, belongs to another module, or is never to be removed.
    """
    try:
        reason = _reason_to_keep(dest, ours, occupied, workspace)
        if reason is None:
            _remove(workspace.dest(dest), workspace)
    except FileNotFoundError:
        return FormerDirectory(dest=dest, state=FormerState.MISSING)
    except GetModulesError as error:
        reason = error.message
    if reason is not None:
        return FormerDirectory(dest=dest, state=FormerState.KEPT, reason=reason)
    _remove_empty_parents(dest, workspace)
    return FormerDirectory(dest=dest, state=FormerState.REMOVED)


def _reason_to_keep(dest: str, ours: Collection[TreeHashes], occupied: Occupied, workspace: Workspace) -> str | None:
    """Return why the directory is not removed, or None. Raises FileNotFoundError if there is none."""
    if check_dest(dest) != dest:  # somebody else may have written what this checkout remembers
        raise ConfigError("it is not a place for modules")
    path = workspace.dest(dest)
    workspace.operation.sweeper.sweep(path.parent)  # a run that was killed may have begun to remove it
    if not os.path.lexists(path):
        raise FileNotFoundError
    occupant = find_occupant(dest, occupied, workspace)
    if occupant is not None:
        return f"the module {occupant} needs it"
    kind = odd_kind(path)
    if kind is not None:
        return f"it is {kind}"
    found = hash_directory(path)
    if not is_one_of(ours, found, path, workspace):
        if is_vacant(path):
            raise FileNotFoundError
        return _EDITED
    Destination.from_path(path, force=True, source_root=None).check()
    return None


def _remove(path: Path, workspace: Workspace) -> None:
    """Remove a directory: in one step from its place, then for good, by the next run if need be."""
    private = PrivateDirectory(path.parent)
    with translated(f"cannot remove {shown_path(path)}"):
        try:
            private.create()
            os.rename(path, private.path / "old")
        finally:
            private.remove()


def _remove_empty_parents(dest: str, workspace: Workspace) -> None:
    for parent in PurePosixPath(dest).parents[:-1]:  # the last is the directory of the project
        path = workspace.files.directory / parent
        try:
            if os.listdir(path):
                return
            # Refuses a link, a mount point and the current directory.
            Destination.from_path(path, force=True, source_root=None).check()
            path.rmdir()
        except (OSError, InstallError):
            return
