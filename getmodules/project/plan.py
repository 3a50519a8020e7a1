"""Plans compare the manifest with the lock; jobs and entries convert between the lock and the pipeline.

Nothing is asked for over the network, and only the two files matter; and, of a directory's entry, whether the project's
file system keeps what t1 sees.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from getmodules.addresses.grammar import join_subdirs, parse
from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.addresses.versions import Constraint, version_in
from getmodules.api.model import Demand, Gate, Installed
from getmodules.errors import ConfigError, GetModulesError, LockStaleError
from getmodules.pipeline import gates as demanded
from getmodules.pipeline.batch import Job
from getmodules.pipeline.detect import is_local
from getmodules.project.lockfile import Lock, LockedModule, LockedPackage
from getmodules.project.manifest import Manifest, ModuleEntry
from getmodules.project.modes import knows_t1
from getmodules.project.names import LOCK_NAME, written_address
from getmodules.project.select import Target
from getmodules.project.workspace import Workspace
from getmodules.util.redact import MASK, printable
from getmodules.util.values import replace, valueclass

_BY = "the lock"
_MANIFEST = "expect in the manifest"
_SHOWN = 20


Entry = tuple[LockedModule, LockedPackage]


class Standing(StrEnum):
    """The standing of a module of the manifest in the lock."""

    LOCKED = "locked"
    #: Locked, and wanted at another destination.
    MOVED = "moved"
    NEW = "new"
    #: The source, version or expect was edited since it was locked.
    STALE = "stale"


@valueclass(kw_only=False)
class Plan:
    """The differences between manifest and lock. ``reasons`` says them in words."""

    standings: Mapping[str, Standing]
    #: Modules that are locked and not in the manifest any more.
    orphans: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def in_step(self) -> bool:
        return not self.reasons

    def fresh(self, name: str) -> bool:
        """Return whether this module must be looked up anew."""
        return self.standings[name] in (Standing.NEW, Standing.STALE)

    def check(self) -> None:
        """Raise if manifest and lock differ."""
        if self.reasons:
            more = len(self.reasons) - _SHOWN
            shown = "; ".join(self.reasons[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
            raise LockStaleError(
                f"{LOCK_NAME} does not say what the manifest says: {shown}", hint="getmodules lock brings it up to date"
            )


def compare(manifest: Manifest, lock: Lock | None, mismatched: Container[str] = ()) -> Plan:
    """Compare the manifest with the lock. ``mismatched`` modules count as if their source had been edited."""
    locked = {} if lock is None else lock.modules
    standings: dict[str, Standing] = {}
    reasons: list[str] = [] if lock is not None or not manifest.modules else [f"there is no {LOCK_NAME}"]
    for name, entry in manifest.modules.items():
        known = locked.get(name)
        edited = [] if known is None else list(_edited(entry, known))
        if name in mismatched and "source" not in edited:
            edited.insert(0, "source")
        standings[name] = _standing_of(known, edited)
        if known is None:
            reasons.append(f"{name} is new")
        elif edited:
            reasons.append(f"{name} has another {' and '.join(edited)}")
    orphans = tuple(sorted(set(locked) - set(manifest.modules)))
    reasons += [f"{name} was removed" for name in orphans]
    return Plan(standings, orphans, tuple(reasons))


def _edited(entry: ModuleEntry, locked: LockedModule) -> Iterator[str]:
    for key in ("source", "version", "expect", "dest"):
        if getattr(entry, key) != getattr(locked, key) or (key == "version" and not _is_allowed(locked)):
            yield key


def _is_allowed(locked: LockedModule) -> bool:
    """Return whether the version allows the tag that was selected: a lock that was edited may say otherwise."""
    if locked.version is None:
        return True
    selected = version_in(locked.selected or "")
    return selected is not None and Constraint.parse(locked.version).allows(selected)


def _standing_of(locked: LockedModule | None, edited: list[str]) -> Standing:
    if locked is None:
        return Standing.NEW
    if not edited:
        return Standing.LOCKED
    return Standing.MOVED if edited == ["dest"] else Standing.STALE


def find_mismatched(manifest: Manifest, lock: Lock | None, workspace: Workspace) -> frozenset[str]:
    """Find modules whose locked package cannot come from their source, since it is at another URL.

    That can be seen offline if the getter of the source never sends on to other addresses. If it may (a registry, a
    web server), ``lock --check`` asks.
    """
    known = {} if lock is None else lock.modules
    return frozenset(
        name
        for name, entry in manifest.modules.items()
        if name in known and known[name].source == entry.source and _is_mismatched(known[name], workspace)
    )


def _is_mismatched(module: LockedModule, workspace: Workspace) -> bool:
    try:
        typed, locked = written_address(module.source), written_address(module.package)
        if (typed.force, typed.body) == (locked.force, locked.body):
            return False  # the usual case, which needs no getter
        asked = workspace.detect(module.source).package
        if workspace.operation.catalog.getter(asked.getter).sends_on:
            return False
        found = workspace.detect(module.package).package
    except GetModulesError:
        return False  # installing it reports what is wrong with it
    return (asked.getter, asked.url.rstrip("/")) != (found.getter, found.url.rstrip("/"))


def merge_lock(lock: Lock | None, entries: Mapping[str, Entry], manifest: Manifest) -> Lock:
    """Return a lock of ``entries``, and the old entries of the manifest's other modules at their destinations."""
    kept: dict[str, Entry] = {}
    if lock is not None:
        for name in lock.modules.keys() & manifest.modules.keys():
            kept[name] = lock.entry(name)
    known = {**kept, **entries}
    return Lock.of(_placed(known[name], manifest.modules[name], entries) for name in sorted(known))


