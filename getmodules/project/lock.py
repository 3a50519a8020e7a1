"""``lock``: what every module of the manifest is today, written down; and ``lock --check``: does that still hold?

What is locked stays locked. An entry changes when the manifest's source, version or expect was edited, or when it is
upgraded; and only after its package was fetched and has passed every gate.
"""

from __future__ import annotations

from collections.abc import Iterator

from getmodules.pipeline.batch import Failure, Outcome
from getmodules.project.bench import Bench, chosen
from getmodules.project.dests import check_manifest
from getmodules.project.entries import strays
from getmodules.project.lockfile import Lock
from getmodules.project.lookup import fetched, identities
from getmodules.project.manifest import Manifest
from getmodules.project.plan import Entry, Plan, compare, merged
from getmodules.project.reports import Change, CheckReport, LockedReport, LockReport, Moved
from getmodules.project.selection import Target, as_locked, targets
from getmodules.util.values import replace, valueclass


@valueclass(kw_only=False)
class Upgrade:
    """Which locked entries are looked up anew: those of these names, and without any, all."""

    names: tuple[str, ...] = ()


def lock(upgrade: Upgrade | None, bench: Bench) -> LockReport:
    with bench.turn():
        return lock_manifest(bench.manifest(), upgrade, bench)


def lock_manifest(manifest: Manifest, upgrade: Upgrade | None, bench: Bench) -> LockReport:
    before = bench.lock()
    plan = compare(manifest, before, strays(manifest, before, bench))
    check_manifest(manifest, before, plan.fresh, bench)
    renewed = frozenset() if upgrade is None else frozenset(chosen(upgrade.names, manifest.modules))
    wanted = targets([entry for name, entry in manifest.modules.items() if plan.fresh(name) or name in renewed], bench)
    found = fetched(wanted.done, bench)
    failures = (*wanted.failures, *found.failures)
    if failures:
        return LockReport(failures=failures)
    after = merged(before, found.done, manifest)
    return LockReport(modules=tuple(_changes(before or Lock(), after)), written=bench.write_lock(after))


def _changes(before: Lock, after: Lock) -> Iterator[LockedReport]:
    for name in sorted(before.modules.keys() | after.modules.keys()):
        if name not in after.modules:
            yield _reported(Change.REMOVED, before.entry(name))
        elif name not in before.modules:
            yield _reported(Change.NEW, after.entry(name))
        else:
            same = _own(before.entry(name)) == _own(after.entry(name))
            yield _reported(Change.UNCHANGED if same else Change.CHANGED, after.entry(name))


def _own(entry: Entry) -> Entry:
    """Without what the lock has learned of its package through another module."""
    module, package = entry
    return module, replace(package, package_h1=None)


def _reported(change: Change, entry: Entry) -> LockedReport:
    module, package = entry
    return LockedReport.of(module, package, change=change, selected=module.selected)


# --------------------------------------------------------------------------------------------------- checking


def check(bench: Bench) -> CheckReport:
    """Nothing is written. What has no identity that is had cheaply is fetched for it."""
    manifest, before = bench.manifest(), bench.lock()
    plan = compare(manifest, before, strays(manifest, before, bench))
    if before is None:
        return CheckReport(stale=plan.reasons)
    now = current(manifest, plan, before, bench)
    moved = tuple(
        Moved(name=name, source=manifest.modules[name].source, locked=before.entry(name)[1].id, now=identity)
        for name, identity in now.done.items()
        if identity != before.entry(name)[1].id
    )
    return CheckReport(stale=plan.reasons, moved=moved, failures=now.failures)


def current(manifest: Manifest, plan: Plan, before: Lock, bench: Bench) -> Outcome[str]:
    """By module that is in step, the id of what its source brings today; of a version, the tag that was selected."""
    wanted: dict[str, Target] = {}
    failures: list[Failure] = []
    for name, entry in manifest.modules.items():
        if plan.fresh(name):
            continue
        target = as_locked(entry, before.modules[name].selected, bench)
        if isinstance(target, Failure):
            failures.append(target)
        else:
            wanted[name] = target
    found = identities(wanted, {name: before.entry(name)[1] for name in wanted}, bench)
    return replace(found, failures=(*failures, *found.failures))
