"""One call of the client: what its packages share, and the run of each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from getmodules.addresses.mirrors import Mirrors
from getmodules.addresses.types import PackageAddress
from getmodules.api.limits import Deadline, Limits
from getmodules.api.model import Archive, Demand, Evidence, Gate, Pin, Tree
from getmodules.api.ports import Context, Credential, Network, NoNetwork, Origin, Phase, Progress
from getmodules.cache.location import CacheLocation
from getmodules.cache.session import CacheSession, Spare, WriteTrouble, temporary_directory
from getmodules.errors import GetModulesError, InstallError, OfflineError
from getmodules.files.private import PrivateDirectories, Sweeper
from getmodules.net.credentials import from_environment, sent_credential
from getmodules.net.refusals import in_clear
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline import gates
from getmodules.pipeline.detect import is_local
from getmodules.pipeline.gates import AddressGate
from getmodules.pipeline.resolve import Location, module_name
from getmodules.plugins.adapters import first_credential
from getmodules.plugins.catalog import Catalog
from getmodules.util.once import Memo
from getmodules.util.redact import printable
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
    #: Variables that a manifest names for tokens, by those in which a host's token is looked for first.
    token_variables: Mapping[str, str] = field(default_factory=dict)
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
        package: PackageAddress,
        spare: Spare | None = None,
        *,
        cached: bool = True,
        mirrored: bool = True,
        modules: Sequence[str] = (),
    ) -> Iterator[Run]:
        """Open the run of one package, if the gate of addresses lets us ask for it.

        Its end is reported, and errors say which address they are about.

        What needs a place and is not for the cache goes where ``spare`` says, else into a temporary directory.
        ``cached=False`` is for work that leaves nothing to keep, ``mirrored=False`` for work that goes past mirrors.
        ``modules`` are the names for people of what is wanted of it.
        """
        names = modules or (module_name(package),)
        with self._run(package.display(), package, spare, names, cached=cached, mirrored=mirrored) as run:
            yield run

    @contextmanager
    def open_context(self, name: str, package: PackageAddress | None = None) -> Iterator[Context]:
        """Open the context of work that fetches no package, by the name that reports and errors have for it.

        ``package`` is the address that it contacts; without one it contacts nobody.
        """
        with self._run(name, package, None, (), cached=False, mirrored=False) as run:
            yield run.context

    @contextmanager
    def _run(
        self,
        name: str,
        package: PackageAddress | None,
        spare: Spare | None,
        modules: Sequence[str],
        *,
        cached: bool,
        mirrored: bool,
    ) -> Iterator[Run]:
        with ExitStack() as stack:
            if spare is None:
                spare = stack.enter_context(temporary_directory())
            home = self._cache_for(package) if cached and package is not None else None
            cache = stack.enter_context(CacheSession(home, self.private, spare, self.trouble))
            mirrors = self.network.settings.mirrors if mirrored else Mirrors()
            progress = stack.enter_context(self._reported(name))
            if modules:
                progress.modules(name, modules)
            context: Context = self._context(
                name,
                progress,
                mirrors=mirrors,
                workshop=lambda key: cache.workshop(key, context),
                kept=cache.small_blob,
                admitted=() if package is None else gates.addresses_of(package, mirrors),
            )
            evidence = () if package is None else gates.admit(package, context)
            yield Run(
                operation=self,
                context=context,
                cache=cache,
                at_end=stack.enter_context(ExitStack()),
                evidence=evidence,
            )

    @property
    def has_address_gate(self) -> bool:
        return AddressGate.of(self.catalog.verifiers) is not None

    def admit(self, package: PackageAddress) -> None:
        """Raise where the gate of addresses keeps us from a package of which nothing has to be asked for now."""
        name = package.display()
        try:
            gates.admit(package, self._context(name, self.progress, mirrors=self.network.settings.mirrors))
        except GetModulesError as error:
            raise error.at(name) from error.__cause__

    def _cache_for(self, package: PackageAddress) -> CacheLocation | None:
        """Open the cache for a package; one that lies on this machine needs none."""
        if is_local(package, self.catalog):
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
            if isinstance(ended_by, OfflineError):
                self._name_cache(ended_by)
            progress.finished(name, ended_by)
            if ended_by is error:
                raise
            raise ended_by from None
        progress.finished(name, None)

    def _name_cache(self, error: OfflineError) -> None:
        """Say in ``error`` which cache was looked into: that another one was meant is a usual reason for it."""
        cache = self.memo.once(_CACHE, self.open_cache, lambda: None)
        if cache is None:
            error.within("offline, and without a cache").failing_at("no cache")
            error.hint = "run it without --offline: without a cache nothing is kept"
        else:
            shown = printable(str(cache.root), 1000)
            error.within(f"offline, with the cache {shown}").failing_at(shown)

    def _context(self, name: str, progress: Progress, **more: Any) -> Context:
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
            address_gate=AddressGate.of(self.catalog.verifiers),
            **more,
        )
        return context

    def _credential(self, origin: Origin, path: str) -> Credential | None:
        """Return the credential for ``path``: the environment is nearer to the user than a plugin is."""
        found = from_environment(self.environ, origin, self.token_variables)
        if found is None and self.catalog.credentials:
            found = first_credential(self.catalog.credentials, origin, path)
        # Here as well as where requests are sent: a plugin may send them by itself.
        if found is not None and not self.network.settings.allows_credentials(origin):
            raise in_clear(origin, sent_credential(found))
        return found


@valueclass
class Run:
    """One package's way through an operation."""

    operation: Operation
    context: Context
    cache: CacheSession
    #: Closed when the run ends.
    at_end: ExitStack = field(repr=False)
    #: What verifiers said of the package's address before anything was contacted.
    evidence: tuple[Evidence, ...] = ()

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
