"""``install``: bring the trees to what the lock says, and the lock to what the manifest says.

The steps: compare the manifest with the lock; bring the modules that the lock has; fetch the others and lock what came;
write the lock, if nothing failed. A tree that is there already and matches is left alone; one that was edited is
never overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from getmodules.api.model import Action, Installed
from getmodules.archive.tree_hash import TreeHashes
from getmodules.errors import DestinationExistsError, GetModulesError
from getmodules.pipeline.batch import Failure, Job, Outcome, install_all
from getmodules.project.destinations import Occupied, check_lock, check_manifest
from getmodules.project.lockfile import Lock, LockedModule, LockedPackage, require_lock
from getmodules.project.manifest import Manifest, ModuleEntry
from getmodules.project.modes import is_one_of, is_same_tree
from getmodules.project.plan import (
    Entry,
    Plan,
    admit_locked,
    compare,
    entry_of,
    find_mismatched,
    fresh_job,
    locked_job,
    merge_lock,
)
from getmodules.project.removal import prune
from getmodules.project.reports import FormerDirectory, InstalledModule, InstallReport
from getmodules.project.select import Target, find_targets
from getmodules.project.trees import MOVE_IT_AWAY, describe, hashes_of, is_vacant, odd_kind
from getmodules.project.workspace import Workspace, choose_modules, private_directory
from getmodules.util.redact import printable
from getmodules.util.values import field, replace, valueclass

_MOVE_CHANGES: Final = "move your changes away, or replace the directory with --force"


@valueclass
class InstallOptions:
    """The options of one installation."""

    names: tuple[str, ...] = ()
    #: Refuse if manifest and lock differ, instead of bringing the lock up to date.
    locked: bool = False
    #: Leave the manifest unread.
    frozen: bool = False
    force: bool = False
    #: Take away what was installed here and is not locked any more; with names nothing.
    prune: bool = False


def install(options: InstallOptions, workspace: Workspace) -> InstallReport:
    """Install modules of a project, while no other run works in it."""
    with workspace.exclusive():
        installation = _Installation(options, workspace, _InstallResults(workspace))
        return installation.from_lock() if options.frozen else installation.from_manifest()


@valueclass(kw_only=False)
class _Installation:
    options: InstallOptions
    workspace: Workspace
    results: _InstallResults

    def from_lock(self) -> InstallReport:
        lock = require_lock(self.workspace.files)
        names = choose_modules(self.options.names, lock.modules)
        self._install_locked({name: lock.entry(name) for name in names}, partial(check_lock, lock, self.workspace))
        return replace(self.results.report(names, lock_written=False), pruned=self._pruned(None, lock))

    def from_manifest(self) -> InstallReport:
        lock = self.workspace.lock()
        manifest = self.workspace.manifest()
        plan = compare(manifest, lock, find_mismatched(manifest, lock, self.workspace))
        if self.options.locked:
            plan.check()
        names = choose_modules(self.options.names, manifest.modules)
        fresh = [manifest.modules[name] for name in names if plan.fresh(name)]
        check = partial(check_manifest, manifest, lock, plan.fresh, self.workspace)
        if fresh:
            check()
        self._install_locked(_locked_entries(names, manifest, lock, plan), check)
        if fresh:
            self._install_fresh(fresh, lock)
        written = False
        if not self.results.failures and not plan.in_step:
            lock = merge_lock(lock, self.results.entries, manifest)
            written = self.workspace.write_lock(lock)
        return replace(self.results.report(names, lock_written=written), pruned=self._pruned(manifest, lock))

    def _pruned(self, manifest: Manifest | None, lock: Lock | None) -> tuple[FormerDirectory, ...]:
        """Take away what is to be pruned. Where a module failed that is nothing: the lock is not what it should be."""
        if not self.options.prune or self.options.names or self.results.failures:
            return ()
        return prune(Occupied.of(manifest, lock), self.workspace)

    # ---------------------------------------------------------------------------------- modules that are locked

    def _install_locked(self, entries: Mapping[str, Entry], check: Callable[[], None]) -> None:
        """Bring exactly what is locked. ``check`` is called before the first change: most runs have nothing to do."""
        jobs = self._locked_jobs(entries)
        if jobs:
            check()
            self.results.remember_expected_trees()
        try:
            self.results.add(install_all(jobs, self.workspace.operation, self.workspace.pace))
        finally:
            self.results.remember_trees()

    def _locked_jobs(self, entries: Mapping[str, Entry]) -> list[Job]:
        known = self.workspace.state.installed()
        jobs: list[Job] = []
        for name, (module, package) in entries.items():
            self.workspace.checkpoint()
            ours = known.get(module.dest, frozenset[TreeHashes]())
            try:
                job = self._locked_job(module, package, ours)
            except GetModulesError as error:
                self.results.failures[name] = error
                continue
            self.results.entries[name] = module, package
            self.results.trees[name] = module.hashes
            if job is None:
                self.results.actions[name] = Action.UNCHANGED
                if module.t1 is None:  # we may know more than the lock, having installed it
                    self.results.trees[name] = next((each for each in ours if each.h1 == module.h1), module.hashes)
            else:
                jobs.append(job)
                self.results.replaced[name] = frozenset() if is_vacant(job.dest) else ours
        return jobs

    def _locked_job(self, module: LockedModule, package: LockedPackage, ours: frozenset[TreeHashes]) -> Job | None:
        """Return the job that brings ``module``, or None if it is installed already.

        ``ours`` are the hashes of trees that we installed at its destination, which may therefore be replaced.
        """
        admit_locked(module, package, self.workspace)
        dest = self._swept_dest(module.dest)
        if is_vacant(dest):
            return locked_job(module, package, self.workspace, dest)
        found = hashes_of(dest)
        if is_same_tree(module.hashes, found, dest, self.workspace):
            return None
        if not self.options.force and not is_one_of(ours, found, dest, self.workspace):
            raise _edited_error(module, package, dest, self.workspace)
        return self._replacing(locked_job(module, package, self.workspace, dest, force=True), ours)

    # ------------------------------------------------------------------------------ modules that are new or edited

    def _install_fresh(self, entries: Iterable[ModuleEntry], lock: Lock | None) -> None:
        """Install what the manifest says, and write down what came."""
        with private_directory(self.workspace) as spare:
            targets = find_targets(entries, self.workspace)
            self.results.fail(targets.failures)
            jobs = self._fresh_jobs(targets.done, lock, spare)
            outcome = install_all(list(jobs.values()), self.workspace.operation, self.workspace.pace)
            self.results.add(outcome)
            for name, installed in outcome.done.items():
                self.results.entries[name] = entry_of(targets.done[name], installed, self.workspace)
                if lock is not None and name in lock.modules:
                    self.results.relocked[name] = lock.entry(name)
            for name in outcome.done:
                if jobs[name].dest.is_relative_to(spare):
                    self._compare_with_destination(name)
        self.results.remember_trees()

    def _fresh_jobs(self, targets: Mapping[str, Target], lock: Lock | None, spare: Path) -> dict[str, Job]:
        known = self.workspace.state.installed()
        old = {} if lock is None else {name: module.hashes for name, module in lock.modules.items()}
        jobs: dict[str, Job] = {}
        for name, target in targets.items():
            ours = known.get(target.entry.dest, frozenset[TreeHashes]())
            # A lock without t1 knows less of a tree than we do, having installed it: edited execute bits would be lost.
            if name in old and (old[name].t1 is not None or old[name].h1 not in {each.h1 for each in ours}):
                ours |= {old[name]}
            try:
                jobs[name] = self._fresh_job(target, ours, spare)
            except GetModulesError as error:
                self.results.failures[name] = error
        return jobs

    def _fresh_job(self, target: Target, ours: frozenset[TreeHashes], spare: Path) -> Job:
        dest = self._swept_dest(target.entry.dest)
        if self.options.force or is_vacant(dest):
            return fresh_job(target, dest, force=self.options.force)
        if is_one_of(ours, hashes_of(dest), dest, self.workspace):
            return self._replacing(fresh_job(target, dest, force=True), ours)
        # Perhaps it is just what we are about to install: a run that was killed, or trees in version control.
        return fresh_job(target, spare / target.entry.name, aside=True)

    def _compare_with_destination(self, name: str) -> None:
        """Judge a module that was fetched aside, since its destination was not empty and not known to be ours."""
        module, _ = self.results.entries[name]
        self.results.actions[name] = Action.UNCHANGED
        dest = self.workspace.dest(module.dest)
        if not is_same_tree(module.hashes, hashes_of(dest), dest, self.workspace):
            ways = "or move it away" if odd_kind(dest) else "move the directory away, or replace it with --force"
            self.results.failures[name] = DestinationExistsError(
                f"{self.workspace.place_of(module.dest)} exists, and is not what {name} is",
                hint=f"choose another dest, {ways}",
            )

    # ------------------------------------------------------------------------------------------- destinations

    def _swept_dest(self, dest: str) -> Path:
        """Return the path of a destination, after removing what a killed run left beside it.

        That is removed whether or not anything is to be installed there.
        """
        path = self.workspace.dest(dest)
        self.workspace.operation.sweeper.sweep(path.parent)
        return path

    def _replacing(self, job: Job, ours: Collection[TreeHashes]) -> Job:
        """Return ``job`` with a check, just before it replaces its destination, that the tree there is still ours."""

        @contextmanager
        def check(installed: Installed) -> Iterator[None]:
            check_still_ours(ours, job.dest, self.workspace)
            yield

        return job if self.options.force else replace(job, guard=check)


def check_still_ours(ours: Collection[TreeHashes], dest: Path, workspace: Workspace) -> None:
    """Raise if the tree at ``dest`` is none of ``ours`` any more: it may have been edited while the module came."""
    if not (is_vacant(dest) or is_one_of(ours, hashes_of(dest), dest, workspace)):
        raise DestinationExistsError(
            f"{printable(str(dest), 1000)} was edited while the module was fetched", hint=_MOVE_CHANGES
        )


def _locked_entries(names: Iterable[str], manifest: Manifest, lock: Lock | None, plan: Plan) -> dict[str, Entry]:
    """The lock's entries for ``names``, without those that are to be looked up anew, at the manifest's destinations."""
    entries: dict[str, Entry] = {}
    for name in names:
        if lock is not None and not plan.fresh(name):
            module, package = lock.entry(name)
            entries[name] = replace(module, dest=manifest.modules[name].dest), package
    return entries


def _edited_error(
    module: LockedModule, package: LockedPackage, dest: Path, workspace: Workspace
) -> DestinationExistsError:
    kind = odd_kind(dest)
    if kind is not None:
        return DestinationExistsError(f"{workspace.place_of(module.dest)} is {kind}", hint=MOVE_IT_AWAY)
    place, files = workspace.place_of(module.dest), describe(module, package, dest, workspace)
    return DestinationExistsError(f"{place} is not what was installed there{files}", hint=_MOVE_CHANGES)


@valueclass(kw_only=False, frozen=False)
class _InstallResults:
    """The results of an installation so far, by module.

    Its report follows from them, and so does what this checkout remembers of its trees.
    """

    workspace: Workspace
    entries: dict[str, Entry] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    failures: dict[str, GetModulesError] = field(default_factory=dict)
    #: For modules that are brought from the lock, the hashes that our earlier trees at their destinations may have.
    replaced: dict[str, frozenset[TreeHashes]] = field(default_factory=dict)
    #: The hashes of what is, or will be, at the destinations.
    trees: dict[str, TreeHashes] = field(default_factory=dict)
    #: The entries of the lock that were looked up anew.
    relocked: dict[str, Entry] = field(default_factory=dict)

    def add(self, outcome: Outcome[Installed]) -> None:
        self.actions |= {name: installed.action for name, installed in outcome.done.items()}
        self.trees |= {name: TreeHashes(installed.h1, installed.t1) for name, installed in outcome.done.items()}
        self.fail(outcome.failures)

    def fail(self, failures: Iterable[Failure]) -> None:
        self.failures |= {failure.module: failure.error for failure in failures}

    def remember_expected_trees(self) -> None:
        """Write down which trees this run may install, before it does: a run that is killed can write nothing more."""
        trees = {self.entries[name][0].dest: before | {self.trees[name]} for name, before in self.replaced.items()}
        self.workspace.state.remember(self._trees_in_place() | trees, matters=False)

    def remember_trees(self) -> None:
        """Write down which trees are in place, and which may be."""
        trees = self._trees_in_place()
        for name, before in self.replaced.items():
            dest = self.entries[name][0].dest
            # It is unknown whether an interrupted one was installed, unless nothing is there.
            if dest not in trees and (
                name in self.failures or not os.path.lexists(self.workspace.files.directory / dest)
            ):
                trees[dest] = before
        self.workspace.state.remember(trees, matters=Action.INSTALLED in self.actions.values())

    def _trees_in_place(self) -> dict[str, frozenset[TreeHashes]]:
        return {
            self.entries[name][0].dest: frozenset({self.trees[name]})
            for name in self.actions
            if name not in self.failures
        }

    def report(self, names: Iterable[str], *, lock_written: bool) -> InstallReport:
        modules = tuple(
            InstalledModule.of(*self.entries[name], self.relocked.get(name), action=self.actions[name])
            for name in names
            if name in self.actions and name not in self.failures
        )
        failures = tuple(Failure(module=name, error=self.failures[name]) for name in names if name in self.failures)
        return InstallReport(modules=modules, failures=failures, locked=lock_written)
