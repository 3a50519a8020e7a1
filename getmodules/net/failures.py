"""What requests, urllib3 and the operating system raise, in our words."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from typing import Any

import requests
import urllib3

from getmodules.errors import AuthenticationError, FetchError, NetworkError
from getmodules.net.watch import timeout
from getmodules.redact import printable, redact

#: How http.client words the refusal of a proxy to connect us: the only place where its status is.
_NO_TUNNEL = re.compile(r"Tunnel connection failed: (?P<status>\d{3})\b", re.ASCII)


#: What cannot be sent at all. Their texts quote what is wrong, which may be a token or a password of a proxy.
_UNSENDABLE = (
    requests.exceptions.InvalidHeader,
    requests.exceptions.InvalidURL,
    urllib3.exceptions.LocationValueError,
    UnicodeError,
)


def failure(error: BaseException) -> FetchError:
    if any(isinstance(each, _UNSENDABLE) for each in _chain(error)):
        return NetworkError(
            "the request cannot be sent: its address, a header or the proxy has something in it that is not possible",
            hint="look at the host's name, at the token or password, and at the variables that name a proxy",
        )
    said = printable(redact(_innermost(error)), 300)
    tunnel = next(filter(None, (_NO_TUNNEL.match(str(each)) for each in _chain(error))), None)
    if tunnel is not None:
        return _no_tunnel(tunnel["status"])
    if _caused_by_certificate(error):
        return NetworkError(
            f"the server's certificate cannot be trusted: {said}",
            part="certificate",
            hint="for a private authority: --ca-file FILE, or SSL_CERT_FILE",
        )
    timed_out = isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError))
    if timed_out or any(isinstance(each, TimeoutError) for each in _chain(error)):
        return timeout("the server said nothing for too long")
    whom, hint = "", "is the network there, and the host spelled right?"
    if any(isinstance(each, urllib3.exceptions.ProxyError) for each in _chain(error)):
        whom = " through a proxy"
        hint = "is the proxy right that https_proxy, http_proxy or all_proxy names?"
    elif any(isinstance(each, ssl.SSLError) for each in _chain(error)):
        hint = "does the server speak TLS at this port?"
    return NetworkError(f"the connection{whom} failed: {said}", hint=hint)


def _no_tunnel(status: str) -> FetchError:
    said = f"the proxy answered {status} when it was asked to connect"
    if status == "407":
        return AuthenticationError(said, hint="the proxy wants credentials: https_proxy=http://USER:PASSWORD@HOST:PORT")
    if status == "403":
        return AuthenticationError(said, part="forbidden", hint="the proxy does not let anybody go there")
    return NetworkError(said, hint="is the host spelled right, and does the proxy know it?")


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    pending: list[Any] = [error]
    while pending:
        current = pending.pop()
        if isinstance(current, BaseException) and current not in seen:
            seen.append(current)
            yield current
            pending += [*current.args, getattr(current, "reason", None), current.__cause__, current.__context__]


def _caused_by_certificate(error: BaseException) -> bool:
    return any(isinstance(each, ssl.SSLCertVerificationError) for each in _chain(error))


def _innermost(error: BaseException) -> str:
    """The operating system's or TLS's own words, below the layers of libraries."""
    for each in _chain(error):
        if isinstance(each, OSError) and each.strerror and not isinstance(each, requests.RequestException):
            return str(each.strerror)
    return str(error) or type(error).__name__
