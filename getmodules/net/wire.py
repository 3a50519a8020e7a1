"""Exchange one request for one answer: no redirects, no retries, no credentials; everything bounded and checked.

requests sends; what it would do by itself (netrc, cookies, environment, decoding) is left out. An answer that two
programs could take for different ones (two lengths, a content encoding) is refused here.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3

from getmodules.api.http import AddressCheck, Mask, SizedBody
from getmodules.api.limits import MIB
from getmodules.api.ports import Context
from getmodules.errors import ConfigError, FetchError, LimitExceededError, NetworkError
from getmodules.net.address_check import check_written_address
from getmodules.net.connections import Adapter
from getmodules.net.failures import TRY_AGAIN, broken_body, failure
from getmodules.net.proxies import secrets_of
from getmodules.net.route import route_to
from getmodules.net.settings import NetSettings
from getmodules.net.watch import NOTE_SECONDS, Guardian, Watch
from getmodules.util.redact import masked, printable, redact
from getmodules.version import VERSION

#: Small enough that the slowest line that is allowed takes one of them in each window.
_SENT_AT_ONCE = 16 << 10


class WatchedBody:
    """A body for requests to send: as many bytes as were announced, watched like those that are received."""

    def __init__(self, body: SizedBody, watch: Watch) -> None:
        self._body = body
        self._watch = watch

    def __len__(self) -> int:
        return self._body.size

    def __iter__(self) -> Iterator[bytes]:
        left = self._body.size
        for piece in self._body.pieces:
            left -= len(piece)
            if left < 0:
                break  # what is too much, a server would take for the next request
            view = memoryview(piece)
            for start in range(0, len(view), _SENT_AT_ONCE):
                part = bytes(view[start : start + _SENT_AT_ONCE])
                self._watch.reading()
                yield part
                # Asked for more: so the last part was taken.
                self._watch.received(len(part))
                self._watch.away()
        if left:
            raise FetchError("what is being sent changed in the meantime", part="changed", hint="try again")
        self._watch.sent()


_log = logging.getLogger("getmodules")

USER_AGENT = f"getmodules/{VERSION}"
PIECE_BYTES = MIB
#: Error bodies, token answers: what is read for people or as one value.
SMALL_BODY_BYTES = MIB

#: More digits than those of any length that there is are not read as a number: that takes Python ever longer.
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)


class WireAnswer:
    """The answer of a server. Close it, or read it to the end."""

    def __init__(
        self,
        response: requests.Response,
        watch: Watch,
        guardian: Guardian,
        address: str | None = None,
        mask: Mask = str,
        mask_all: Mask | None = None,
    ) -> None:
        self._response = response
        #: Masks the secrets that were sent to this server.
        self.mask = mask
        #: Masks those of a proxy as well, which may send them back, too.
        self._mask_all = mask_all or mask
        #: The server's own address; ``None`` behind a proxy.
        self.address = address
        self._watch = watch
        self._guardian = guardian
        self._body: bytes | None = None
        self.status: int = response.status_code
        self.url: str = response.url
        self.headers: Mapping[str, str] = response.headers
        self.length = self._check_framing()
        self._check_encoding()

    def every(self, name: str) -> list[str]:
        """Return the values of all headers of one name, each for itself."""
        return list(self._response.raw.headers.getlist(name))

    def shown(self, text: str, limit: int = 200) -> str:
        """Return text of the server for people: it may send our own secrets back to us."""
        return printable(redact(self._mask_all(text)), limit)

    def _check_framing(self) -> int | None:
        """Return the announced length; ``None`` where the body itself shows its end."""
        response = self._response
        lengths, encodings = self.every("Content-Length"), self.every("Transfer-Encoding")
        if len(lengths) > 1 or (lengths and encodings):
            raise NetworkError(
                "the answer announces its length twice",
                hint="the server or a proxy on the way is at fault",
                retryable=False,
            )
        if encodings and (len(encodings) > 1 or encodings[0].lower() != "chunked"):
            raise NetworkError(
                f"the body is transferred as {self.shown(', '.join(encodings))!r}, which nobody asked for",
                retryable=False,
            )
        if lengths and not _LENGTH.fullmatch(lengths[0]):
            raise NetworkError(f"the answer announces the length {self.shown(lengths[0])!r}", retryable=False)
        if response.request.method == "HEAD" or response.status_code in (204, 304):
            return 0
        return int(lengths[0]) if lengths else None

    def _check_encoding(self) -> None:
        encoding = self.headers.get("Content-Encoding", "identity").strip()
        if encoding.lower() not in ("", "identity"):
            raise NetworkError(
                f"the server sent the body as {self.shown(encoding)}, which was not asked for",
                hint="its digest would be of other bytes; the server or a proxy on the way is at fault",
                retryable=False,
            )

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it is received; shorter or longer than announced is an error."""
        received = 0
        try:
            self._watch.reading()
            while self.length != 0 and (piece := self._read()):
                received += len(piece)
                self._watch.received(len(piece))
                self._watch.away()
                yield piece
                self._watch.reading()
            # Shutting a socket down looks like its end: a body without a length would seem complete.
            if self._watch.ended is not None:
                raise self._watch.ended
            if self.length is not None and received != self.length:
                said = f"the connection ended after {received:,} of {self.length:,} bytes"
                raise self._watch.located(NetworkError(said, hint=TRY_AGAIN))
        finally:
            self.close()

    def _read(self) -> bytes:
        try:
            return bytes(self._response.raw.read1(PIECE_BYTES))
        except NetworkError as error:  # of the framing
            raise self._watch.located(error)  # noqa: B904 -- the same error, which says where it happened
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            made = broken_body(error, self._mask_all, self._watch.late)
            raise self._watch.ended or self._watch.located(made) from error

    __iter__ = pieces

    def read(self, limit: int = SMALL_BODY_BYTES) -> bytes:
        """Return a body that must be small; read once, and remembered."""
        if self._body is None:
            self._body = self._read_all(limit)
        return self._body

    def _read_all(self, limit: int) -> bytes:
        body = bytearray()
        for piece in self.pieces():
            body += piece
            if len(body) > limit:
                self.close()
                raise LimitExceededError(
                    f"an answer of more than {limit:,} bytes from {shown_host(self.url)}",
                    part="metadata",
                    hint="this bound is fixed",
                )
        return bytes(body)

    def read_some(self, limit: int) -> bytes:
        """Return the beginning of a body, for people, or what came before an error."""
        body = bytearray()
        with suppress(FetchError):
            for piece in self.pieces():
                body += piece
                if len(body) >= limit:
                    break
        self.close()
        return bytes(body[:limit])

    def close(self) -> None:
        self._watch.detach()
        self._guardian.remove(self._watch)
        if self.length == 0 and "Transfer-Encoding" not in self.headers:
            # Nothing is to come: as it was read to its end, the connection can serve the next request. Where chunks are
            # announced for what has no body (a 204, a 304), the library would read them, unwatched.
            self._response.raw.drain_conn()
        self._response.close()


