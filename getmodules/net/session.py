"""Send requests: redirects are followed and checked here, retries end, credentials go to one origin only.

All requests of getmodules go through a :class:`Session`: for archives, registries, tokens.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Collection, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from getmodules.addresses.url import check_url
from getmodules.api.http import DEFAULT_PORTS, TRANSIENT, Authorization, Call, HttpAnswer, origin_of
from getmodules.api.ports import Context, Credential
from getmodules.errors import (
    AddressError,
    AuthenticationError,
    FetchError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    SentCredential,
    UnsafeContentError,
)
from getmodules.net.address_check import address_check_for
from getmodules.net.admission import admit_request
from getmodules.net.credentials import authorization_of, sent_credential
from getmodules.net.refusals import check_not_in_clear, refused
from getmodules.net.route import sent_by
from getmodules.net.wire import Wire, WireAnswer, shown_host, shown_place
from getmodules.util.redact import Secret
from getmodules.util.values import replace

if TYPE_CHECKING:
    from getmodules.net.download import Download

MAX_REDIRECTS = 10
#: They would frame the request anew, or speak to a proxy, which is no origin.
_NOT_A_PLUGINS = frozenset({"proxy-authorization", "host", "content-length", "transfer-encoding", "connection"})
#: They would travel with a redirect.
_SECRET = frozenset({"authorization", "cookie"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: As long as servers themselves take a URL to be.
_LONGEST_LOCATION = 8_192
_log = logging.getLogger("getmodules")


class Session:
    """Send calls over a wire, with retries and redirects."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.settings = wire.settings

    def send(self, call: Call, context: Context) -> WireAnswer:
        """Return the answer, with a status of 2xx or one that the call accepts; raise for anything else."""
        check_not_in_clear(call.authorization, self.settings)
        retries = self.settings.retries if call.retries is None else call.retries
        tries = 1 + (retries if call.may_replay else 0)
        for attempt in range(1, tries + 1):
            last = attempt == tries
            _log.debug("%s %s, try %d of %d", call.method, shown_place(call.mask(call.url)), attempt, tries)
            try:
                answer = self._follow(call, context)
                if call.read is not None and answer.status < 300:
                    answer.read(call.read)
            except NetworkError as error:
                if last or not error.retryable or context.deadline.remaining() <= 0:
                    raise
                _log.debug("try %d of %d failed: %s", attempt, tries, error.message)
                self.pause(attempt, None, context)
                continue
            if answer.status < 300 or answer.status in call.accept:
                return answer
            wait = retry_after(answer)
            failure = failed(answer, sent=call.sent_to(answer.url), explain=call.explain(answer))
            answer.close()
            if last or answer.status not in TRANSIENT or not self._may_wait(wait, failure, context):
                raise failure
            _log.debug("try %d of %d failed: %s", attempt, tries, failure.message)
            self.pause(attempt, wait, context)
        raise AssertionError("the last try returns or raises")

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
    ) -> WireAnswer:
        """Send a request in the way of plugins; see :class:`getmodules.api.http.HttpSession`."""
        if type(body) not in (bytes, type(None)):
            raise TypeError(f"body is {type(body).__name__}, not bytes")
        call = replace(_call(method, url, headers, credential, secret_headers), body=body, accept=frozenset(accept))
        return self.send(call, context)

    def download(
        self,
        url: str,
        context: Context,
        *,
        headers: Mapping[str, str] | None = None,
        credential: Credential | None = None,
        secret_headers: Mapping[str, Secret] | None = None,
        immutable: bool = False,
    ) -> Download:
        """Download a body in the way of plugins; see :class:`getmodules.api.http.HttpSession`."""
        from getmodules.net.download import RANGE_REFUSED, Download  # which imports this module

        call = _call("GET", url, headers, credential, secret_headers)

        def send(more: Mapping[str, str], retries: int | None) -> WireAnswer:
            accept = RANGE_REFUSED if "Range" in more else frozenset()
            return self.send(replace(call, headers={**call.headers, **more}, accept=accept, retries=retries), context)

        first = send({}, None)
        if first.status != 200:
            first.close()
            raise NetworkError(
                f"{shown_host(first.url)} answered {first.status}, which brings no file", retryable=False
            )
        return Download(send, self, context, immutable=immutable, first=first)

    def _may_wait(self, wait: float | None, error: FetchError, context: Context) -> bool:
        if wait is None or (wait <= self.settings.longest_wait_seconds and wait < context.deadline.remaining()):
            return True
        error.hint = "; ".join(filter(None, (f"the server asks to wait for {_rounded(wait)}", error.hint)))
        return False

    def pause(self, attempt: int, wait: float | None, context: Context) -> None:
        """Back off, with jitter: a thousand pipelines that fail together must not come back together."""
        # The exponent is bounded, since a float is: there may be a thousand retries.
        longer = self.settings.backoff_seconds * 2 ** min(attempt - 1, 20) * random.uniform(0.5, 1.5)
        seconds = min(longer, self.settings.longest_backoff_seconds) if wait is None else wait
        seconds = min(seconds, context.deadline.remaining())
        _log.debug("waiting %.1f seconds before the next try", seconds)
        context.cancelled.wait(seconds)
        context.checkpoint()

    def _follow(self, call: Call, context: Context) -> WireAnswer:
        """Make one try: send the request, and follow redirects."""
        method, url, body = call.method, call.url, call.body
        check = call.check_address or context.check_address
        way = context.way if call.way is None else call.way
        first: WireAnswer | None = None
        for _ in range(MAX_REDIRECTS + 1):
            headers = dict(call.headers)
            if call.authorization is not None and origin_of(url) == call.authorization.origin:
                headers.update(call.authorization.headers)
            admit_request(url, context, is_redirect=first is not None)
            sent = body() if callable(body) else body
            answer = self._wire.exchange(
                method, url, context, headers=headers, body=sent, check_address=check, mask=call.mask, way=way
            )
            if answer.status not in _REDIRECTS or answer.status in call.accept or "Location" not in answer.headers:
                return answer
            answer.close()
            first = first or answer
            target = redirect_target(answer)
            if answer.status == 303 or (answer.status in (301, 302) and method == "POST"):
                method, body = "GET", None
            if origin_of(target) != origin_of(url):
                check = address_check_for(first.address, partial(_too_far_in, url))
                way = sent_by(url)
            url = target
        raise FetchError(f"more than {MAX_REDIRECTS} redirects, the last to {shown_host(url)}", part="too-many-hops")


