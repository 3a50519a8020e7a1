"""Reports: frozen results of work on a project, with every failure in them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from getmodules.api.model import Action
from getmodules.errors import GetModulesError
from getmodules.pipeline.batch import Failure
from getmodules.project.labels import version_label
from getmodules.util.values import field, valueclass

if TYPE_CHECKING:
    from getmodules.project.lockfile import LockedModule, LockedPackage

    Entry = tuple[LockedModule, LockedPackage]


class FailuresError(ExceptionGroup[GetModulesError]):
    """The errors of several modules that failed."""


@valueclass
class _Report:
    #: The modules that failed; the others were done all the same.
    failures: tuple[Failure, ...] = ()

    def check(self) -> None:
        """Raise if something failed: the error itself, or several as one group."""
        errors = tuple(dict.fromkeys(failure.error for failure in self.failures))
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise FailuresError(f"{len(self.failures)} modules failed", errors)


class Change(StrEnum):
    """The change of a lock entry."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


@valueclass
class _ReportedModule:
    """A module as it is locked. ``package`` is its pinned address, and ``id`` what that pins."""

    name: str
    package: str
    subdir: str
    dest: str
    h1: str
    #: None in an entry that an earlier version locked.
    t1: str | None = None
    id: str = ""
    #: What people call its version: a tag, a branch, or the first digits of a commit; archives and paths have none.
    version: str | None = None
    #: What its entry in the lock was before this call changed it.
    previous_version: str | None = None
    previous_id: str | None = None

    @classmethod
    def of(cls, module: LockedModule, package: LockedPackage, before: Entry | None = None, **more: Any) -> Self:
        """Return the report of a lock entry; ``before`` is the entry that it has replaced."""
        if before is not None:
            more |= {"previous_version": version_label(*before), "previous_id": before[1].id}
        return cls(
            name=module.name,
            package=package.address,
            subdir=module.subdir,
            dest=module.dest,
            h1=module.h1,
            t1=module.t1,
            id=package.id,
            version=version_label(module, package),
            **more,
        )


@valueclass
class LockedReport(_ReportedModule):
    """A module of the lock, and how its entry changed."""

    change: Change
    selected: str | None = None


@valueclass
class LockReport(_Report):
    """The report of ``lock``."""

    modules: tuple[LockedReport, ...] = ()
    #: True if the file was written: not if something failed, nor if it was the same already.
    written: bool = False


@valueclass
class InstalledModule(_ReportedModule):
    """A module on the disk, and whether it had to be installed."""

    action: Action


@valueclass
class AddReport(LockReport):
    """The report of ``add``: that of the lock, and the module that was installed."""

    installed: InstalledModule | None = None


class FormerState(StrEnum):
    """The state of a directory in which a project wants nothing any more."""

    REMOVED = "removed"
    KEPT = "kept"
    #: There was nothing.
    MISSING = "missing"


@valueclass
class FormerDirectory:
    """A directory in which a module was, and what became of it."""

    dest: str
    state: FormerState
    #: Why it was kept, as the end of a sentence; None if that was asked for.
    reason: str | None = None


@valueclass
class RemoveReport:
    """The report of ``remove``."""

    name: str
    directory: FormerDirectory


@valueclass
class Moved:
    """A module whose source means something else today than the lock says."""

    name: str
    source: str
    locked: str
    now: str


@valueclass
class CheckReport(_Report):
    """The report of ``lock --check``: all is well if nothing is stale, nothing has moved and nothing failed."""

    stale: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()


@valueclass
class InstallReport(_Report):
    """The report of ``install``."""

    modules: tuple[InstalledModule, ...] = ()
    #: True if the lock was written.
    locked: bool = False
    #: With ``prune``, the directories of earlier modules that were there.
    pruned: tuple[FormerDirectory, ...] = ()


class TreeState(StrEnum):
    """The state of a tree, compared with the lock."""

    OK = "ok"
    MODIFIED = "modified"
    MISSING = "missing"


class Difference(StrEnum):
    """The way in which a file or link differs from the locked one; ``label`` is for people."""

    label: str

    CONTENT = "content", "content"
    EXECUTABLE = "executable", "executable bit"
    #: A link is in the place of a file, or a file in that of a link.
    KIND = "kind", "kind"
    TARGET = "target", "link target"

    def __new__(cls, value: str, label: str) -> Self:
        made = str.__new__(cls, value)
        made._value_ = value
        made.label = label
        return made


@valueclass
class Differences:
    """The files and links in which a tree differs from what is locked."""

    #: Those that are in both trees, by path, and how they differ.
    changed: Mapping[str, tuple[Difference, ...]] = field(default_factory=dict, hash=False)
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def modified(self) -> tuple[str, ...]:
        return tuple(self.changed)

    def labels(self, path: str) -> str:
        """Return how the file or link at ``path`` differs, for people."""
        return ", ".join(difference.label for difference in self.changed[path])


@valueclass
class VerifiedModule:
    """A module whose tree was compared with the lock."""

    name: str
    dest: str
    state: TreeState
    h1: str
    #: The h1 of what is there; None if nothing is there, or something that has no hash.
    found: str | None = None
    #: The locked t1; None in an entry that an earlier version locked.
    t1: str | None = None
    found_t1: str | None = None
    #: The files that differ; None if what is locked is not in the cache to compare with.
    differences: Differences | None = None
    #: The reason why what is there has no hash, or why the module may not be there: a verifier refuses its address.
    error: GetModulesError | None = None


@valueclass
class VerifyReport:
    """The report of ``verify``."""

    modules: tuple[VerifiedModule, ...] = ()

    @property
    def ok(self) -> bool:
        """True if each module is as it is locked."""
        return all(module.state is TreeState.OK and module.error is None for module in self.modules)


@valueclass
class OutdatedModule:
    """A module with newer versions: ``newest`` is allowed by the manifest, ``latest`` is the newest release."""

    name: str
    source: str
    current: str
    #: What people call its version, as :class:`LockedReport` has it.
    label: str | None = None
    version: str | None = None
    newest: str | None = None
    latest: str | None = None
    #: The id that a mutable address has today, if it is not the locked one.
    moved: str | None = None


@valueclass
class OutdatedReport(_Report):
    """The report of ``outdated``."""

    modules: tuple[OutdatedModule, ...] = ()
    #: The names of modules that are up to date.
    current: tuple[str, ...] = ()
    #: The names of modules that are left out: they were edited and not locked again; or asked for, and never locked.
    edited: tuple[str, ...] = ()