def _placed(entry: Entry, wanted: ModuleEntry, fresh: Mapping[str, Entry]) -> Entry:
    module, package = entry
    stale = wanted.name not in fresh and list(_edited(wanted, module)) not in ([], ["dest"])
    return entry if stale else (replace(module, dest=wanted.dest), package)


# ---------------------------------------------------------------------------------------------------------------- jobs


def fresh_job(target: Target, dest: Path, *, force: bool = False, aside: bool = False) -> Job:
    """Return the job that fetches a module that is not locked, demanding only what the manifest expects.

    ``aside``: only to look at it, in the private directory ``dest``.
    """
    by_tree, others = _split(demanded.of_expectation(target.entry.expect, _MANIFEST))
    return Job(
        name=target.entry.name,
        address=target.address,
        dest=dest,
        source=target.entry.source,
        demands=others,
        tree_demands=by_tree,
        force=force,
        aside=aside,
    )


def locked_job(
    module: LockedModule, package: LockedPackage, workspace: Workspace, dest: Path, *, force: bool = False
) -> Job:
    """Return the job that brings exactly what is locked."""
    address = locked_address(module, package, workspace)
    by_tree, others = _split(demanded.of_expectation(module.expect, _MANIFEST))
    return Job(
        name=module.name,
        address=address,
        dest=dest,
        source=module.source,
        demands=(*_package_demands(package), *others),
        tree_demands=(*_tree_demands(module, package, workspace), *by_tree),
        force=force,
    )


def locked_address(module: LockedModule, package: LockedPackage, workspace: Workspace) -> ModuleAddress:
    """Return the pinned address of a locked module; its getter must be the locked one."""
    address = workspace.detect(package.address)
    if address.package.getter != package.getter:
        raise ConfigError(
            f"{LOCK_NAME}: the package {printable(package.address, 500)!r} is of the getter {address.package.getter},"
            f" and not of {printable(package.getter, 80)!r}",
            hint=f"was the file edited? getmodules lock --upgrade {module.name} makes the entry anew",
        )
    return replace(address, subdir=join_subdirs(address.subdir, module.subdir))


