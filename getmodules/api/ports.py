"""The ports: what plugins implement, and what the core hands them.

A plugin's class need not inherit from anything here; these are Protocols. What a Protocol marks as optional
may be left out, and the adapters in :mod:`getmodules.plugins` supply the default. They also check and wrap whatever a
plugin returns or raises, once, at the port.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, TypeVar

from getmodules.addresses.mirrors import Mirrors
from getmodules.addresses.types import PackageAddress
from getmodules.api.limits import Deadline, Limits
from getmodules.api.model import (
    Archive,
    Blob,
    Demand,
    Elsewhere,
    Evidence,
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

if TYPE_CHECKING:
    from getmodules.api.http import HttpSession, NetworkSettings


class Phase(StrEnum):
    """The work that is done for a package. One without ``RESOLVING`` and ``DOWNLOADING`` came from the cache."""

    #: Its source is asked what the address means.
    RESOLVING = "resolving"
    #: Its source is asked for its content. Packages of this machine have no such phase.
    DOWNLOADING = "downloading"
    #: Its bytes are hashed, and judged.
    VERIFYING = "verifying"
    UNPACKING = "unpacking"
    #: A tree is put into its place. What is only looked at, as for a lock, has no such phase.
    INSTALLING = "installing"
    #: It is sent to where ``push`` publishes it; ``total`` is 0 where it is there already.
    PUBLISHING = "publishing"


class Progress:
    """A listener to the progress of packages, whose methods do nothing; override those that you need.

    ``package`` is the redacted address of a package and tells parallel ones apart. Calls come from the thread
    that works on it. An exception raised in here cancels the operation and leaves nothing behind; raised in
    :meth:`finished` it reaches the caller, and undoes nothing: all is done then.
    """

    def planned(self, packages: int) -> None:
        """``packages`` packages are now worked on, side by side."""

    def modules(self, package: str, names: Sequence[str]) -> None:
        """The modules of ``package`` have these names, for people: in the project, or else by their addresses.

        It comes before the first phase, and once more with those that are left, where some of them failed alone.
        """

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        """A package enters ``phase``; ``total`` is the number of bytes to come, where it is known."""

    def advance(self, package: str, amount: int) -> None:
        """``amount`` more bytes are done in the current phase."""

    def notice(self, package: str, message: str) -> None:
        """There is something worth knowing that is not an error."""

    def finished(self, package: str, error: BaseException | None) -> None:
        """The package is installed, or ``error`` ended it."""


T = TypeVar("T")

# ------------------------------------------------------------------------------------------ what is handed in


class Origin(NamedTuple):
    """The receiver of a credential: a scheme, a host and a port."""

    scheme: str
    host: str
    port: int


@valueclass
class Credential:
    """A secret for one origin; with a username it is Basic, alone it is a bearer token."""

    secret: Secret
    username: str | None = None
    #: The place where it was found, for people: ``GETMODULES_TOKEN_ghcr_io``, ``~/.docker/config.json``.
    found_in: str
    #: An identity (refresh) token: no access by itself, it is exchanged for tokens that give it.
    identity: bool = False


class Network(Protocol):
    """HTTP for getters, with the client's settings: certificates, proxies, retries, bounds."""

    @property
    def settings(self) -> NetworkSettings:
        """The settings, for getters whose programs reach hosts by themselves."""

    def session(self) -> HttpSession:
        """Return the session; it is made, and its libraries are imported, when it is first asked for."""


class NoNetwork:
    """The network of a context that has none: readers outside of any operation, offline work."""

    @property
    def settings(self) -> NetworkSettings:
        raise OfflineError("this operation has no network")

    def session(self) -> HttpSession:
        raise OfflineError(
            "what this needs is not in the cache, and no connection may be made",
            hint="run it once without --offline",
        )


class Credentials(Protocol):
    """A source of credentials: a keychain, a vault."""

    @property
    def name(self) -> str: ...

    def lookup(self, origin: Origin, path: str) -> Credential | None:
        """Return the credential for ``path`` of ``origin``, or ``None``: then the next one is asked."""


def _no_workshop(key: str) -> AbstractContextManager[Path]:
    raise InstallError("there is no working directory outside of an operation")


def _not_kept(digest: Digest, bring: Callable[[], bytes]) -> bytes:
    return bring()


