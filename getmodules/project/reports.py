"""What work on a project hands back: frozen, and with every failure in it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from getmodules.errors import GetModulesError
from getmodules.pipeline.batch import Failure
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from getmodules.project.lockfile import LockedModule, LockedPackage


class FailuresError(ExceptionGroup[GetModulesError]):
    """Several modules failed; each has an error of its own in here."""


@valueclass
class _Report:
    #: What could not be done, a module each; the others were done all the same.
    failures: tuple[Failure, ...] = ()

    def check(self) -> None:
        """Raise where something failed: the error itself, or several as one group."""
        errors = tuple(dict.fromkeys(failure.error for failure in self.failures))
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise FailuresError(f"{len(self.failures)} modules failed", errors)


class Change(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


@valueclass
class _ReportedModule:
    """A module as it is locked. ``package`` is the address that brings it again."""

    name: str
    package: str
    subdir: str
    dest: str
    h1: str

    @classmethod
    def of(cls, module: LockedModule, package: LockedPackage, **more: Any) -> Self:
        return cls(
            name=module.name, package=package.address, subdir=module.subdir, dest=module.dest, h1=module.h1, **more
        )


@valueclass
class LockedReport(_ReportedModule):
    """What became of one module of the lock."""

    change: Change
    selected: str | None = None


@valueclass
class LockReport(_Report):
    modules: tuple[LockedReport, ...] = ()
    #: Whether the file was written: not where something failed, nor where it says the same already.
    written: bool = False


@valueclass
class Moved:
    """What the lock says a module is, and what its source means today."""

    name: str
    source: str
    locked: str
    now: str


@valueclass
class CheckReport(_Report):
    """``lock --check``: in step where nothing is stale, nothing has moved and nothing failed."""

    stale: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()


class Action(StrEnum):
    INSTALLED = "installed"
    #: What is there is what is locked.
    UNCHANGED = "unchanged"


@valueclass
class InstalledModule(_ReportedModule):
    """What became of one module on the disk."""

    action: Action


@valueclass
class InstallReport(_Report):
    modules: tuple[InstalledModule, ...] = ()
    #: Whether the lock was written.
    locked: bool = False


class TreeState(StrEnum):
    OK = "ok"
    MODIFIED = "modified"
    MISSING = "missing"


@valueclass
class Differences:
    """Files of a tree against what is locked."""

    modified: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@valueclass
class VerifiedModule:
    name: str
    dest: str
    state: TreeState
    h1: str
    #: What is there; ``None`` where nothing is, or nothing that has a hash.
    found: str | None = None
    #: File by file; ``None`` where what is locked is not at hand to compare with.
    differences: Differences | None = None
    #: Why what is there has no hash, where something is there.
    error: GetModulesError | None = None


@valueclass
class VerifyReport:
    modules: tuple[VerifiedModule, ...] = ()

    @property
    def ok(self) -> bool:
        return all(module.state is TreeState.OK for module in self.modules)


@valueclass
class OutdatedModule:
    """``newest`` is the newest version that the manifest allows, ``latest`` the newest release there is."""

    name: str
    source: str
    current: str
    version: str | None = None
    newest: str | None = None
    latest: str | None = None
    #: What a mutable address brings today, where that is not what is locked.
    moved: str | None = None


@valueclass
class OutdatedReport(_Report):
    modules: tuple[OutdatedModule, ...] = ()
    #: The names of those that were edited and not locked again: nobody has looked at them.
    edited: tuple[str, ...] = ()
