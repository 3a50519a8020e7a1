"""Checks of destinations after links are followed: each is another one, and none lies in what another module copies.

Nested destinations are seen in the manifest's text already; these checks need the file system. They are made before
anything starts: a module that copies another one, or our own working directory, has a hash that never comes again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from getmodules.addresses.types import ModuleAddress
from getmodules.archive.names import fold
from getmodules.archive.selection import may_select, plain_start
from getmodules.errors import ConfigError, GetModulesError
from getmodules.files.staging import Destination
from getmodules.pipeline.detect import local_root
from getmodules.project.lockfile import Lock
from getmodules.project.manifest import Manifest, ModuleEntry
from getmodules.project.names import LOCK_NAME, collision_error, find_collision
from getmodules.project.workspace import Workspace
from getmodules.util.redact import printable
from getmodules.util.values import valueclass


def check_manifest(manifest: Manifest, lock: Lock | None, fresh: Callable[[str], bool], workspace: Workspace) -> None:
    """Raise if two modules of the manifest are in each other's way.

    Most need no look: what is locked under a pin is not a directory. ``fresh`` returns whether a module is to be
    looked up anew, so that the lock does not say what it is.
    """
    sources = {
        name: entry.source
        for name, entry in manifest.modules.items()
        if lock is None or fresh(name) or _is_directory(lock, name)
    }
    _check(
        {name: entry.dest for name, entry in manifest.modules.items()},
        sources,
        workspace.files.manifest.name,
        workspace,
    )


def check_lock(lock: Lock, workspace: Workspace) -> None:
    """Raise if two modules of the lock are in each other's way; for work that leaves the manifest unread."""
    sources = {name: module.package for name, module in lock.modules.items() if _is_directory(lock, name)}
    _check({name: module.dest for name, module in lock.modules.items()}, sources, LOCK_NAME, workspace)


def _is_directory(lock: Lock, name: str) -> bool:
    """Return whether the package is a directory: only its own hash pins one."""
    return lock.entry(name)[1].is_directory


def _check(dests: Mapping[str, str], sources: Mapping[str, str], shown: str, workspace: Workspace) -> None:
    copied = _copied_directories(sources, workspace)
    if not copied and not _has_links(dests.values(), workspace):
        return
    real = {name: workspace.real_dest(dest) for name, dest in dests.items()}
    found = find_collision((name, path.replace(os.sep, "/")) for name, path in real.items())
    if found is not None:
        raise collision_error(found, dests, shown)
    for name, path in real.items():
        for above in _with_parents(path):
            for other, pattern in copied.get(fold(above), ()):
                if other != name and may_select(pattern, _below(path, above)):
                    raise ConfigError(
                        f"{shown}: the destination of [modules.{name}], {dests[name]}, lies in the directory that "
                        f"[modules.{other}] copies: {printable(sources[other], 500)}",
                        hint="give it another dest: it would become a part of that module",
                    )


def _copied_directories(sources: Mapping[str, str], workspace: Workspace) -> dict[str, list[tuple[str, str]]]:
    """Return the local directories that are sources, or may become so.

    Each comes with the names of its modules, and with the rest of their subdirectories from the first wildcard on.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for name, source in sources.items():
        try:
            address = workspace.detect(source)
            path = local_root(address.package, workspace.operation.catalog)
        except GetModulesError:
            continue  # fetching it reports what is wrong with it
        if path is not None and workspace.operation.catalog.getter(address.package.getter).local:
            start = plain_start(address.subdir)
            directory = path / start
            if not os.path.isfile(directory):  # one that is absent may be made before it is copied
                pattern = address.subdir[len(start) :].lstrip("/")
                found.setdefault(fold(os.path.realpath(directory)), []).append((name, pattern))
    return found


def _below(path: str, above: str) -> str:
    return path[len(above) :].lstrip(os.sep).replace(os.sep, "/")


def _has_links(dests: Iterable[str], workspace: Workspace) -> bool:
    root = workspace.real_path("")
    parents = {dest.rpartition("/")[0] for dest in dests}
    return any(workspace.real_path(parent) != os.path.join(root, *parent.split("/")) for parent in parents if parent)


def _with_parents(path: str) -> Iterator[str]:
    yield path
    yield from map(str, Path(path).parents)


@valueclass
class Occupied:
    """The destinations that modules of a project have, and the sources that may be directories, with their names."""

    dests: tuple[tuple[str, str], ...]
    sources: Mapping[str, str]

    @classmethod
    def of(cls, manifest: Manifest | None, lock: Lock | None) -> Occupied:
        """Return those of the manifest, if it is read, and of the lock: while they differ, both count."""
        entries = {} if manifest is None else manifest.modules
        locked = {} if lock is None else lock.modules
        sources = {name: module.package for name, module in locked.items() if lock and _is_directory(lock, name)}
        sources |= {name: entry.source for name, entry in entries.items() if name not in locked}
        dests = [(entry.name, entry.dest) for entry in entries.values()]
        dests += [(module.name, module.dest) for module in locked.values()]
        return cls(dests=tuple(dests), sources=sources)


def find_occupant(dest: str, occupied: Occupied, workspace: Workspace) -> str | None:
    """Return the module that has the directory ``dest``, a part of it or one around it; or that copies one of these."""
    path = fold(workspace.real_dest(dest))
    places = [(name, fold(workspace.real_dest(each))) for name, each in occupied.dests]
    copied = _copied_directories(occupied.sources, workspace)
    places += [(name, directory) for directory, users in copied.items() for name, _ in users]
    for name, place in places:
        if os.path.join(path, "").startswith(os.path.join(place, "")) or place.startswith(os.path.join(path, "")):
            return name
    return None


def check_own(entry: ModuleEntry, address: ModuleAddress, workspace: Workspace) -> None:
    """Raise if a module would lie in its own source: fetching it into a private directory would not notice."""
    root = local_root(address.package, workspace.operation.catalog)
    if root is not None:
        try:
            Destination.from_path(workspace.files.directory / entry.dest, force=True, source_root=root).check_source()
        except GetModulesError as error:
            error.at(address.display())
            raise