class Once(Protocol):
    """Remembers answers for an operation."""

    def __call__(self, key: Hashable, make: Callable[[], T], /) -> T:
        """Return ``make()``, or its earlier result for ``key`` in the same operation, for any package."""
        ...


def _own_answers() -> Once:
    memo = Memo()

    def once(key: Hashable, make: Callable[[], T], /) -> T:
        return memo.once(key, make, lambda: None)

    return once


@valueclass
class Context:
    """Everything a plugin may use during one call. Passed in each time, never kept."""

    package: str
    limits: Limits
    deadline: Deadline
    progress: Progress
    cancelled: threading.Event
    credentials: Callable[[Origin, str], Credential | None]
    #: A working directory of the getter's own for ``key``; it has no other user while the ``with`` block runs.
    #: In a cache it stays for the next run, and may hold what a killed one left.
    workshop: Callable[[str], AbstractContextManager[Path]] = _no_workshop
    network: Network = field(default_factory=NoNetwork)
    #: The environment of the client: that of the process, or what the program gave it. A plugin reads its variables
    #: here, and never in ``os.environ``, so that two clients of one program may differ.
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The unpackers of layers, by OCI media type, the preferred one first: the names of their formats.
    layer_formats: Mapping[str, str] = field(default_factory=dict)
    #: No connections are allowed: a getter brings what is cached, or raises ``OfflineError``.
    offline: bool = False
    #: Returns small content by its digest: from an earlier run, or else from the function; kept, once verified.
    kept: Callable[[Digest, Callable[[], bytes]], bytes] = _not_kept
    #: Returns what the source gave us last time (``Blob.validator``) to ask whether that still holds; empty where
    #: nothing is cached. Where it holds, ``fetch`` returns ``Unchanged()``.
    validator: Callable[[PackageAddress], Mapping[str, str]] = lambda package: {}
    #: The mirrors that packages are asked for at; getters see no other URL.
    mirrors: Mirrors = field(default_factory=Mirrors)
    #: Returns the answer to a key, made once in the operation for all packages.
    once: Once = field(default_factory=_own_answers, repr=False)
    #: The kind of content that the address announces.
    shape: Shape = Shape.PACKAGE
    #: Set if a server named the address: checks each network address before a connection to it is made.
    check_address: Callable[[str], None] | None = None
    #: The URL that was asked for in the first place, before servers sent us on.
    home: str = ""
    #: How we came to the host, for messages, as in ``where registry.example sent us``; empty if somebody typed it.
    way: str = ""
    #: Judges an address before anything is contacted, by the verifiers of ``Gate.ADDRESS``; ``None``: there are none.
    address_gate: Callable[[PackageAddress, Context], tuple[Evidence, ...]] | None = field(default=None, repr=False)
    #: The addresses that passed the gate for this call; requests of their own are not judged again.
    admitted: tuple[PackageAddress, ...] = ()

    def admit(self, address: PackageAddress) -> tuple[Evidence, ...]:
        """Raise where a verifier keeps us from ``address``, else return what was said of it.

        The session asks by itself. A getter that reaches hosts in another way asks before it does, for each host that
        its package's address does not name.
        """
        return () if self.address_gate is None else self.address_gate(address, self)

    def checkpoint(self) -> None:
        """Raise where the operation was cancelled or its time is over; called between pieces of work."""
        if self.cancelled.is_set():
            raise InstallError("cancelled", part="cancelled")
        self.deadline.check()

    def phase(self, phase: Phase, total: int | None = None) -> None:
        """Tell the progress that the package enters ``phase``; ``total`` is the number of bytes to come."""
        self.progress.phase(self.package, phase, total)

    def advance(self, amount: int) -> None:
        """Tell the progress that ``amount`` more bytes are done."""
        self.progress.advance(self.package, amount)

    def notice(self, message: str) -> None:
        """Tell the user something that is not an error."""
        self.progress.notice(self.package, message)


# ------------------------------------------------------------------------------------------ what plugins bring


class Shorthand(NamedTuple):
    """An address that is not URL-like yet, without query and subdirectory; ``force`` is what stood before ``::``.

    ``base`` is where relative paths start, ``registry`` the host of the registry that is configured, if there is one.
    """

    body: str
    force: str | None
    base: str | None
    registry: str | None = None


