"""What a client does with a whole project: the part of :class:`getmodules.Client` that knows manifest and lock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from getmodules.api.limits import Limits
from getmodules.api.ports import Progress

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from getmodules.pipeline.batch import Pace
    from getmodules.project.manifest import Manifest
    from getmodules.project.reports import CheckReport, InstallReport, LockReport, OutdatedReport, VerifyReport
    from getmodules.project.workspace import Workspace

    StrPath = str | os.PathLike[str]


class Projects(ABC):
    """``manifest`` is a ``getmodules.toml``, or the directory that has one; the lock lies beside it.

    Modules fail one by one: what could be done was done, and the report has the failures.
    """

    @abstractmethod
    def _workspace(
        self,
        manifest: StrPath,
        pace: Pace | None,
        limits: Limits | None,
        progress: Progress | None,
        *,
        read: Callable[[Path], Manifest] | None = None,
    ) -> AbstractContextManager[Workspace]:
        """``read`` gives the manifest; without it, that is not read."""

    def add(
        self,
        name: str,
        source: str,
        manifest: StrPath = ".",
        *,
        version: str | None = None,
        dest: str | None = None,
        expect: str | None = None,
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> LockReport:
        """A new module in ``manifest`` (which may be a new file), and in the lock. Where that fails, both stay."""
        from getmodules.project.edit import Addition

        more = {"version": version, "dest": dest, "expect": expect}
        entry = {"source": source, **{key: value for key, value in more.items() if value is not None}}
        addition = Addition(name, entry)
        with self._workspace(manifest, pace, limits, progress, read=addition.edited) as workspace:
            return addition.settle(workspace)

    def remove(self, name: str, manifest: StrPath = ".", *, progress: Progress | None = None) -> None:
        """Take a module out of manifest and lock. What was installed of it stays."""
        from getmodules.project.edit import Removal

        removal = Removal(name)
        with self._workspace(manifest, None, None, progress, read=removal.edited) as workspace:
            removal.settle(workspace)

    def lock(
        self,
        manifest: StrPath = ".",
        *,
        upgrade: bool | Iterable[str] = False,
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> LockReport:
        """Write down in ``getmodules.lock`` what each module of ``manifest`` (the file, or its directory) is.

        What is locked stays so, unless the manifest's entry was edited, or ``upgrade`` says that it is looked up anew:
        with ``True`` all of it, else what has one of these names. Where a module failed, nothing is written: see the
        report's ``failures``.
        """
        from getmodules.project.lock import Upgrade, lock
        from getmodules.project.manifest import reader

        names = () if isinstance(upgrade, bool) else tuple(upgrade)
        wanted = Upgrade(names) if names or upgrade is True else None
        with self._workspace(manifest, pace, limits, progress, read=reader()) as workspace:
            return lock(wanted, workspace)

    def check_lock(
        self,
        manifest: StrPath = ".",
        *,
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> CheckReport:
        """Whether the lock still says what the manifest says, and what the sources say today. Writes nothing."""
        from getmodules.project.lock import check
        from getmodules.project.manifest import reader

        with self._workspace(manifest, pace, limits, progress, read=reader()) as workspace:
            return check(workspace)

    def install(
        self,
        manifest: StrPath = ".",
        *,
        names: Iterable[str] = (),
        locked: bool = False,
        frozen: bool = False,
        force: bool = False,
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> InstallReport:
        """Bring the modules of ``manifest`` (all, or those with these ``names``) to where they belong, as locked.

        What is not locked yet is locked afterwards; with ``locked`` that is an error (``lock-stale``), and ``frozen``
        leaves the manifest unread. A tree that matches is left alone, an edited one is replaced by ``force`` only.
        Failures are in the report, which also raises them (``check()``); good modules are installed all the same.
        """
        from getmodules.project.install import InstallOptions, install
        from getmodules.project.manifest import reader

        wishes = InstallOptions(names=tuple(names), locked=locked, frozen=frozen, force=force)
        read = None if frozen else reader()
        with self._workspace(manifest, pace, limits, progress, read=read) as workspace:
            return install(wishes, workspace)

    def verify(
        self, manifest: StrPath = ".", *, names: Iterable[str] = (), progress: Progress | None = None
    ) -> VerifyReport:
        """The trees of a project against its lock. Nobody is asked, and the manifest is not read."""
        from getmodules.project.trees import verify

        with self._workspace(manifest, None, None, progress) as workspace:
            return verify(tuple(names), workspace)

    def outdated(
        self,
        manifest: StrPath = ".",
        *,
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> OutdatedReport:
        """Of which modules there are newer versions, and which addresses mean something else by now."""
        from getmodules.project.manifest import reader
        from getmodules.project.outdated import outdated

        with self._workspace(manifest, pace, limits, progress, read=reader()) as workspace:
            return outdated(workspace)
