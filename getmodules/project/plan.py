"""The manifest against the lock: what is locked as it is wanted, what is new, what was edited, what is left over.

Pure: nobody is asked, and nothing on the disk but the two files has a say.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from enum import StrEnum

from getmodules.addresses.versions import Constraint
from getmodules.errors import LockStaleError
from getmodules.project.lockfile import Lock, LockedModule, LockedPackage
from getmodules.project.manifest import Manifest, ModuleEntry
from getmodules.project.names import LOCK_NAME
from getmodules.project.selection import version_in
from getmodules.util.values import replace, valueclass

Entry = tuple[LockedModule, LockedPackage]
_SHOWN = 20


class Standing(StrEnum):
    LOCKED = "locked"
    #: Locked, and wanted at another place.
    MOVED = "moved"
    NEW = "new"
    #: The source, version or expect was edited since it was locked.
    STALE = "stale"


@valueclass(kw_only=False)
class Plan:
    standings: Mapping[str, Standing]
    #: Locked, and not in the manifest any more.
    orphans: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def in_step(self) -> bool:
        return not self.reasons

    def fresh(self, name: str) -> bool:
        """Whether what this module is must be found out anew."""
        return self.standings[name] in (Standing.NEW, Standing.STALE)

    def check(self) -> None:
        """Raise where manifest and lock say different things."""
        if self.reasons:
            more = len(self.reasons) - _SHOWN
            shown = "; ".join(self.reasons[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
            raise LockStaleError(
                f"{LOCK_NAME} does not say what the manifest says: {shown}", hint="getmodules lock brings it up to date"
            )


def compare(manifest: Manifest, lock: Lock | None, strays: Container[str] = ()) -> Plan:
    """``strays`` are modules whose locked package is not of their source: as if that had been edited."""
    locked = {} if lock is None else lock.modules
    standings: dict[str, Standing] = {}
    reasons: list[str] = [] if lock is not None or not manifest.modules else [f"there is no {LOCK_NAME}"]
    for name, entry in manifest.modules.items():
        known = locked.get(name)
        edited = [] if known is None else list(_edited(entry, known))
        if name in strays and "source" not in edited:
            edited.insert(0, "source")
        standings[name] = _standing(known, edited)
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
    """Whether the tag that was selected is one that the version allows: a lock that was edited may say otherwise."""
    if locked.version is None:
        return True
    selected = version_in(locked.selected or "")
    return selected is not None and Constraint.parse(locked.version).allows(selected)


def _standing(locked: LockedModule | None, edited: list[str]) -> Standing:
    if locked is None:
        return Standing.NEW
    if not edited:
        return Standing.LOCKED
    return Standing.MOVED if edited == ["dest"] else Standing.STALE


def merged(lock: Lock | None, entries: Mapping[str, Entry], manifest: Manifest) -> Lock:
    """``entries``, and of the other modules of the manifest what the lock has, where they are to be now."""
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
