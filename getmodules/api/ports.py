"""The ports: what plugins implement, and what the core hands them.

A plugin's class need not inherit from anything here; these are Protocols. What a Protocol marks as optional
may be left out, and :mod:`getmodules.plugins.catalog` supplies the default. Whatever a plugin returns or raises is
checked and wrapped there, once, at the port.

What is going on, told to whoever wants to show it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from getmodules.addresses.mirrors import Mirrors
from getmodules.addresses.types import PackageAddress
from getmodules.api.limits import Deadline, Limits
from getmodules.api.model import (
    Archive,
    Blob,
    Demand,
    Elsewhere,
    Gate,
    Layers,
    Member,
    Members,
    Pin,
    Shape,
    Tree,
    Unchanged,
    Want,
)
from getmodules.errors import InstallError, OfflineError
from getmodules.util.digest import Digest
from getmodules.util.once import Memo
from getmodules.util.redact import Secret
from getmodules.util.values import field, valueclass


class Phase(StrEnum):
    RESOLVING = "resolving"
    DOWNLOADING = "downloading"
    VERIFYING = "verifying"
    UNPACKING = "unpacking"
    PUBLISHING = "publishing"


class Progress:
    """What is going on, as method calls that do nothing; override what you want to see.

    ``package`` is the redacted address of a package and tells parallel ones apart. Calls come from the thread
    that works on it. An exception raised in here cancels the operation and leaves nothing behind; raised in
    :meth:`finished` it goes on to the caller, and undoes nothing: all is over then.
    """

    def planned(self, packages: int) -> None:
        """So many packages are now worked on, side by side."""

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        """A package enters ``phase``; ``total`` is the number of bytes to come, where it is known."""

    def advance(self, package: str, amount: int) -> None:
        """``amount`` more bytes are done in the current phase."""

    def notice(self, package: str, message: str) -> None:
        """Something worth knowing that is no error."""

    def finished(self, package: str, error: BaseException | None) -> None:
        """The package is installed, or ``error`` ended it."""


T = TypeVar("T")

# ------------------------------------------------------------------------------------------ what is handed in


class Origin(NamedTuple):
    """Whom a credential is for: a scheme, a host and a port, and nobody else."""

    scheme: str
    host: str
    port: int


@valueclass
class Credential:
    """A secret for one origin; with a username it is Basic, alone it is a bearer token."""

    secret: Secret
    username: str | None = None
    #: Where it was found, for people: ``GETMODULES_TOKEN_ghcr_io``, ``~/.docker/config.json``.
    found_in: str
    #: An identity (refresh) token: no access by itself, it is exchanged for tokens that give it.
    identity: bool = False


class Network(Protocol):
    """HTTP for getters, with the client's settings: certificates, proxies, retries, bounds."""

    @property
    def settings(self) -> Any:
        """A ``getmodules.net.settings.NetSettings``, for getters whose programs reach hosts by themselves."""

    def session(self) -> Any:
        """A ``getmodules.net.session.Session``; made, and its libraries imported, when first asked for."""


class NoNetwork:
    """The network of a context that has none: readers outside of any operation, offline work."""

    @property
    def settings(self) -> Any:
        raise OfflineError("this operation has no network")

    def session(self) -> Any:
        raise OfflineError(
            "what this needs is not in the cache, and --offline allows no connection",
            hint="run it once without --offline",
        )


class Credentials(Protocol):
    @property
    def name(self) -> str: ...

    def lookup(self, origin: Origin, path: str) -> Credential | None:
        """The credential for what lies at ``path`` of ``origin``, or ``None``: then the next one is asked."""


def _no_workshop(key: str) -> AbstractContextManager[Path]:
    raise InstallError("there is no working directory outside of an operation")


def _not_kept(digest: Digest, bring: Callable[[], bytes]) -> bytes:
    return bring()


@valueclass
class Context:
    """Everything a plugin may use during one call. Passed in each time, never kept."""

    package: str
    limits: Limits
    deadline: Deadline
    progress: Progress
    cancelled: threading.Event
    credentials: Callable[[Origin, str], Credential | None]
    #: A directory of the getter's own for ``key``; nobody else is in it while the ``with`` block runs, and only then.
    #: Where there is a cache it stays for the next run, and may hold what a killed one left.
    workshop: Callable[[str], AbstractContextManager[Path]] = _no_workshop
    network: Network = field(default_factory=NoNetwork)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The unpackers of layers, by OCI media type, the preferred one first: the names of their formats.
    layer_formats: Mapping[str, str] = field(default_factory=dict)
    #: Nothing may be connected to: a getter brings what it has at hand, or raises ``OfflineError``.
    offline: bool = False
    #: Small content by its digest: at hand from an earlier run, or else what the function brings; kept, once verified.
    kept: Callable[[Digest, Callable[[], bytes]], bytes] = _not_kept
    #: What the source gave us last time (``Blob.validator``) to ask whether that still holds; empty where nothing of it
    #: is at hand. Where it holds, ``fetch`` returns ``Unchanged()``.
    validator: Callable[[PackageAddress], Mapping[str, str]] = lambda package: {}
    #: Where packages are asked for in the place of where they are said to be; getters see no other URL.
    mirrors: Mirrors = field(default_factory=Mirrors)
    memo: Memo = field(default_factory=Memo, repr=False)
    #: What the address says about what ``fetch`` is to bring.
    shape: Shape = Shape.PACKAGE
    #: Set where a server named the address: judges each network address before it is connected to.
    check_address: Callable[[str], None] | None = None
    #: The URL that was asked for in the first place, before servers sent us on.
    home: str = ""

    def checkpoint(self) -> None:
        """Raise where the operation was cancelled or its time is over; called between pieces of work."""
        if self.cancelled.is_set():
            raise InstallError("cancelled", part="cancelled")
        self.deadline.check()

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """``make()``, or what it gave before for ``key`` in the same operation, whoever asked."""
        return self.memo.once(key, make, self.checkpoint)

    def phase(self, phase: Phase, total: int | None = None) -> None:
        self.progress.phase(self.package, phase, total)

    def advance(self, amount: int) -> None:
        self.progress.advance(self.package, amount)

    def notice(self, message: str) -> None:
        self.progress.notice(self.package, message)


