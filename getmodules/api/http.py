"""The HTTP that getters are given: calls, answers, and the session that sends them.

A getter asks with ``context.network.session().request(…)``, or makes a :class:`Call` where it needs more than that.
Sessions and answers are Protocols here;
:mod:`getmodules.net` implements them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Protocol
from urllib.parse import urlsplit

from getmodules.addresses.mirrors import Mirrors
from getmodules.api.ports import Context, Credential, Origin
from getmodules.errors import SentCredential
from getmodules.util.redact import Secret, masked, secrets_in_header
from getmodules.util.values import field, valueclass

DEFAULT_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})
#: Statuses that are worth another try: the server, or something on the way, blames itself, or says not now.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_REPLAYABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_SHOWN_BODY_BYTES = 8_192

#: Checks an address before a connection to it is made; raises to refuse it.
AddressCheck = Callable[[str], None]
#: Makes the secrets of a request in a text unreadable.
Mask = Callable[[str], str]


def origin_of(url: str) -> Origin:
    """Return scheme, host and port, normalised; the scheme is http or https."""
    parts = urlsplit(url)
    return Origin(parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme])


# ------------------------------------------------------------------------------------------------ answers


class HttpAnswer(Protocol):
    """The answer of a server. Close it, or read it to the end."""

    @property
    def status(self) -> int: ...

    @property
    def url(self) -> str:
        """The URL that answered, after redirects."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def length(self) -> int | None:
        """The announced length; ``None`` where the body itself shows its end."""

    @property
    def address(self) -> str | None:
        """The network address of the server; ``None`` behind a proxy."""

    @property
    def mask(self) -> Mask:
        """Masks the secrets that were sent to this server."""

    def every(self, name: str) -> list[str]:
        """Return the values of all headers of one name, each for itself."""

    def shown(self, text: str, limit: int = 200) -> str:
        """Return text of the server for people: it may send our own secrets back to us."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it is received; shorter or longer than announced is an error."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the same: an answer may be the ``chunks`` of a ``Blob`` as it is."""

    def read(self, limit: int = ...) -> bytes:
        """Return a body of at most ``limit`` bytes; read once, and remembered."""

    def read_some(self, limit: int) -> bytes:
        """Return the beginning of a body, for people, or what came before an error."""

    def close(self) -> None: ...


def body_text(answer: HttpAnswer) -> str:
    """Return the beginning of an error body, for people."""
    text = answer.read_some(_SHOWN_BODY_BYTES).decode("utf-8", "replace")
    return answer.shown(" ".join(text.split()), 300)


class HttpDownload(Protocol):
    """A body that goes on where it broke off: the ``chunks`` of a ``Blob``, with its ``size``, ``validator``, ``rest``.

    Whether a body may be gone on with, the session finds out: by a strong validator, or because it is ``immutable``.
    """

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the first answer."""

    @property
    def size(self) -> int | None:
        """The announced length of the whole; ``None`` where the body itself shows its end."""

    @property
    def validator(self) -> Mapping[str, str]:
        """A strong entity tag or date by which the source knows this body again; empty without one."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body, once; what is missing after an interruption is asked for again."""

    def rest(self, start: int) -> Iterable[bytes] | None:
        """Return what comes after ``start`` bytes, which are here already; ``None``: only the whole can be had."""

    def close(self) -> None: ...


# ------------------------------------------------------------------------------------------------ calls


class SizedBody:
    """A request's body that is sent while it is read. Its size is known, so no server has to take it in chunks."""

    def __init__(self, pieces: Iterable[bytes], size: int) -> None:
        self.pieces = pieces
        self.size = size


@valueclass
class Authorization:
    """Headers that only one origin ever sees."""

    origin: Origin
    headers: Mapping[str, str] = field(repr=False)
    #: Secrets that the call has in its body, to be masked like those of the headers.
    in_body: tuple[Secret, ...] = ()
    #: A token that anybody gets, without credentials.
    anonymous: bool = False
    #: The credential that they are made of, for messages.
    credential: SentCredential | None = None
    #: The registry whose token service the origin is.
    asked_by: Origin | None = None

    def mask(self, text: str) -> str:
        """Return ``text`` without the secrets of the request, should a server send them back to us."""
        values = (*self.headers.values(), *(secret.reveal() for secret in self.in_body))
        return masked(text, chain.from_iterable(map(secrets_in_header, values)))


