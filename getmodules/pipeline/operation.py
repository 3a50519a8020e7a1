"""What the pipeline works with, the same for every package of one operation.

The caller's progress, as plugins and the core call it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from getmodules.addresses.types import PackageAddress
from getmodules.api.limits import Deadline, Limits
from getmodules.api.model import Gate
from getmodules.api.ports import Context, Credential, Network, NoNetwork, Origin, Phase, Progress
from getmodules.cache.location import CacheLocation
from getmodules.cache.session import Trouble, Visit, Workshops
from getmodules.errors import InstallError
from getmodules.files.private import PrivateDirectories, Sweeper
from getmodules.net.credentials import from_environment
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline.detect import is_local
from getmodules.pipeline.receive import Content
from getmodules.plugins.adapters import first_credential
from getmodules.plugins.catalog import Catalog
from getmodules.util.once import Memo
from getmodules.util.values import field, valueclass


class Reporting(Progress):
    """Remembers what the caller's own progress raised: that cancels, whoever called it and whatever they make of it.

    A plugin calls it through its context, where any exception would be taken for the plugin's own fault; and one
    that swallows it meets it again at the next report.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._is_heard = type(progress) is not Progress
        self.cancelled_by: BaseException | None = None

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


#: Archives up to this size are written one at a time.
SMALL_BYTES = 1 << 20


def _no_store() -> CacheLocation | None:
    return None


@valueclass
class Means:
    """What the pipeline works with, the same for every package."""

    catalog: Catalog
    limits: Limits
    progress: Progress
    cancelled: threading.Event = field(default_factory=threading.Event)
    sweeper: Sweeper = field(default_factory=Sweeper)
    network: Network = field(default_factory=lambda: ClientNetwork(NetSettings()))
    #: Opens what earlier runs keep theirs in, when something is to be kept; where it gives ``None``, nothing is.
    store: Callable[[], CacheLocation | None] = _no_store
    offline: bool = False
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Of the operation that these means were made for.
    memo: Memo = field(default_factory=Memo, repr=False)
    trouble: Trouble = field(default_factory=Trouble, repr=False)
    #: Held while a small archive is written, judged and published.
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    private: PrivateDirectories = field(default_factory=PrivateDirectories, repr=False)

    def checkpoint(self) -> None:
        if self.cancelled.is_set():
            raise InstallError("cancelled", part="cancelled")

    def alone_with(self, content: Content) -> AbstractContextManager[object]:
        """The block in which ``content`` is written, judged and published; small archives do so one at a time.

        To write one is thousands of system calls, at each of which Python changes threads: side by side they take
        longer than one after the other. Nobody waits for what may take long: a large archive, what a getter or
        unpacker of a plugin brings, a plugin that judges trees.
        """
        is_small = content.packed_bytes is not None and content.packed_bytes <= SMALL_BYTES
        is_judged = any(Gate.TREE in verifier.gates for verifier in self.catalog.verifiers)
        return self.lock if content.is_at_hand and is_small and not is_judged else nullcontext()

    def visit(self, package: PackageAddress | None = None) -> Visit:
        """Of the store; a package of this machine is at hand itself, and work without one leaves nothing to keep."""
        remote = package is not None and not is_local(package, self.catalog)
        home = self.memo.once("the store", self.store, lambda: None) if remote else None
        return Visit(home, self.private, self.trouble)

    def _credential(self, origin: Origin, path: str) -> Credential | None:
        """The environment is nearer to the user than a plugin is."""
        found = from_environment(self.environ, origin)
        if found is not None or not self.catalog.credentials:
            return found
        return first_credential(self.catalog.credentials, origin, path)

    def context(self, package: str, workshops: Workshops, progress: Progress) -> Context:
        def workshop(key: str) -> AbstractContextManager[Path]:
            return workshops.open(key, context)

        context = Context(
            package=package,
            limits=self.limits,
            deadline=Deadline.after(self.limits.seconds),
            progress=progress,
            cancelled=self.cancelled,
            credentials=self._credential,
            network=NoNetwork() if self.offline else self.network,
            environ=self.environ,
            offline=self.offline,
            layer_formats=self.catalog.layer_formats(),
            memo=self.memo,
            mirrors=self.network.settings.mirrors,
            workshop=workshop,
            kept=workshops.visit.kept,
        )
        return context
