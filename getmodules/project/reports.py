"""Reports: frozen results of work on a project, with every failure in them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from getmodules.errors import GetModulesError
from getmodules.pipeline.batch import Failure
from getmodules.project.labels import version_label
from getmodules.util.values import valueclass

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


class Action(StrEnum):
    """The action that installed a module, or found that it was not needed."""

    INSTALLED = "installed"
    #: The tree was there already, as it is locked.
    UNCHANGED = "unchanged"


@valueclass
class InstalledModule(_ReportedModule):
    """A module on the disk, and whether it had to be installed."""

    action: Action


@valueclass
class InstallReport(_Report):
    """The report of ``install``."""

    modules: tuple[InstalledModule, ...] = ()
    #: True if the lock was written.
    locked: bool = False


class TreeState(StrEnum):
    """The state of a tree, compared with the lock."""

    OK = "ok"
    MODIFIED = "modified"
    MISSING = "missing"


@valueclass
class Differences:
    """The files in which a tree differs from what is locked."""

    modified: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@valueclass
class VerifiedModule:
    """A module whose tree was compared with the lock."""

    name: str
    dest: str
    state: TreeState
    h1: str
    #: The hash of what is there; None if nothing is there, or something that has no hash.
    found: str | None = None
    #: The files that differ; None if what is locked is not in the cache to compare with.
    differences: Differences | None = None
    #: The reason why what is there has no hash.
    error: GetModulesError | None = None


@valueclass
class VerifyReport:
    """The report of ``verify``."""

    modules: tuple[VerifiedModule, ...] = ()

    @property
    def ok(self) -> bool:
        return all(module.state is TreeState.OK for module in self.modules)


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
    #: The names of modules that were edited and not locked again, which are left out.
    edited: tuple[str, ...] = ()
