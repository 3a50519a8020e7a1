"""``lock`` pins every module of the manifest, and ``lock --check`` compares the pins with what sources bring today.

What is locked stays locked. An entry changes when the manifest's source, version or expect was edited, or when it is
upgraded; and only after its package was fetched, into a private directory, and has passed every gate. A check asks
for identities alone, and fetches only where that does not suffice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from getmodules.errors import GetModulesError
from getmodules.pipeline.batch import Failure, Outcome, install_all, resolve_all
from getmodules.pipeline.spool import OWN_ALGORITHM
from getmodules.project.destinations import check_manifest
from getmodules.project.lockfile import Lock, LockedPackage
from getmodules.project.manifest import Manifest
from getmodules.project.plan import Entry, Plan, admit_locked, compare, entry_of, find_mismatched, fresh_job, merge_lock
from getmodules.project.reports import Change, CheckReport, LockedReport, LockReport, Moved
from getmodules.project.select import Target, find_targets, locked_target
from getmodules.project.workspace import Workspace, choose_modules, private_directory
from getmodules.util.digest import Digest
from getmodules.util.values import field, replace, valueclass

_NO_IDENTITY = "fetch/no-identity"


@valueclass(kw_only=False)
class Upgrade:
    """The locked entries that are looked up anew: those of these names, or all of them without any."""

    names: tuple[str, ...] = ()


def lock(upgrade: Upgrade | None, workspace: Workspace) -> LockReport:
    """Bring the lock up to date, while no other run works in the project."""
    with workspace.exclusive():
        update = look_up(workspace.manifest(), upgrade, workspace, judge_kept=True)
        if update.failures:
            return LockReport(failures=update.failures)
        after = update.lock()
        return LockReport(modules=update.changes(after), written=workspace.write_lock(after))


@valueclass
class LockUpdate:
    """A change of the lock that a manifest asks for: its new entries were looked up, and nothing is written yet."""

    before: Lock | None
    plan: Plan
    manifest: Manifest
    entries: Mapping[str, Entry] = field(default_factory=dict, hash=False)
    failures: tuple[Failure, ...] = ()

    def lock(self, more: Mapping[str, Entry] | None = None) -> Lock:
        """Return the lock that follows, with ``more`` entries."""
        return merge_lock(self.before, {**self.entries, **(more or {})}, self.manifest)

    def changes(self, after: Lock) -> tuple[LockedReport, ...]:
        return tuple(_changes(self.before or Lock(), after))


def look_up(
    manifest: Manifest,
    upgrade: Upgrade | None,
    workspace: Workspace,
    *,
    judge_kept: bool = False,
    without: str | None = None,
) -> LockUpdate:
    """Look up what the lock lacks of ``manifest``, but for the module ``without``.

    With ``judge_kept``, the gate of addresses is asked about entries that stay as they are, too.
    """
    before = workspace.lock()
    plan = compare(manifest, before, find_mismatched(manifest, before, workspace))
    check_manifest(manifest, before, plan.fresh, workspace)
    renewed = frozenset() if upgrade is None else frozenset(choose_modules(upgrade.names, manifest.modules))
    stale = [name for name in manifest.modules if (plan.fresh(name) or name in renewed) and name != without]
    wanted = find_targets([manifest.modules[name] for name in stale], workspace)
    kept = [name for name in manifest.modules if not plan.fresh(name) and name not in renewed] if judge_kept else []
    refused = () if before is None else _refused(kept, before, workspace)
    found = fetch_entries(wanted.done, workspace)
    failures = (*refused, *wanted.failures, *found.failures)
    return LockUpdate(before=before, plan=plan, manifest=manifest, entries=found.done, failures=failures)


def _refused(names: Iterable[str], lock: Lock, workspace: Workspace) -> tuple[Failure, ...]:
    """Return the failures of locked modules whose address the gate refuses; nobody is contacted."""
    failures = []
    for name in names:
        try:
            admit_locked(*lock.entry(name), workspace)
        except GetModulesError as error:
            failures.append(Failure(module=name, error=error))
    return tuple(failures)


def _changes(before: Lock, after: Lock) -> Iterator[LockedReport]:
    for name in sorted(before.modules.keys() | after.modules.keys()):
        if name not in after.modules:
            yield _reported(Change.REMOVED, before.entry(name))
        elif name not in before.modules:
            yield _reported(Change.NEW, after.entry(name))
        else:
            same = _is_same(before.entry(name), after.entry(name))
            if same:
                yield _reported(Change.UNCHANGED, after.entry(name))
            else:
                yield _reported(Change.CHANGED, after.entry(name), before.entry(name))


def _is_same(before: Entry, after: Entry) -> bool:
    """Return whether two entries say the same.

    The hash of the whole package does not matter, which may come from another module; nor does a t1 that an earlier
    version has not locked.
    """
    (old, old_package), (new, new_package) = before, after
    if old.t1 is None:
        new = replace(new, t1=None)
    return (old, replace(old_package, package_h1=None)) == (new, replace(new_package, package_h1=None))


def _reported(change: Change, entry: Entry, before: Entry | None = None) -> LockedReport:
    module, package = entry
    return LockedReport.of(module, package, before, change=change, selected=module.selected)


# ------------------------------------------------------------------------------------------------------------ checking


def check(workspace: Workspace) -> CheckReport:
    """Compare the lock with the manifest and with what the sources bring today; write nothing."""
    manifest, before = workspace.manifest(), workspace.lock()
    plan = compare(manifest, before, find_mismatched(manifest, before, workspace))
    if before is None:
        return CheckReport(stale=plan.reasons)
    now = resolve_locked(manifest, plan, before, workspace)
    moved = tuple(
        Moved(name=name, source=manifest.modules[name].source, locked=_locked(before, name, identity), now=identity)
        for name, identity in now.done.items()
        if identity != before.entry(name)[1].id
    )
    return CheckReport(stale=plan.reasons, moved=moved, failures=now.failures)


def _locked(lock: Lock, name: str, now: str) -> str:
    """Return what is locked in the place of ``now``."""
    module, package = lock.entry(name)
    return module.t1 if module.t1 is not None and now.startswith("t1:") else package.id


def resolve_locked(manifest: Manifest, plan: Plan, before: Lock, workspace: Workspace) -> Outcome[str]:
    """Return the id that each locked module has today; a version means the tag that was selected for the lock."""
    wanted: dict[str, Target] = {}
    failures: list[Failure] = []
    for name, entry in manifest.modules.items():
        if plan.fresh(name):
            continue
        target = locked_target(entry, before.modules[name].selected, workspace)
        if isinstance(target, Failure):
            failures.append(target)
        else:
            wanted[name] = target
    found = current_identities(wanted, {name: before.entry(name) for name in wanted}, workspace)
    return replace(found, failures=(*failures, *found.failures))


# ---------------------------------------------------------------------------------------------- what modules are today


def fetch_entries(wanted: Mapping[str, Target], workspace: Workspace) -> Outcome[Entry]:
    """Return the lock entry of each target, which is fetched, verified and hashed, and not kept."""
    if not wanted:
        return Outcome()
    with private_directory(workspace) as spare:
        jobs = [fresh_job(target, spare / name, aside=True) for name, target in wanted.items()]
        outcome = install_all(jobs, workspace.operation, workspace.pace)
    done: dict[str, Entry] = {}
    failures = list(outcome.failures)
    for name, installed in outcome.done.items():
        try:
            done[name] = entry_of(wanted[name], installed, workspace)
        except GetModulesError as error:
            failures.append(Failure(module=name, error=error))
    return Outcome(done=done, failures=tuple(failures))


def current_identities(wanted: Mapping[str, Target], locked: Mapping[str, Entry], workspace: Workspace) -> Outcome[str]:
    """Return the id that each target has today, fetching those whose identity cannot be asked for."""
    asked = resolve_all(
        {name: (t.entry.source, t.address) for name, t in wanted.items()}, workspace.operation, workspace.pace
    )
    done = {name: resolved.id for name, resolved in asked.done.items()}
    unclear = [failure.module for failure in asked.failures if failure.error.code == _NO_IDENTITY]
    unclear += [name for name, identity in done.items() if _is_another_digest(identity, locked[name][1])]
    looked_at = fetch_entries({name: wanted[name] for name in unclear}, workspace)
    done |= {name: _identity(entry, locked[name]) for name, entry in looked_at.done.items()}
    failures = [failure for failure in asked.failures if failure.module not in unclear]
    return Outcome(done=done, failures=tuple(_in_order(wanted, [*failures, *looked_at.failures])))


def _identity(now: Entry, locked: Entry) -> str:
    """Return the id of what was fetched; or its t1, if a directory differs from the locked one in that alone."""
    (module, package), (before, known) = now, locked
    if package.id != known.id or before.t1 is None or module.t1 is None or module.t1 == before.t1:
        return package.id
    return module.t1


def _is_another_digest(identity: str, package: LockedPackage) -> bool:
    """Return whether an identity is a digest of another algorithm than the lock's, and cannot be compared with it.

    It comes from a checksum in the address.
    """
    if package.id != package.archive:
        return False
    try:
        return Digest.parse(identity).algorithm != OWN_ALGORITHM
    except ValueError:
        return False


def _in_order(names: Iterable[str], failures: list[Failure]) -> list[Failure]:
    places = {name: place for place, name in enumerate(names)}
    return sorted(failures, key=lambda failure: places[failure.module])
