"""The library's face: one configuration, many calls, any number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.api.limits import Limits
from getmodules.api.model import Installed, Request, Resolved, Want
from getmodules.api.ports import Context, Progress
from getmodules.archive.dot_git import is_dot_git
from getmodules.errors import AddressError, ConfigError
from getmodules.files.os_errors import install_error
from getmodules.net.settings import NetSettings
from getmodules.pipeline import detect as detection, gates
from getmodules.pipeline.install import install, resolve_address
from getmodules.pipeline.services import Services
from getmodules.pipeline.settings import Settings
from getmodules.plugins.catalog import Catalog
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import replace

if TYPE_CHECKING:
    from getmodules.getters.oci.login import OpenContext
    from getmodules.getters.oci.repository import Repository
    from getmodules.getters.oci.results import Inspected, Pushed
    from getmodules.pipeline.batch import Pace
    from getmodules.pipeline.policy import Policy
    from getmodules.project.manifest import Manifest
    from getmodules.project.reports import (
        AddReport,
        CheckReport,
        InstallReport,
        LockReport,
        OutdatedReport,
        RemoveReport,
        VerifyReport,
    )
    from getmodules.project.workspace import Workspace

#: A path, as text or as an object.
StrPath = str | os.PathLike[str]


class Client:
    """Gets modules. It is not changed by use, so that many threads can share one.

    ``plugins`` are the program's own, besides the installed ones; ``without_plugins`` names installed ones
    that stay out. Limits and plugins are also set by the environment (``GETMODULES_LIMIT_*``,
    ``GETMODULES_PLUGINS``), which is read here, once. ``registry`` is the host in which ``namespace/name/system``
    is a module (``GETMODULES_REGISTRY``); without one, that is no address.

    What was fetched is kept in a cache that all projects of a user share: in ``cache_dir``, else where
    ``GETMODULES_CACHE_DIR`` or the platform's rules put it. ``use_cache=False`` keeps and uses nothing.
    ``offline`` makes no connection at all: what is needed must be in the cache.

    Methods on a project take its manifest, or the directory that it is in: the current one if none is named. They look
    nowhere above it, as the command line does; what a program works on should not depend on who put a file there.

    Policies say which addresses may be asked for: that of the machine and, in ``environ``, of ``GETMODULES_POLICY``.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        progress: Progress | None = None,
        plugins: Sequence[object] = (),
        without_plugins: Iterable[str] = (),
        network: NetSettings | None = None,
        registry: str | None = None,
        environ: Mapping[str, str] | None = None,
        cache_dir: StrPath | None = None,
        use_cache: bool = True,
        offline: bool = False,
    ) -> None:
        self._services = Services(
            Settings.chosen(
                limits=limits,
                progress=progress,
                plugins=plugins,
                without_plugins=without_plugins,
                network=network,
                registry=registry,
                environ=os.environ if environ is None else environ,
                cache_dir=_absolute(cache_dir) if cache_dir else None,
                use_cache=use_cache,
                offline=offline,
            ),
            _read_policy,
        )

    def close(self) -> None:
        """End the connections that are kept for the next call. The client can be used again."""
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def catalog(self) -> Catalog:
        """The plugins' offers, and how each plugin fared."""
        return self._services.catalog

    def detect(self, source: str, *, base: StrPath | None = None) -> ModuleAddress:
        """Return the canonical address of ``source``; pure and offline."""
        return self.explain(source, base=base).address

    def explain(self, source: str, *, base: StrPath | None = None) -> detection.Detected:
        """Return the canonical address, as :meth:`detect` does, with the steps of the detector chain."""
        start = None if base is None else os.fspath(base)
        return detection.detect(source, self.catalog, base=start, registry=self._services.settings.registry)

    def resolve(
        self,
        source: str,
        *,
        base: StrPath | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Resolved:
        """Return what ``source`` means today, as a pinned address; nothing is fetched for it.

        Raises ``FetchError`` (``fetch/no-identity``) where only fetching would tell.
        """
        address = self.detect(source, base=base)
        operation = self._services.operation(limits, progress)
        with operation.private.removed_at_end():
            return resolve_address(redact_address(source), address, operation)

    def get(
        self,
        source: str,
        dest: StrPath,
        *,
        base: StrPath | None = None,
        expect: str | None = None,
        force: bool = False,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Installed:
        """Install ``source`` as the directory ``dest``, which must be absent or empty, or exactly what ``source`` is.

        The last (by its t1) is left alone, and its ``action`` is ``unchanged``. ``force`` replaces a directory.
        ``expect`` is ``sha256:…`` of the archive's bytes, or ``h1:…`` or ``t1:…`` of the installed tree. On any error,
        cancelling included, ``dest`` is as it was.
        """
        address = self.detect(source, base=base)
        want = Want(
            subdir=address.subdir,
            dest=_destination(dest),
            source=redact_address(source),
            address=address.display(),
            force=force,
        )
        request = Request(package=address.package, wants=(want,), demands=gates.of_expectation(expect))
        (installed,) = install(request, self._services.operation(limits, progress))
        return replace(installed, path=Path(dest))

    def push(
        self,
        directory: StrPath,
        address: str,
        *,
        base: StrPath | None = None,
        annotations: Mapping[str, str] | None = None,
        dry_run: bool = False,
        force: bool = False,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Pushed:
        """Publish ``directory`` as a module package under the tag in ``address`` (``oci:`` or ``oci-layout:``).

        In a git work tree that is what git tracks; ``.getmodulesignore`` takes away from it. The tag may exist
        with the same content; ``force`` moves it from another one. ``dry_run`` writes nothing.
        """
        from getmodules.getters.oci.push import push

        with self._repository(address, base, limits, progress) as (package, repository, context):
            return push(
                Path(directory),
                package,
                repository,
                context,
                annotations=annotations or {},
                dry_run=dry_run,
                force=force,
            )

    def tags(
        self,
        address: str,
        *,
        base: StrPath | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> tuple[str, ...]:
        """Return the tags of the repository at ``address``, in its order, without those that hold signatures."""
        from getmodules.getters.oci.inspect import tags

        with self._repository(address, base, limits, progress) as (package, repository, context):
            return tags(package, repository, context)

    def inspect(
        self,
        address: str,
        *,
        base: StrPath | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Inspected:
        """Return the manifest at ``address``, whatever kind of artifact it is, and the tree of what refers to it."""
        from getmodules.getters.oci.inspect import inspect

        with self._repository(address, base, limits, progress) as (package, repository, context):
            return inspect(package, repository, context)

    def add(
        self,
        name: str,
        source: str,
        manifest: StrPath = ".",
        *,
        version: str | None = None,
        dest: str | None = None,
        expect: str | None = None,
        base: StrPath | None = None,
        install: bool = True,
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> AddReport:
        """Add a module to ``manifest`` (which may be a new file) and to the lock, and install it.

        If that fails, manifest, lock and destination are as before. With ``install=False`` nothing is installed. A
        relative ``source`` starts at ``base``, or beside the manifest without one; it is written as seen from there.
        """
        from getmodules.project.addition import Addition

        more = {"version": version, "dest": dest, "expect": expect}
        entry = {"source": source, **{key: value for key, value in more.items() if value is not None}}
        addition = Addition(name, entry, None if base is None else _absolute(base), install)
        with self._workspace(manifest, pace, limits, progress, read=addition.edited) as workspace:
            return addition.settle(workspace)

    def remove(
        self, name: str, manifest: StrPath = ".", *, keep: bool = False, progress: Progress | None = None
    ) -> RemoveReport:
        """Take a module out of manifest and lock, and remove its directory if that is as it was installed.

        A directory that was edited, or is a link, stays, and the report says why. With ``keep`` any stays.
        """
        from getmodules.project.removal import Removal

        removal = Removal(name, keep)
        with self._workspace(manifest, None, None, progress, read=removal.edited) as workspace:
            return removal.settle(workspace)

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
        """Compare the lock with the manifest, and with what the sources say today. Writes nothing."""
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
        prune: bool = False,
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> InstallReport:
        """Bring the modules of ``manifest`` (all, or those with these ``names``) to where they belong, as locked.

        What is not locked yet is locked afterwards; with ``locked`` that is an error (``lock-stale``), and ``frozen``
        leaves the manifest unread. A tree that matches is left alone, an edited one is replaced by ``force`` only.
        ``prune`` takes away what was installed in this checkout and is not locked any more, if it was not edited; with
        ``names``, or where a module failed, it takes nothing. Failures are in the report, which also raises them
        (``check()``); good modules are installed all the same.
        """
        from getmodules.project.install import InstallOptions, install
        from getmodules.project.manifest import reader

        options = InstallOptions(names=tuple(names), locked=locked, frozen=frozen, force=force, prune=prune)
        read = None if frozen else reader()
        with self._workspace(manifest, pace, limits, progress, read=read) as workspace:
            return install(options, workspace)

    def verify(
        self, manifest: StrPath = ".", *, names: Iterable[str] = (), progress: Progress | None = None
    ) -> VerifyReport:
        """Compare the trees of a project with its lock. Nobody is asked; of the manifest only the policy is read."""
        from getmodules.project.policy import read_manifest_policy
        from getmodules.project.trees import verify

        with self._workspace(manifest, None, None, progress, read_policy=read_manifest_policy) as workspace:
            return verify(tuple(names), workspace)

    def outdated(
        self,
        manifest: StrPath = ".",
        *,
        names: Iterable[str] = (),
        pace: Pace | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> OutdatedReport:
        """Find modules (of all, or of those with these ``names``) with newer versions, and addresses that moved."""
        from getmodules.project.manifest import reader
        from getmodules.project.outdated import outdated

        with self._workspace(manifest, pace, limits, progress, read=reader()) as workspace:
            return outdated(workspace, tuple(names))

    @contextmanager
    def _workspace(
        self,
        manifest: StrPath,
        pace: Pace | None,
        limits: Limits | None,
        progress: Progress | None,
        *,
        read: Callable[[Path], Manifest] | None = None,
        read_policy: Callable[[Path], Policy | None] | None = None,
    ) -> Iterator[Workspace]:
        """Open the project of ``manifest``; ``read`` gives the manifest, which is not read without it.

        ``read_policy`` gives the manifest's policy alone.
        """
        from getmodules.pipeline.batch import Pace
        from getmodules.project.hosts import HostSettings
        from getmodules.project.manifest import ProjectFiles
        from getmodules.project.workspace import Workspace

        # A slash at its end says what it is; nothing else does where it is not there.
        files = ProjectFiles.from_path(_absolute(manifest), directory=os.fspath(manifest).endswith(("/", os.sep)))
        wanted = None if read is None else read(files.manifest)
        policy = None if read_policy is None else read_policy(files.manifest)
        hosts = HostSettings() if wanted is None else wanted.host_settings
        settings = self._services.settings
        services = self._services.with_settings(hosts.applied(settings))
        operation = services.operation(limits, progress, wanted.policy if wanted else policy)
        hosts.announce(settings.environ, operation.progress)
        registry = settings.registry or (wanted.registry if wanted else None)
        try:
            yield Workspace(files=files, operation=operation, pace=pace or Pace(), read=read, registry=registry)
        finally:
            services.close()

    @contextmanager
    def _repository(
        self, source: str, base: StrPath | None, limits: Limits | None, progress: Progress | None
    ) -> Iterator[tuple[PackageAddress, Repository, Context]]:
        """Open the repository that ``source`` lies in, by the getter of its scheme."""
        address = self.detect(source, base=base)
        package = address.package
        getter = self.catalog.getter(package.getter)
        with self._services.operation(limits, progress).package(package, cached=False, mirrored=False) as run:
            if address.subdir:
                raise AddressError("packages are published and looked at as a whole", hint="leave out //SUBDIRECTORY")
            yield package, cast("Repository", getter.repository(package, run.context)), run.context


def _destination(dest: StrPath) -> Path:
    path = _absolute(dest)
    # Also behind a link, which a repository that was cloned may have: git runs what lies in its hooks.
    behind = () if "\0" in str(path) else Path(os.path.realpath(path.parent)).parts
    for part in (*reversed(path.parts), *behind):
        if is_dot_git(part):
            raise ConfigError(f"{printable(part)!r} is not a place for a module", hint="git keeps its own things there")
    return path


def contexts_for(client: Client, progress: Progress) -> OpenContext:
    """Return what opens contexts for work on credentials, which is no method: only the command line does such work."""
    return client._services.operation(progress=progress).open_context


def _read_policy(file: Path) -> Policy:
    from getmodules.project.policy import read_policy  # most machines have none

    return read_policy(file)


def _absolute(dest: StrPath) -> Path:
    """Return an absolute path, so that a later change of the working directory changes nothing."""
    try:
        return Path(os.path.abspath(dest))
    except OSError as error:
        shown = printable(os.fspath(dest), 1000)
        raise install_error(error, f"{shown} is relative, and the current directory cannot be found") from error