def admit_locked(module: LockedModule, package: LockedPackage, workspace: Workspace) -> None:
    """Raise where the gate of addresses keeps us from a locked package, of which perhaps nothing has to be fetched."""
    if workspace.operation.has_address_gate:
        workspace.operation.admit(locked_address(module, package, workspace).package)


def _tree_demands(module: LockedModule, package: LockedPackage, workspace: Workspace) -> tuple[Demand, ...]:
    hashes = [module.h1]
    if module.t1 is not None and knows_t1(package, workspace):
        hashes.append(module.t1)
    return tuple(_demand(Gate.TREE, value, _changed_hint(module.name)) for value in hashes)


def _package_demands(package: LockedPackage) -> tuple[Demand, ...]:
    found = []
    # An id that is the digest of the bytes or of the tree is demanded at those gates: the pin does not know it yet.
    if package.id != package.archive and not package.is_directory:
        found.append(_demand(Gate.PIN, package.id))
    if package.archive is not None:
        found.append(_demand(Gate.BYTES, package.archive))
    return tuple(found)


def _demand(gate: Gate, value: str, hint: str | None = None) -> Demand:
    return Demand(gate=gate, check=demanded.LOCK, value=value, by=_BY, hint=hint)


def _changed_hint(name: str) -> str:
    return f"the content changed since it was locked: find out why before getmodules lock --upgrade {name} takes it"


def _split(demands: tuple[Demand, ...]) -> tuple[tuple[Demand, ...], tuple[Demand, ...]]:
    """Split demands into those on the tree, which concern one module, and those on the package."""
    by_tree = tuple(demand for demand in demands if demand.gate is Gate.TREE)
    return by_tree, tuple(demand for demand in demands if demand.gate is not Gate.TREE)


# ------------------------------------------------------------------------------------------------- entries of the lock


def entry_of(target: Target, installed: Installed, workspace: Workspace) -> tuple[LockedModule, LockedPackage]:
    """Return the lock's entry for what was installed for ``target``."""
    address, subdir, getter = _address_to_lock(target, installed, workspace)
    entry = target.entry
    package = LockedPackage(
        address=address,
        id=installed.id,
        getter=getter,
        archive=installed.archive,
        size=installed.archive_bytes,
        package_h1=installed.package_h1,
    )
    module = LockedModule(
        name=entry.name,
        source=entry.source,
        package=address,
        dest=entry.dest,
        h1=installed.h1,
        t1=installed.t1 if knows_t1(package, workspace) else None,
        subdir=subdir,
        version=entry.version,
        selected=target.selected,
        expect=entry.expect,
    )
    return module, package


def _address_to_lock(target: Target, installed: Installed, workspace: Workspace) -> tuple[str, str, str]:
    """Return the package's address as the lock has it, the subdirectory in it, and its getter."""
    asked, catalog = target.address, workspace.operation.catalog
    if installed.pinned is None:
        # Only the h1 of what is installed pins it: so the subdirectory belongs to the address.
        text = target.entry.source if is_local(asked.package, catalog) else str(asked)
        return text, "", asked.package.getter
    if MASK in installed.pinned:
        # A server sent us on to an address with a secret in it: the address that was asked for is locked instead.
        return str(asked.package), asked.subdir, asked.package.getter
    pinned = workspace.detect(installed.pinned)
    package = pinned.package
    text = _as_typed(target.entry.source, package, workspace) if is_local(package, catalog) else str(package)
    return text, pinned.subdir, package.getter


def _as_typed(source: str, pinned: PackageAddress, workspace: Workspace) -> str:
    """Return a pinned path as it was written, so that it means the same in another checkout."""
    typed = parse(source)
    force = f"{typed.force}::" if typed.force else ""
    text = f"{force}{typed.body}?{pinned.arguments.query}"
    try:
        same = workspace.detect(text).package == pinned
    except GetModulesError:
        same = False
    return text if same else str(pinned)
