"""Brings the trees to what the lock says, and the lock to what the manifest says.

From the lock where there is an entry, each package once; what is there already and matches is left alone, what was
edited is never overwritten. Only when every module is in its place is the lock written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from getmodules.api.model import Installed
from getmodules.errors import DestinationExistsError, GetModulesError
from getmodules.pipeline.batch import Failure, Job, Outcome, install_all
from getmodules.project.destinations import check_lock, check_manifest
from getmodules.project.lockfile import Lock, LockedModule, LockedPackage, require_lock
from getmodules.project.manifest import Manifest, ModuleEntry
from getmodules.project.plan import Entry, Plan, compare, entry_of, find_mismatched, fresh_job, locked_job, merge_lock
from getmodules.project.reports import Action, InstalledModule, InstallReport
from getmodules.project.select import Target, find_targets
from getmodules.project.trees import MOVE_IT_AWAY, describe, h1_of, is_vacant, odd_kind
from getmodules.project.workspace import Workspace, choose_modules, private_directory
from getmodules.util.redact import printable
from getmodules.util.values import field, replace, valueclass

_MOVE_CHANGES: Final = "move your changes away, or replace the directory with --force"


@valueclass
class InstallOptions:
    """How to install."""

    names: tuple[str, ...] = ()
    #: Refuse where manifest and lock differ, instead of bringing the lock up to date.
    locked: bool = False
    #: Leave the manifest unread.
    frozen: bool = False
    force: bool = False


def install(wishes: InstallOptions, workspace: Workspace) -> InstallReport:
    with workspace.exclusive():
        return _Installation(wishes, workspace).run()


@valueclass(kw_only=False, frozen=False)
class _Installation:
    wishes: InstallOptions
    workspace: Workspace
    entries: dict[str, Entry] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    failures: dict[str, GetModulesError] = field(default_factory=dict)
    #: Of modules that are brought from the lock, what was known of their destinations before.
    begun: dict[str, frozenset[str]] = field(default_factory=dict)

    def run(self) -> InstallReport:
        if self.wishes.frozen:
            names = self._from_lock_alone(require_lock(self.workspace.files))
            return self._report(names, written=False)
        lock = self.workspace.lock()
        manifest = self.workspace.manifest()
        plan = compare(manifest, lock, find_mismatched(manifest, lock, self.workspace))
        if self.wishes.locked:
            plan.check()
        names = choose_modules(self.wishes.names, manifest.modules)
        fresh = [manifest.modules[name] for name in names if plan.fresh(name)]
        check = partial(check_manifest, manifest, lock, plan.fresh, self.workspace)
        if fresh:
            check()
        self._install_locked(lock, plan, manifest, names, check)
        if fresh:
            with private_directory(self.workspace) as spare:
                self._install_fresh(lock, fresh, spare)
        self._remember()
        written = (
            not self.failures
            and not plan.in_step
            and self.workspace.write_lock(merge_lock(lock, self.entries, manifest))
        )
        return self._report(names, written=written)

    def _from_lock_alone(self, lock: Lock) -> tuple[str, ...]:
        names = choose_modules(self.wishes.names, lock.modules)
        self._bring({name: lock.entry(name) for name in names}, partial(check_lock, lock, self.workspace))
        return names

    # ------------------------------------------------------------------------------------------ from the lock

    def _install_locked(
        self, lock: Lock | None, plan: Plan, manifest: Manifest, names: Iterable[str], check: Callable[[], None]
    ) -> None:
        wanted: dict[str, Entry] = {}
        for name in names:
            if lock is not None and not plan.fresh(name):
                module, package = lock.entry(name)
                wanted[name] = replace(module, dest=manifest.modules[name].dest), package
        self._bring(wanted, check)

    def _bring(self, entries: Mapping[str, Entry], check: Callable[[], None]) -> None:
        """``check`` is for whoever has something to do: most runs find everything in its place."""
        known = self.workspace.state.installed()
        jobs: list[Job] = []
        for name, (module, package) in entries.items():
            self.workspace.checkpoint()
            try:
                job = self._job(module, package, known)
            except GetModulesError as error:
                self.failures[name] = error
                continue
            self.entries[name] = module, package
            if job is None:
                self.actions[name] = Action.UNCHANGED
            else:
                jobs.append(job)
                self.begun[name] = frozenset() if is_vacant(job.dest) else known.get(module.dest, frozenset())
        if jobs:
            check()
            self._expect()
        try:
            self._collect(install_all(jobs, self.workspace.means, self.workspace.pace))
        finally:
            self._remember()

    def _job(self, module: LockedModule, package: LockedPackage, known: Mapping[str, frozenset[str]]) -> Job | None:
        """``None`` where what is locked is there already."""
        dest = self._dest(module.dest)
        if is_vacant(dest):
            return locked_job(module, package, self.workspace, dest)
        found = h1_of(dest)
        if found == module.h1:
            return None
        ours = known.get(module.dest, frozenset[str]())
        if not self.wishes.force and found not in ours:
            raise self._edited(module, package, dest)
        return self._replacing(locked_job(module, package, self.workspace, dest, force=True), ours)

    def _dest(self, dest: str) -> Path:
        """Where a module goes; what a killed run left beside it goes, whether or not anything is to be done there."""
        path = self.workspace.dest(dest)
        self.workspace.means.sweeper.sweep(path.parent)
        return path

    def _replacing(self, job: Job, ours: Collection[str | None]) -> Job:
        """Fetching may take minutes, in which somebody may begin to work in there."""

        def check() -> None:
            if not is_vacant(job.dest) and h1_of(job.dest) not in ours:
                raise DestinationExistsError(
                    f"{printable(str(job.dest), 1000)} was edited while the module was fetched", hint=_MOVE_CHANGES
                )

        return job if self.wishes.force else replace(job, guard=check)

    def _edited(self, module: LockedModule, package: LockedPackage, dest: Path) -> DestinationExistsError:
        kind = odd_kind(dest)
        if kind is not None:
            return DestinationExistsError(f"{module.dest} is {kind}", hint=MOVE_IT_AWAY)
        return DestinationExistsError(
            f"{module.dest} is not what was installed there{describe(module, package, dest, self.workspace)}",
            hint=_MOVE_CHANGES,
        )

    # ------------------------------------------------------------------------------------------------- anew

    def _install_fresh(self, lock: Lock | None, fresh: Iterable[ModuleEntry], spare: Path) -> None:
        asked = find_targets(fresh, self.workspace)
        self.failures |= {failure.module: failure.error for failure in asked.failures}
        known = self.workspace.state.installed()
        old = {} if lock is None else {name: module.h1 for name, module in lock.modules.items()}
        jobs = {}
        for name, target in asked.done.items():
            try:
                ours = known.get(target.entry.dest, frozenset()) | {old.get(name)} - {None}
                jobs[name] = self._fresh_job(target, ours, spare)
            except GetModulesError as error:
                self.failures[name] = error
        outcome = install_all(list(jobs.values()), self.workspace.means, self.workspace.pace)
        self._write_down(asked.done, outcome)
        for name in outcome.done:
            if jobs[name].dest.is_relative_to(spare):
                self._compare_with_what_is_there(name)

    def _fresh_job(self, target: Target, ours: frozenset[str | None], spare: Path) -> Job:
        dest = self._dest(target.entry.dest)
        if self.wishes.force or is_vacant(dest):
            return fresh_job(target, dest, force=self.wishes.force)
        if h1_of(dest) in ours:
            return self._replacing(fresh_job(target, dest, force=True), ours)
        # Perhaps it is just what we are about to install: a run that was killed, or trees in version control.
        return fresh_job(target, spare / target.entry.name)

    def _write_down(self, asked: Mapping[str, Target], outcome: Outcome[Installed]) -> None:
        self._collect(outcome)
        for name, installed in outcome.done.items():
            self.entries[name] = entry_of(asked[name], installed, self.workspace)

    def _compare_with_what_is_there(self, name: str) -> None:
        module, _ = self.entries[name]
        self.actions[name] = Action.UNCHANGED
        dest = self.workspace.dest(module.dest)
        if h1_of(dest) != module.h1:
            ways = "or move it away" if odd_kind(dest) else "move the directory away, or replace it with --force"
            self.failures[name] = DestinationExistsError(
                f"{module.dest} exists, and is not what {name} is", hint=f"choose another dest, {ways}"
            )

    # ------------------------------------------------------------------------------------------------ the end

    def _collect(self, outcome: Outcome[Installed]) -> None:
        self.actions |= dict.fromkeys(outcome.done, Action.INSTALLED)
        self.failures |= {failure.module: failure.error for failure in outcome.failures}

    def _expect(self) -> None:
        """Whatever ends this run, the next one knows what it has put where: the lock says it before it is done."""
        trees = {self.entries[name][0].dest: self._h1(name) | before for name, before in self.begun.items()}
        self.workspace.state.remember(self._in_place() | trees, matters=False)

    def _remember(self) -> None:
        trees = self._in_place()
        for name, before in self.begun.items():
            dest = self.entries[name][0].dest
            # Of one that was interrupted nobody knows whether it has come, except where nothing is.
            if dest not in trees and (
                name in self.failures or not os.path.lexists(self.workspace.files.directory / dest)
            ):
                trees[dest] = before
        self.workspace.state.remember(trees, matters=Action.INSTALLED in self.actions.values())

    def _in_place(self) -> dict[str, frozenset[str]]:
        return {self.entries[name][0].dest: self._h1(name) for name in self.actions if name not in self.failures}

    def _h1(self, name: str) -> frozenset[str]:
        return frozenset({self.entries[name][0].h1})

    def _report(self, names: Iterable[str], *, written: bool) -> InstallReport:
        modules = tuple(
            InstalledModule.of(*self.entries[name], action=self.actions[name])
            for name in names
            if name in self.actions and name not in self.failures
        )
        failures = tuple(Failure(module=name, error=self.failures[name]) for name in names if name in self.failures)
        return InstallReport(modules=modules, failures=failures, locked=written)