def _call(
    method: str,
    url: str,
    headers: Mapping[str, str] | None,
    credential: Credential | None,
    secret_headers: Mapping[str, Secret] | None,
) -> Call:
    """Return the call for what a plugin asks; its secrets are for the origin of ``url`` alone."""
    scheme = check_url(url.partition("?")[0]).scheme
    if scheme not in DEFAULT_PORTS:
        raise AddressError(f"{scheme} is not spoken here", hint="a session speaks http and https")
    secrets = {name: _revealed(name, secret) for name, secret in (secret_headers or {}).items()}
    _check_names(headers or {}, _NOT_A_PLUGINS | _SECRET)
    _check_names(secrets, _NOT_A_PLUGINS)
    if credential is not None:
        if "authorization" in map(str.lower, secrets):
            raise ValueError("credential= and secret_headers= both bring Authorization; give one of them")
        secrets["Authorization"] = authorization_of(credential)
    authorization = Authorization(
        origin=origin_of(url),
        headers=secrets,
        anonymous=not secrets,
        credential=None if credential is None else sent_credential(credential),
    )
    return Call(method=method, url=url, headers=headers or {}, authorization=authorization)


def _revealed(name: str, secret: object) -> str:
    if not isinstance(secret, Secret):
        raise TypeError(f"secret_headers[{name!r}] is {type(secret).__name__}, not Secret")
    value = secret.reveal()
    if not value.isascii() or not value.isprintable():
        # Not left to requests, whose error quotes the value.
        raise ValueError(f"secret_headers[{name!r}] has something besides printable ASCII characters in it")
    return value


def _check_names(headers: Mapping[str, str], refused: frozenset[str]) -> None:
    for name in sorted(headers):
        if name.lower() in refused:
            instead = "; credential= and secret_headers= are for one origin only" if name.lower() in _SECRET else ""
            raise ValueError(f"{name} is not a header for a plugin to set here{instead}")


def _rounded(seconds: float) -> str:
    """Round a time for people; exact digits could be those of a secret that the server was sent."""
    return f"{seconds:.0f} seconds" if seconds < 100 else f"about {max(2, round(seconds / 60)):,} minutes"


