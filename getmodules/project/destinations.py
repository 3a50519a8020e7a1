"""Where modules go once links are followed: no two to one place, and none into a directory that another one copies.

Nested destinations are seen in the manifest's text already; what is here only the file system knows. It is looked at
before anything starts: a module that finds another one, or our own working directory, in what it copies has a hash
that nobody sees again.
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
from getmodules.project.names import LOCK_NAME, colliding, collision
from getmodules.project.workspace import Bench
from getmodules.util.redact import printable


def check_manifest(manifest: Manifest, lock: Lock | None, fresh: Callable[[str], bool], bench: Bench) -> None:
    """Raise where two modules are in each other's way. Most need no look: what is locked under a pin is no directory.

    ``fresh`` says of which modules the lock does not say what they are.
    """
    sources = {
        name: entry.source
        for name, entry in manifest.modules.items()
        if lock is None or fresh(name) or _is_directory(lock, name)
    }
    _check({name: entry.dest for name, entry in manifest.modules.items()}, sources, bench.place.manifest.name, bench)


def check_lock(lock: Lock, bench: Bench) -> None:
    """The same, for those who leave the manifest unread."""
    sources = {name: module.package for name, module in lock.modules.items() if _is_directory(lock, name)}
    _check({name: module.dest for name, module in lock.modules.items()}, sources, LOCK_NAME, bench)


def _is_directory(lock: Lock, name: str) -> bool:
    """Nothing pins one but its own hash."""
    return lock.entry(name)[1].id.startswith("h1:")


def _check(dests: Mapping[str, str], sources: Mapping[str, str], shown: str, bench: Bench) -> None:
    copied = _copied(sources, bench)
    if not copied and not _has_links(dests.values(), bench):
        return
    real = {name: bench.real_dest(dest) for name, dest in dests.items()}
    found = colliding((name, path.replace(os.sep, "/")) for name, path in real.items())
    if found is not None:
        raise collision(found, dests, shown)
    for name, path in real.items():
        for above in _with_parents(path):
            for other, pattern in copied.get(fold(above), ()):
                if other != name and may_select(pattern, _below(path, above)):
                    raise ConfigError(
                        f"{shown}: the destination of [modules.{name}], {dests[name]}, lies in the directory that "
                        f"[modules.{other}] copies: {printable(sources[other], 500)}",
                        hint="give it another dest: it would become a part of that module",
                    )


def _copied(sources: Mapping[str, str], bench: Bench) -> dict[str, list[tuple[str, str]]]:
    """The directories of this machine that are sources, or that may be made so: each with the names of its modules, and
    with what their addresses have behind it, from the first wildcard on."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, source in sources.items():
        try:
            address = bench.detect(source)
            path = local_root(address.package, bench.means.catalog)
        except GetModulesError:
            continue  # whoever fetches it will hear what is wrong with it
        if path is not None and bench.means.catalog.getter(address.package.getter).local:
            start = plain_start(address.subdir)
            directory = path / start
            if not os.path.isfile(directory):  # what is not there yet will be
                pattern = address.subdir[len(start) :].lstrip("/")
                found.setdefault(fold(os.path.realpath(directory)), []).append((name, pattern))
    return found


def _below(path: str, above: str) -> str:
    return path[len(above) :].lstrip(os.sep).replace(os.sep, "/")


def _has_links(dests: Iterable[str], bench: Bench) -> bool:
    root = bench.real("")
    parents = {dest.rpartition("/")[0] for dest in dests}
    return any(bench.real(parent) != os.path.join(root, *parent.split("/")) for parent in parents if parent)


def _with_parents(path: str) -> Iterator[str]:
    yield path
    yield from map(str, Path(path).parents)


def check_own(entry: ModuleEntry, address: ModuleAddress, bench: Bench) -> None:
    """Raise where a module would lie in its own source, which fetching alone, into a directory of ours, cannot say."""
    root = local_root(address.package, bench.means.catalog)
    if root is not None:
        try:
            Destination.from_path(bench.place.directory / entry.dest, force=True, source_root=root).check_source()
        except GetModulesError as error:
            error.at(address.display())
            raise
