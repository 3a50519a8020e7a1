"""One call of the client: what its packages share, and the run of each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from getmodules.addresses.types import PackageAddress
from getmodules.api.limits import Deadline, Limits
from getmodules.api.model import Archive, Demand, Evidence, Gate, Pin, Tree
from getmodules.api.ports import Context, Credential, Network, NoNetwork, Origin, Phase, Progress
from getmodules.cache.location import CacheLocation
from getmodules.cache.session import CacheSession, Spare, WriteTrouble, temporary_directory
from getmodules.errors import GetModulesError, InstallError
from getmodules.files.private import PrivateDirectories, Sweeper
from getmodules.net.credentials import from_environment
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline import gates
from getmodules.pipeline.detect import is_local
from getmodules.pipeline.resolve import Location, module_name
from getmodules.plugins.adapters import first_credential
from getmodules.plugins.catalog import Catalog
from getmodules.util.once import Memo
from getmodules.util.values import field, valueclass

#: Any lock: what makes one that a thread may take again is a function, not a class.
Lock = AbstractContextManager[object]
#: The key of the opened cache among the answers of an operation; a plugin can ask for any other key.
_CACHE = object()


def _no_cache() -> CacheLocation | None:
    return None


@valueclass
class Operation:
    """One call of the client: all that its packages share."""

    catalog: Catalog
    limits: Limits
    progress: Progress
    cancelled: threading.Event = field(default_factory=threading.Event)
    sweeper: Sweeper = field(default_factory=Sweeper)
    network: Network = field(default_factory=lambda: ClientNetwork(NetSettings()))
    #: Opens the cache when it is first needed; returns None where there is none.
    open_cache: Callable[[], CacheLocation | None] = _no_cache
    offline: bool = False
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    memo: Memo = field(default_factory=Memo, repr=False)
    trouble: WriteTrouble = field(default_factory=WriteTrouble, repr=False)
    #: Held while small archives are written and published, one at a time (ADR 26). A thread may take it again: a signal
    #: or a log handler may install something with the same client.
    lock: Lock = field(default_factory=threading.RLock, repr=False)
    private: PrivateDirectories = field(default_factory=PrivateDirectories, repr=False)

    def checkpoint(self) -> None:
        if self.cancelled.is_set():
            raise InstallError("cancelled", part="cancelled")

    @contextmanager
    def package(
        self,
        package: PackageAddress | str,
        spare: Spare | None = None,
        *,
        cached: bool = True,
        modules: Sequence[str] = (),
    ) -> Iterator[Run]:
        """Open the run of one package; its end is reported, and errors say which address they are about.

        What needs a place and is not for the cache goes where ``spare`` says, else into a temporary directory.
        ``cached=False`` is for work that leaves nothing to keep; its ``package`` may be the name of a registry.
        ``modules`` are the names for people of what is wanted of it.
        """
        name = package if isinstance(package, str) else package.display()
        with ExitStack() as stack:
            if spare is None:
                spare = stack.enter_context(temporary_directory())
            home = self._cache_for(package) if cached else None
            cache = stack.enter_context(CacheSession(home, self.private, spare, self.trouble))
            progress = stack.enter_context(self._reported(name))
            if not isinstance(package, str):
                progress.modules(name, modules or (module_name(package),))
            context = self._context(name, cache, progress)
            yield Run(operation=self, context=context, cache=cache, at_end=stack.enter_context(ExitStack()))

    @contextmanager
    def open_context(self, name: str) -> Iterator[Context]:
        """Open the context of work that is no package's, by the name that reports and errors have for it."""
        with self.package(name, cached=False) as run:
            yield run.context

    def _cache_for(self, package: PackageAddress | str) -> CacheLocation | None:
        """Open the cache for a package; one that lies on this machine needs none."""
        if isinstance(package, str) or is_local(package, self.catalog):
            return None
        return self.memo.once(_CACHE, self.open_cache, lambda: None)

    @contextmanager
    def _reported(self, name: str) -> Iterator[Reporting]:
        progress = Reporting(self.progress)
        try:
            yield progress
        except BaseException as error:
            ended_by = progress.cancelled_by or error
            if isinstance(ended_by, GetModulesError):
                ended_by.at(name)
            progress.finished(name, ended_by)
            if ended_by is error:
                raise
            raise ended_by from None
        progress.finished(name, None)

    def _context(self, name: str, cache: CacheSession, progress: Progress) -> Context:
        context: Context = Context(
            package=name,
            limits=self.limits,
            deadline=Deadline.after(self.limits.seconds),
            progress=progress,
            cancelled=self.cancelled,
            credentials=self._credential,
            network=NoNetwork() if self.offline else self.network,
            environ=self.environ,
            offline=self.offline,
            layer_formats=self.catalog.layer_formats(),
            once=lambda key, make: self.memo.once(key, make, context.checkpoint),
            mirrors=self.network.settings.mirrors,
            workshop=lambda key: cache.workshop(key, context),
            kept=cache.small_blob,
        )
        return context

    def _credential(self, origin: Origin, path: str) -> Credential | None:
        """Return the credential for ``path``: the environment is nearer to the user than a plugin is."""
        found = from_environment(self.environ, origin)
        if found is not None or not self.catalog.credentials:
            return found
        return first_credential(self.catalog.credentials, origin, path)


@valueclass
class Run:
    """One package's way through an operation."""

    operation: Operation
    context: Context
    cache: CacheSession
    #: Closed when the run ends.
    at_end: ExitStack = field(repr=False)

    @property
    def catalog(self) -> Catalog:
        return self.operation.catalog

    def judge(
        self, gate: Gate, subject: Pin | Archive | Tree, demands: Iterable[Demand], location: Location
    ) -> tuple[Evidence, ...]:
        """Return the evidence that ``subject`` may pass ``gate``, or raise :class:`VerificationError`.

        A verifier that asks a server goes no further in than the getter of ``location`` may.
        """
        return gates.judge(gate, subject, demands, self.catalog.verifiers, location.context(self.context))


class Reporting(Progress):
    """The caller's progress, as the core and plugins call it: what it raises cancels the run.

    A plugin calls it through its context, where any exception would be taken for the plugin's own fault; and one
    that swallows it meets it again at the next report.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._is_heard = type(progress) is not Progress
        self.cancelled_by: BaseException | None = None

    def modules(self, package: str, names: Sequence[str]) -> None:
        self._report(self._progress.modules, package, names)

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self._report(self._progress.phase, package, phase, total)

    def advance(self, package: str, amount: int) -> None:
        self._report(self._progress.advance, package, amount)

    def notice(self, package: str, message: str) -> None:
        self._report(self._progress.notice, package, message)

    def finished(self, package: str, error: BaseException | None) -> None:
        if self._is_heard:
            self._progress.finished(package, error)

    def _report(self, method: Callable[..., None], *arguments: object) -> None:
        if self.cancelled_by is not None:
            raise self.cancelled_by
        if not self._is_heard:
            return
        try:
            method(*arguments)
        except BaseException as error:
            self.cancelled_by = error
            raise