def _too_far_in(url: str, kind: str, address: str) -> UnsafeContentError:
    return UnsafeContentError(
        f"{shown_host(url)} redirects to the {kind} address {address}, which is further in than it is itself",
        part="elsewhere",
        hint="if it should lead there, write the address that it leads to",
    )


def redirect_target(answer: HttpAnswer) -> str:
    """Return the target of a redirect; only http and https, and from https never back to http."""
    return checked_target(answer, answer.headers["Location"])


def checked_target(answer: HttpAnswer, location: str) -> str:
    """Return ``location``, relative to the URL of the answer, as a URL that may be followed."""
    url = answer.url
    if len(location) > _LONGEST_LOCATION:
        raise UnsafeContentError(
            f"{shown_host(url)} redirects to an address of {len(location):,} characters", part="elsewhere"
        )
    shown = answer.shown(location)
    if not location.isprintable() or "\\" in location or " " in location:
        raise UnsafeContentError(f"{shown_host(url)} redirects to {shown!r}, which is no clean URL", part="elsewhere")
    try:
        written = urlsplit(location)
        target = urljoin(url, location).partition("#")[0]
        parts = urlsplit(target)
    except ValueError:
        # Its text quotes a part of the location, in which no secret would be known again.
        raise UnsafeContentError(
            f"{shown_host(url)} redirects to {shown!r}, which is no URL", part="elsewhere"
        ) from None
    if parts.scheme not in DEFAULT_PORTS:
        raise UnsafeContentError(
            f"{shown_host(url)} redirects to {shown!r}; only http and https are followed", part="elsewhere"
        )
    if not written.netloc and (written.scheme or location.startswith("//")):
        # Browsers take the next word for the host, and Python the present host.
        raise UnsafeContentError(f"{shown_host(url)} redirects to {shown!r}, which names no host", part="elsewhere")
    if parts.scheme == "http" and urlsplit(url).scheme == "https":
        raise UnsafeContentError(f"{shown_host(url)} redirects from https to http: {shown!r}", part="elsewhere")
    try:
        checked = check_url(f"{parts.scheme}://{parts.netloc}/")
    except AddressError as error:
        raise UnsafeContentError(
            f"{shown_host(url)} redirects to {shown!r}, which names no host and port that are possible",
            part="elsewhere",
            hint=error.hint,
        ) from None
    if checked.userinfo:
        raise UnsafeContentError(f"{shown_host(url)} redirects to an address with a user name in it", part="elsewhere")
    return target


# ---------------------------------------------------------------------------------- errors and retries


def failed(answer: HttpAnswer, *, sent: SentCredential | None = None, explain: str = "") -> FetchError:
    """Return the error for an answer with an unwanted status. ``explain`` is what its body says."""
    if answer.status in (401, 403):
        return refused(answer, sent=sent, explain=explain)
    status, where = answer.status, shown_host(answer.url)
    said = f"{where} answered {status}{f': {explain}' if explain else ''}"
    if status == 407:
        return AuthenticationError(said, hint="the proxy wants credentials").failing_at(where)
    if status in (404, 410):
        return NotFoundError(said, hint="is the address right? Some servers hide in this way what needs credentials")
    if status == 429:
        hint = "wait, or authenticate: most servers allow more to those they know"
        return RateLimitedError(said, hint=hint).failing_at(where)
    if status == 400 and answer.url.startswith("http://") and "https" in explain.lower():
        return NetworkError(
            said, hint="it speaks TLS there: write https, or leave out --plain-http HOST", retryable=False
        )
    retryable = status in TRANSIENT
    if status >= 500:
        hint = "the server has a problem; try again later"
        return NetworkError(said, hint=hint, retryable=retryable).failing_at(where)
    return NetworkError(said, retryable=retryable)  # about what was asked for, and not about the host


def retry_after(answer: HttpAnswer) -> float | None:
    """Return the seconds that ``Retry-After`` names; ``None`` where it is absent or makes no sense."""
    value = answer.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    moment = http_date(value)
    return None if moment is None else max(0.0, moment - time.time())


def http_date(text: str) -> float | None:
    """Return a date in seconds; ``None`` if it is not one. One of the three forms has no zone, and means UTC."""
    try:
        found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