# ------------------------------------------------------------------------------------------ what plugins bring


class Shorthand(NamedTuple):
    """An address that is not URL-like yet: no query, no subdirectory; ``force`` is what stood before ``::``.

    ``base`` is where relative paths start, ``registry`` the host of the registry that is configured, if there is one.
    """

    body: str
    force: str | None
    base: str | None
    registry: str | None = None


class Detector(Protocol):
    @property
    def name(self) -> str: ...

    def detect(self, shorthand: Shorthand) -> str | None:
        """A longer spelling (it may have a force, a subdirectory and a query), or ``None``: not mine.

        Pure string work. The result goes through the chain again until it is URL-like.
        """


Fetched = Blob | Layers | Members | Elsewhere | Unchanged


class Getter(Protocol):
    """Brings packages of its schemes. This is all that a getter must have; :class:`FullGetter` is all it may."""

    @property
    def schemes(self) -> Iterable[str]: ...

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Fetched:
        """The package's bytes. ``Elsewhere`` only where ``resolve`` gave no id."""


class FullGetter(Getter, Protocol):
    """What a getter may have besides; for each there is a default."""

    @property
    def arguments(self) -> Iterable[str] | None:
        """The names of its arguments; ``None``: any, they belong to the URL. Default: it has none."""

    @property
    def core_arguments(self) -> Iterable[str]:
        """Which of ``archive``, ``checksum`` and ``filename`` make sense. Default: all."""

    @property
    def local(self) -> bool:
        """Its packages lie on this machine, so no remote answer may name them. Default: they do not."""

    def check(self, package: PackageAddress) -> PackageAddress | None:
        """Pure: raise ``AddressError``, or return the package, perhaps in a canonical spelling."""

    def demands(self, package: PackageAddress) -> Iterable[Demand]:
        """Pure: what the address itself demands, for the core to check (``digest=``)."""

    def resolve(self, package: PackageAddress, context: Context) -> Pin | Elsewhere | None:
        """The package's immutable identity, had cheaply; ``None`` where there is no such thing."""

    @property
    def sends_on(self) -> bool:
        """Whether it may answer ``Elsewhere``. Where not, a lock with a package of another URL was tampered with.

        Default: it may.
        """

    @property
    def version_argument(self) -> str | None:
        """The argument that takes one of the names that ``versions`` gives. Default: it has no versions."""

    def versions(self, package: PackageAddress, context: Context) -> Iterable[str]:
        """The names (tags) under which versions may be had; those that are no versions do no harm."""

    def repository(self, package: PackageAddress, context: Context) -> Any:
        """What can be published to and looked into: a ``getmodules.getters.oci.repository.Repository``, or ``None``."""


class Unpacker(Protocol):
    """Reads one archive format. The first of ``names`` is the one that is shown."""

    @property
    def names(self) -> Iterable[str]: ...

    @property
    def suffixes(self) -> Iterable[str]: ...

    @property
    def media_types(self) -> Iterable[str]: ...

    def unpack(self, archive: Archive, context: Context) -> Iterable[Member]:
        """The members in the archive's order, lazily; everything ambiguous or broken is an error."""


class LayerUnpacker(Unpacker, Protocol):
    """An unpacker may also read layers of OCI artifacts; there, nothing but the media type says what they are."""

    @property
    def layer_media_types(self) -> Iterable[str]: ...


class Verifier(Protocol):
    """Has a say at its gates. It can refuse; it cannot accept what a demand or another verifier refuses."""

    @property
    def name(self) -> str: ...

    @property
    def gates(self) -> Iterable[Gate]: ...

    def verify(self, gate: Gate, subject: Pin | Archive | Tree, context: Context) -> str | None:
        """Raise ``VerificationError``; or return what was found, as evidence; or ``None``: nothing to say."""


class ProgressSink(Protocol):
    """A named way to show progress: ``--progress NAME`` opens it."""

    @property
    def name(self) -> str: ...

    def open(self, stream: Any) -> Progress: ...
