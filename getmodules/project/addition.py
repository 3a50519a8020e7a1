"""``add``: a module more in the manifest and in the lock, and at its destination.

All three change, or none. The module is fetched and judged beside its destination; then the lock is written, then the
manifest, and the last step is the rename that publishes it (ADR 39).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from getmodules.api.model import Installed
from getmodules.archive.tree_hash import TreeHashes
from getmodules.errors import DestinationExistsError, GetModulesError
from getmodules.pipeline.batch import Failure, Job, install_all
from getmodules.project.edit import with_module
from getmodules.project.install import check_still_ours
from getmodules.project.lock import LockUpdate, look_up
from getmodules.project.lockfile import Lock
from getmodules.project.manifest import Manifest, ModuleEntry, parse_manifest
from getmodules.project.modes import is_one_of
from getmodules.project.moving import advise_on_latest
from getmodules.project.plan import Entry, admit_locked, entry_of, fresh_job, locked_job
from getmodules.project.rebase import rebased
from getmodules.project.reports import AddReport, InstalledModule
from getmodules.project.select import Target, find_targets
from getmodules.project.toml import read_marked
from getmodules.project.transaction import changed_files
from getmodules.project.trees import hashes_of, is_vacant
from getmodules.project.workspace import Workspace, target_of
from getmodules.util.values import field, replace, valueclass


@valueclass(kw_only=False, frozen=False)
class Addition:
    """A module that ``add`` puts into the manifest and the lock, and installs unless it is told not to."""

    name: str
    entry: Mapping[str, str]
    #: The directory at which a relative source starts; None for that of the manifest.
    base: Path | None
    install: bool
    #: The entry as it is written: its source starts at the manifest.
    _written_entry: Mapping[str, str] = field(default_factory=dict, init=False)
    _text: str = field(default="", init=False)

    def edited(self, path: Path) -> Manifest:
        """Return the manifest with the module in it, from what the file says now; nothing is written yet."""
        mark, text = read_marked(path) or ("", "")
        entry = dict(self.entry)
        if self.base is not None:
            entry["source"] = rebased(entry["source"], self.base, path.parent)
        text = with_module(text, entry, self.name, path)
        self._written_entry = entry
        self._text = mark + text
        return parse_manifest(text, path)

    def settle(self, workspace: Workspace) -> AddReport:
        with workspace.exclusive():
            report = self._settled(workspace)
            if not report.failures:
                advise_on_latest(self.name, self._written_entry, workspace)
            return report

    def _settled(self, workspace: Workspace) -> AddReport:
        manifest = workspace.manifest()
        target_of(workspace.files.manifest)
        update = look_up(manifest, None, workspace, without=self.name if self.install else None)
        if update.failures:
            return AddReport(failures=update.failures)
        if self.install:
            return self._installed(update, workspace)
        after = update.lock()
        with changed_files(after, self._text, workspace) as written:
            return AddReport(modules=update.changes(after), written=written)

    def _installed(self, update: LockUpdate, workspace: Workspace) -> AddReport:
        publication = _Publication(self.name, self._text, update, workspace)
        try:
            job = publication.job()
        except GetModulesError as error:
            return AddReport(failures=(Failure(module=self.name, error=error),))
        outcome = install_all([job], workspace.operation, workspace.pace)
        for failure in outcome.failures:
            if isinstance(failure.error, DestinationExistsError):
                failure.error.hint = "choose another dest, or move that away"  # here nothing is replaced by force
        if outcome.failures:
            return AddReport(failures=outcome.failures)
        return publication.report(outcome.done[self.name])


@valueclass(kw_only=False, frozen=False)
class _Publication:
    """The last steps of an addition: what is written while the module is published, and its report."""

    name: str
    text: str
    update: LockUpdate
    workspace: Workspace
    _entry: Entry | None = field(default=None, init=False)
    _after: Lock = field(default_factory=Lock, init=False)
    _written: bool = field(default=False, init=False)

    def job(self) -> Job:
        """Return the job that installs the module; as it is locked, if an addition that was killed has locked it."""
        wanted, workspace = self.update.manifest.modules[self.name], self.workspace
        dest = workspace.dest(wanted.dest)
        workspace.operation.sweeper.sweep(dest.parent)
        if self.update.before is None or self.update.plan.fresh(self.name):
            target = _target_of(wanted, workspace)
            job = fresh_job(target, dest)
            entry_for: Callable[[Installed], Entry] = partial(entry_of, target, workspace=workspace)
        else:
            module, package = self.update.before.entry(self.name)
            admit_locked(module, package, workspace)
            module = replace(module, dest=wanted.dest)
            job = locked_job(module, package, workspace, dest)
            entry_for = partial(_same, (module, package))
        ours = workspace.state.installed().get(wanted.dest, frozenset[TreeHashes]())
        is_ours = not is_vacant(dest) and is_one_of(ours, hashes_of(dest), dest, workspace)
        return replace(job, force=is_ours, guard=partial(self._publishing, entry_for, ours if is_ours else None, dest))

    @contextmanager
    def _publishing(
        self,
        entry_for: Callable[[Installed], Entry],
        replaced: frozenset[TreeHashes] | None,
        dest: Path,
        installed: Installed,
    ) -> Iterator[None]:
        """Write lock and manifest; if the module cannot be published then, they are brought back."""
        if replaced is not None:
            check_still_ours(replaced, dest, self.workspace)
        self._entry = entry_for(installed)
        self._after = self.update.lock({self.name: self._entry})
        with (
            self._remembered(self._entry[0].dest, TreeHashes(installed.h1, installed.t1)),
            changed_files(self._after, self.text, self.workspace) as self._written,
        ):
            yield

    @contextmanager
    def _remembered(self, dest: str, hashes: TreeHashes) -> Iterator[None]:
        """Remember the tree, before it is there: a run that is killed can write nothing more."""
        state = self.workspace.state
        before = state.installed().get(dest, frozenset[TreeHashes]())
        state.remember({dest: before | {hashes}}, matters=False)
        try:
            yield
        except BaseException:
            state.remember({dest: before}, matters=False)
            raise
        state.remember({dest: frozenset({hashes})})

    def report(self, installed: Installed) -> AddReport:
        assert self._entry is not None, "it was published"
        return AddReport(
            modules=self.update.changes(self._after),
            written=self._written,
            installed=InstalledModule.of(*self._entry, action=installed.action),
        )


def _same(entry: Entry, installed: Installed) -> Entry:
    return entry


def _target_of(wanted: ModuleEntry, workspace: Workspace) -> Target:
    found = find_targets([wanted], workspace)
    for failure in found.failures:
        raise failure.error
    return found.done[wanted.name]
