"""The library's face: one configuration, many calls, any number of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.api.limits import Limits
from getmodules.api.model import Installed, Request, Resolved, Want
from getmodules.api.ports import Context, Progress
from getmodules.cache.location import CacheLocation, directory_from, open_cache
from getmodules.cache.session import temporary_workshops
from getmodules.errors import AddressError
from getmodules.files.os_errors import install_error
from getmodules.files.private import PrivateDirectories, Sweeper
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline import detect as detection, gates as demands
from getmodules.pipeline.install import install, reported, resolve_address
from getmodules.pipeline.operation import Means
from getmodules.pipeline.settings import limits_from, registry_from, selection_from
from getmodules.plugins import catalog
from getmodules.plugins.loader import check_named, load, warn_of_broken
from getmodules.projects import Projects
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import replace

if TYPE_CHECKING:
    from getmodules.getters.oci.repository import Repository
    from getmodules.getters.oci.results import Inspected, Pushed
    from getmodules.pipeline.batch import Pace
    from getmodules.project.hosts import Surroundings
    from getmodules.project.manifest import Manifest
    from getmodules.project.workspace import Bench

StrPath = str | os.PathLike[str]


class Client(Projects):
    """Gets modules. It is not changed by use, so that many threads can share one.

    ``plugins`` are the program's own, besides the installed ones; ``without_plugins`` names installed ones
    that stay out. Limits and plugins are also set by the environment (``GETMODULES_LIMIT_*``,
    ``GETMODULES_PLUGINS``), which is read here, once. ``registry`` is the host in which ``namespace/name/system``
    is a module (``GETMODULES_REGISTRY``); without one, that is no address.

    What was fetched is kept in a cache that all projects of a user share: in ``cache_dir``, else where
    ``GETMODULES_CACHE_DIR`` or the platform's rules put it. ``use_cache=False`` keeps and uses nothing.
    ``offline`` makes no connection at all: what is needed must be in the cache.
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
        settings = os.environ if environ is None else environ
        self._limits = limits or limits_from(settings)
        self._progress = progress or Progress()
        self._own_plugins = tuple(plugins)
        self._without_plugins = tuple(without_plugins)
        self._selection = selection_from(settings, self._without_plugins)
        self._catalog = catalog.build(load(self._selection, self._own_plugins))
        self._has_told = False
        self._registry = registry_from(settings, registry)
        self._sweeper = Sweeper()
        self._environ = dict(settings)
        self._store = _Store(_cache_directory(cache_dir, settings) if use_cache else None)
        self._offline = offline
        self._network = ClientNetwork(network or NetSettings.from_environment(settings))

    def close(self) -> None:
        """End the connections that are kept for the next call. The client can be used again."""
        self._network.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def catalog(self) -> catalog.Catalog:
        """What the plugins offer, and how each of them fared."""
        return self._catalog

    def detect(self, source: str, *, base: StrPath | None = None) -> ModuleAddress:
        """The canonical address of ``source``; pure and offline."""
        return self.explain(source, base=base).address

    def explain(self, source: str, *, base: StrPath | None = None) -> detection.Detected:
        """As :meth:`detect`, with the steps of the detector chain."""
        start = None if base is None else os.fspath(base)
        return detection.detect(source, self._catalog, base=start, registry=self._registry)

    def resolve(
        self,
        source: str,
        *,
        base: StrPath | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Resolved:
        """What ``source`` means today, as a pinned address; nothing is fetched for it.

        Raises ``FetchError`` (``fetch/no-identity``) where only fetching would tell.
        """
        address = self.detect(source, base=base)
        means = self._means(limits, progress)
        with means.private.removed_at_end():
            return resolve_address(redact_address(source), address, means)

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
        """Install ``source`` as the directory ``dest``, which must be absent or empty.

        ``expect`` is ``sha256:…`` of the archive's bytes or ``h1:…`` of the installed tree. ``force`` replaces
        a directory. On any error, cancelling included, ``dest`` is as it was.
        """
        address = self.detect(source, base=base)
        want = Want(
            subdir=address.subdir,
            dest=_absolute(dest),
            source=redact_address(source),
            address=address.display(),
            force=force,
        )
        request = Request(package=address.package, wants=(want,), demands=demands.of_expectation(expect))
        (installed,) = install(request, self._means(limits, progress))
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
        """The tags of the repository at ``address``, in its order, without those that hold signatures."""
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
        """The manifest at ``address``, whatever kind of artifact it is, and the tree of what refers to it."""
        from getmodules.getters.oci.inspect import inspect

        with self._repository(address, base, limits, progress) as (package, repository, context):
            return inspect(package, repository, context)

    @contextmanager
    def _bench(
        self,
        manifest: StrPath,
        pace: Pace | None,
        limits: Limits | None,
        progress: Progress | None,
        *,
        read: Callable[[Path], Manifest] | None = None,
    ) -> Iterator[Bench]:
        from getmodules.pipeline.batch import Pace
        from getmodules.project.manifest import Place
        from getmodules.project.workspace import Bench

        # A slash at its end says what it is; nothing else does where it is not there.
        place = Place.at(_absolute(manifest), directory=os.fspath(manifest).endswith(("/", os.sep)))
        wanted = None if read is None else read(place.manifest)
        around = None if wanted is None else wanted.surroundings
        client = self._among(around) if around else self
        means = client._means(limits, progress)
        if around:
            around.tell(self._environ, means.progress)
        registry = self._registry or (wanted.registry if wanted else None)
        try:
            yield Bench(place=place, means=means, pace=pace or Pace(), read=read, registry=registry)
        finally:
            if client is not self:
                client.close()

    def _among(self, around: Surroundings) -> Client:
        """This client with what a manifest says about hosts: registries and tokens are remembered by client."""
        return Client(
            limits=self._limits,
            progress=self._progress,
            plugins=self._own_plugins,
            without_plugins=self._without_plugins,
            network=around.network(self._network.settings),
            registry=self._registry,
            environ=around.environ(self._environ),
            cache_dir=self._store.directory,
            use_cache=self._store.directory is not None,
            offline=self._offline,
        )

    @contextmanager
    def _repository(
        self, source: str, base: StrPath | None, limits: Limits | None, progress: Progress | None
    ) -> Iterator[tuple[PackageAddress, Repository, Context]]:
        """What ``source`` lies in, opened by the getter of its scheme."""
        address = self.detect(source, base=base)
        package = address.package
        getter = self._catalog.getter(package.getter)
        means = self._means(limits, progress)
        with (
            means.visit() as visit,
            temporary_workshops(visit) as workshops,
            reported(package.display(), means, workshops) as context,
        ):
            if address.subdir:
                raise AddressError("packages are published and looked at as a whole", hint="leave out //SUBDIRECTORY")
            yield package, getter.repository(package, context), context

    def _means(self, limits: Limits | None, progress: Progress | None) -> Means:
        self._check_plugins()
        return Means(
            catalog=self._catalog,
            limits=limits or self._limits,
            progress=progress or self._progress,
            sweeper=self._sweeper,
            private=PrivateDirectories(self._sweeper),
            network=self._network,
            environ=self._environ,
            store=self._store.home,
            offline=self._offline,
        )

    def _check_plugins(self) -> None:
        """Before anything is fetched or installed: what is missing may be what would have refused it."""
        check_named(self._selection, self._catalog.plugins)
        if not self._has_told:
            self._has_told = True
            warn_of_broken(self._catalog.plugins)


class _Store:
    """Where the cache is; opened, and judged, when it is first used. Without a directory there is none."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self._lock = threading.Lock()
        self._home: CacheLocation | None = None

    def home(self) -> CacheLocation | None:
        with self._lock:
            removed = self._home is not None and not self._home.root.is_dir()
            if (self._home is None or removed) and self.directory is not None:
                self._home = open_cache(self.directory)
            return self._home


def _cache_directory(chosen: StrPath | None, environ: Mapping[str, str]) -> Path | None:
    return _absolute(chosen) if chosen else directory_from(environ)


def _absolute(dest: StrPath) -> Path:
    """Made absolute when it is named, so that a later change of the working directory changes nothing."""
    try:
        return Path(os.path.abspath(dest))
    except OSError as error:
        shown = printable(os.fspath(dest), 1000)
        raise install_error(error, f"{shown} is relative, and the current directory cannot be found") from error