class Detector(Protocol):
    """A detector turns shorthand into a longer spelling, until it is a URL."""

    @property
    def name(self) -> str: ...

    def detect(self, shorthand: Shorthand) -> str | None:
        """Return a longer spelling (it may have a force, a subdirectory and a query), or ``None``: not mine.

        Pure string work. The result is passed through the chain again until it is URL-like.
        """


#: What ``fetch`` returns.
Fetched = Blob | Layers | Members | Elsewhere | Unchanged


class Getter(Protocol):
    """A getter brings packages of its schemes. It must have these; :class:`FullGetter` lists all that it may have."""

    @property
    def schemes(self) -> Iterable[str]: ...

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Fetched:
        """Return the package's bytes; ``Elsewhere`` only where ``resolve`` gave no id."""


class FullGetter(Getter, Protocol):
    """A getter with all that it may have besides; for each there is a default."""

    @property
    def arguments(self) -> Iterable[str] | None:
        """The names of its arguments; ``None``: any, they belong to the URL. Default: it has none."""

    @property
    def core_arguments(self) -> Iterable[str]:
        """Those of ``archive``, ``checksum`` and ``filename`` that make sense. Default: all."""

    @property
    def local(self) -> bool:
        """True if its packages are on this machine, so that no remote answer may name them. Default: false."""

    def check(self, package: PackageAddress) -> PackageAddress | None:
        """Raise ``AddressError``, or return the package, perhaps in a canonical spelling. Pure."""

    def demands(self, package: PackageAddress) -> Iterable[Demand]:
        """Return what the address itself demands (``digest=``), for the core to check. Pure."""

    def resolve(self, package: PackageAddress, context: Context) -> Pin | Elsewhere | None:
        """Return the package's immutable identity, if it can be had cheaply, else ``None``.

        The pin's ``package`` is the address that brings the same content again, as ``package.with_arguments(
        package.arguments.with_value("version", "17"))``; its ``id`` names the content. ``Elsewhere`` sends to another
        address, of any scheme; the core asks its getter from there on.
        """

    @property
    def sends_on(self) -> bool:
        """True if it may answer ``Elsewhere``. If not, a lock with a package of another URL was tampered with.

        Default: true.
        """

    @property
    def version_argument(self) -> str | None:
        """The argument that takes one of the names that ``versions`` returns. Default: it has no versions."""

    def versions(self, package: PackageAddress, context: Context) -> Iterable[str]:
        """Return the names (tags) of versions; other names among them do no harm."""


class Unpacker(Protocol):
    """An unpacker reads one archive format. The first of ``names`` is the one that is shown."""

    @property
    def names(self) -> Iterable[str]: ...

    @property
    def suffixes(self) -> Iterable[str]: ...

    @property
    def media_types(self) -> Iterable[str]: ...

    def unpack(self, archive: Archive, context: Context) -> Iterable[Member]:
        """Return the members in the archive's order, lazily; raise for anything ambiguous or broken."""


class LayerUnpacker(Unpacker, Protocol):
    """An unpacker that also reads layers of OCI artifacts, whose media type alone says what they are."""

    @property
    def layer_media_types(self) -> Iterable[str]: ...


#: What a verifier looks at: a ``PackageAddress`` at ``Gate.ADDRESS``, a ``Pin`` at ``Gate.PIN``, an ``Archive`` at
#: ``Gate.BYTES``, a ``Tree`` at ``Gate.TREE``.
Subject = PackageAddress | Pin | Archive | Tree


class Verifier(Protocol):
    """A verifier is asked at its gates. It can refuse; it cannot accept what a demand or another verifier refuses."""

    @property
    def name(self) -> str: ...

    @property
    def gates(self) -> Iterable[Gate]: ...

    def verify(self, gate: Gate, subject: Subject, context: Context) -> str | None:
        """Raise ``VerificationError``; or return what was found, as evidence; or ``None``: nothing to say.

        The subject is that of the gate: a ``PackageAddress`` at ``Gate.ADDRESS``, then a ``Pin``, an ``Archive`` (not
        for a package that comes as ``Members``), a ``Tree`` for each directory that is wanted. Requests of a
        verifier are judged by the others at ``Gate.ADDRESS``.
        """


class ProgressSink(Protocol):
    """A named way to show progress: ``--progress NAME`` opens it."""

    @property
    def name(self) -> str: ...

    def open(self, stream: TextIO) -> Progress: ...