def shown_place(url: str) -> str:
    """Return host and path: the query of a signed URL is a credential."""
    return f"{shown_host(url)}{printable(urlsplit(url).path, 500)}"


class Wire:
    """The connections of one client, for any number of threads."""

    def __init__(self, settings: NetSettings, *, note_seconds: float = NOTE_SECONDS) -> None:
        self.settings = settings
        self._note_seconds = note_seconds
        self._guardian = Guardian()
        self._local = threading.local()
        # Not a requests.Session: it keeps cookies, reads netrc, and looks at redirects even if they are turned off.
        self._adapter = Adapter(self._local)

    def exchange(
        self,
        method: str,
        url: str,
        context: Context,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | SizedBody | None = None,
        check_address: AddressCheck | None = None,
        mask: Mask = str,
        way: str = "",
    ) -> WireAnswer:
        """Send one request and take the headers of its answer. Raises ``NetworkError`` where none comes.

        ``way`` says in messages how we came to the host: ``where registry.example sent us``.
        """
        context.checkpoint()
        proxy = self.settings.proxy_for(url)
        is_direct = proxy is None
        mask_all = mask if proxy is None else _with_secrets(mask, secrets_of(proxy))
        if check_address is not None and not is_direct:
            check_written_address(_place(url)[1], check_address)
            check_address = None
        watch = Watch(context, self.settings, route_to(url, proxy, way, mask_all), note_seconds=self._note_seconds)
        self._local.watch, self._local.check_address = watch, check_address
        self._local.address = None  # where no connection says it: a test's ``responses`` makes none
        self._guardian.add(watch)
        try:
            sent = body if body is None or isinstance(body, bytes) else WatchedBody(body, watch)
            response = self._send(method, url, context, headers or {}, sent)
            _log.debug(
                "%s %s: %d %s",
                method,
                shown_place(mask_all(url)),
                response.status_code,
                printable(redact(mask_all(response.reason or ""))),
            )
            try:
                if watch.ended is not None:
                    raise watch.ended
                watch.answered()
                address = self._local.address if is_direct else None
                return WireAnswer(response, watch, self._guardian, address, mask, mask_all)
            except BaseException:
                response.close()
                raise
        except BaseException as error:
            self._guardian.remove(watch)
            watch.detach()
            if watch.ended is not None and not isinstance(error, KeyboardInterrupt):
                raise watch.ended from None
            if isinstance(error, (requests.RequestException, urllib3.exceptions.HTTPError, OSError, UnicodeError)):
                # Not ``from error``: what the libraries say has the whole URL in it, signatures and all.
                made = failure(error, mask_all, watch.late, self._authorities(url))
                raise self._unusable_file(url) or watch.located(made) from None
            if isinstance(error, NetworkError):
                watch.located(error)
            raise
        finally:
            self._local.watch = self._local.check_address = None

    def _unusable_file(self, url: str) -> ConfigError | None:
        from getmodules.net.settings import unusable_file

        scheme, host, port = self._certified(url)
        return unusable_file(self.settings, host, port) if scheme == "https" else None

    def _authorities(self, url: str) -> str | None:
        """Return the file with the authorities that are trusted for ``url``; ``None`` for the system's."""
        _, host, port = self._certified(url)
        return self.settings.ca_for(host, port)

    def _certified(self, url: str) -> tuple[str, str, int]:
        """Return the party whose certificate is checked: for plain http, that is a proxy."""
        place = _place(url)
        proxy = self.settings.proxy_for(url) if place[0] == "http" else None
        return _place(proxy) if proxy else place

    def _send(
        self, method: str, url: str, context: Context, headers: Mapping[str, str], body: Any
    ) -> requests.Response:
        scheme = urlsplit(url).scheme
        _, host, port = self._certified(url)
        sent = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity", **headers}
        request = _prepared(method, url, sent, body)
        proxy = self.settings.proxy_for(url)
        remaining = context.deadline.remaining()
        return self._adapter.send(
            request,
            stream=True,
            timeout=(
                min(self.settings.connecting, remaining or 0.001),
                min(self.settings.timeout, remaining or 0.001),
            ),
            verify=self._authorities(url) or True,
            cert=self.settings.client_certificate_for(host, port) if scheme == "https" else None,
            proxies={scheme: proxy} if proxy else {},
        )

    def close(self) -> None:
        self._adapter.close()


def _with_secrets(mask: Mask, secrets: tuple[str, ...]) -> Mask:
    return lambda text: masked(mask(text), secrets)


def _prepared(method: str, url: str, headers: Mapping[str, str], body: Any) -> requests.PreparedRequest:
    """Prepare without ``Request.prepare``, which adds cookies, and credentials from the URL and from ~/.netrc."""
    request = requests.PreparedRequest()
    request.prepare_method(method)
    request.prepare_url(url, None)
    request.prepare_headers(headers)
    request.prepare_body(body, None)
    return request


def _place(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}[parts.scheme]


def shown_host(url: str) -> str:
    return printable(urlsplit(url).netloc.rpartition("@")[2])