@valueclass
class Call:
    """One request, as it may be repeated."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Callable[[], SizedBody] | None = field(default=None, repr=False)
    authorization: Authorization | None = None
    #: Statuses besides 2xx that the caller wants to see.
    accept: frozenset[int] = frozenset()
    #: What the body of an error says, for people.
    explain: Callable[[HttpAnswer], str] = body_text
    #: Whether the request may be sent again though its answer was lost.
    replayable: bool | None = None
    check_address: Callable[[str], None] | None = None
    #: How often it is sent again after a failure; ``None``: as the settings say.
    retries: int | None = None
    #: How we came to the host, for messages, as in ``where registry.example sent us``; ``None``: as the context says.
    way: str | None = None
    #: A body that must be no larger than this is read as part of the call, so that a broken one is asked for again.
    read: int | None = None

    def mask(self, text: str) -> str:
        return self.authorization.mask(text) if self.authorization else text

    def shows_credentials_to(self, url: str) -> bool:
        return (
            self.authorization is not None
            and not self.authorization.anonymous
            and origin_of(url) == self.authorization.origin
        )

    def sent_to(self, url: str) -> SentCredential | None:
        """Return the credential that ``url`` was sent, for messages."""
        if self.authorization is None or not self.shows_credentials_to(url):
            return None
        return self.authorization.credential or SentCredential("the headers of the request")

    @property
    def may_replay(self) -> bool:
        return self.method in _REPLAYABLE if self.replayable is None else self.replayable


# ------------------------------------------------------------------------------------------------ the network


class NetworkSettings(Protocol):
    """The client's settings for the network, as far as getters need them."""

    @property
    def mirrors(self) -> Mirrors: ...

    @property
    def timeout(self) -> float:
        """The seconds that a server may send nothing."""

    @property
    def retries(self) -> int:
        """The number of times that a failed request is sent again."""

    @property
    def connecting(self) -> float:
        """The seconds that connecting may take."""

    def ca_for(self, host: str, port: int) -> str | None:
        """Return the file with certificate authorities for a host; ``None`` for those of the system."""

    def client_certificate_for(self, host: str, port: int) -> str | tuple[str, str] | None:
        """Return the file with our certificate and key for a host, or one file for each."""

    def headers_for(self, origin: Origin) -> Mapping[str, Secret]:
        """Return the additional headers of requests to ``origin``."""

    def allows_plain_http(self, host: str, port: int) -> bool: ...

    def allows_credentials(self, origin: Origin, asked_by: Origin | None = None) -> bool:
        """Return whether credentials may be sent to ``origin``: with TLS always, without it not for a manifest's word.

        A token service is ``asked_by`` its registry.
        """

    def has_proxy_for(self, url: str) -> bool:
        """Return whether there is a proxy, also one that only other programs can use (SOCKS)."""


class HttpSession(Protocol):
    """A session sends calls, with retries and redirects."""

    @property
    def settings(self) -> NetworkSettings: ...

    def request(
        self,
        method: str,
        url: str,
        context: Context,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        credential: Credential | None = None,
        secret_headers: Mapping[str, Secret] | None = None,
        accept: Collection[int] = (),
    ) -> HttpAnswer:
        """Send a request and return the answer, whose status is 2xx or one of ``accept``; raise for anything else.

        ``credential`` and ``secret_headers`` are shown to the origin of ``url`` alone, and masked in messages;
        ``headers`` go wherever a redirect leads, so they are not for secrets: those that are ones (``Authorization``,
        ``Cookie``) are refused there, and those that frame the request (``Host``, ``Content-Length``) everywhere.
        """

    def download(
        self,
        url: str,
        context: Context,
        *,
        headers: Mapping[str, str] | None = None,
        credential: Credential | None = None,
        secret_headers: Mapping[str, Secret] | None = None,
        immutable: bool = False,
    ) -> HttpDownload:
        """Ask for ``url`` with GET, and return its body, which goes on where the connection broke off.

        ``immutable`` promises that ``url`` means the same bytes for ever: give the ``Blob`` a digest then.
        """

    def send(self, call: Call, context: Context) -> HttpAnswer:
        """Return the answer, with a status of 2xx or one that the call accepts; raise for anything else."""

    def pause(self, attempt: int, wait: float | None, context: Context) -> None:
        """Wait before the next try: ``wait`` seconds, or longer after each ``attempt``."""
