"""Turn errors of requests, urllib3 and the operating system into errors of getmodules."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from http.client import BadStatusLine, IncompleteRead, RemoteDisconnected, UnknownProtocol
from typing import Any

import requests
import urllib3

from getmodules.errors import AuthenticationError, FetchError, NetworkError
from getmodules.net.watch import OPTION_HINT, timeout
from getmodules.util.redact import printable, redact

#: The text of http.client for a proxy that refuses to connect: the only place with its status.
_NO_TUNNEL = re.compile(r"Tunnel connection failed: (?P<status>\d{3})\b", re.ASCII)
#: The numbers of OpenSSL for failed checks of a certificate.
_EXPIRED = 10
_FOR_ANOTHER_HOST = (62, 64)
_NOT_AMONG_THE_TRUSTED = (2, 18, 19, 20, 21)
#: The alerts of a server that got no client certificate, or not the right one.
_REFUSES_US = re.compile(r"ALERT_(?:.*CERTIFICATE|UNKNOWN_CA)")
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
_LATE = "nothing came in time"
_PROXY_HINT = "is the proxy right that https_proxy, http_proxy or all_proxy names?"
#: Errors for a body that is cut off.
_ENDS = (IncompleteRead, ConnectionError)
TRY_AGAIN = "try again: the server, or something on the way, broke it off"

#: Errors for requests that cannot be sent. Their texts quote what is wrong, maybe a token or a proxy's password.
_UNSENDABLE = (
    requests.exceptions.InvalidHeader,
    requests.exceptions.InvalidURL,
    urllib3.exceptions.LocationValueError,
    UnicodeError,
)


def failure(
    error: BaseException, mask: Callable[[str], str] = str, late: str = _LATE, authorities: str | None = None
) -> FetchError:
    """Return the error for a request that failed. ``mask`` is for the server's words, which may be our own secrets.

    ``late`` says what did not come in time, where that is the failure. ``authorities`` is the file with those that were
    trusted, if it was not the system's own.
    """
    chain = tuple(_chain(error))
    unknown = next((each for each in chain if isinstance(each, socket.gaierror)), None)
    by_proxy = any(isinstance(each, urllib3.exceptions.ProxyError) for each in chain)
    if unknown is not None:
        return _unknown_host(unknown, by_proxy)
    if any(isinstance(each, _UNSENDABLE) for each in chain):
        return NetworkError(
            "the request cannot be sent: its address, a header or the proxy has something in it that is not possible",
            hint="look at the host's name, at the token or password, and at the variables that name a proxy",
            retryable=False,
        )
    tunnel = next(filter(None, (_NO_TUNNEL.match(str(each)) for each in chain)), None)
    if tunnel is not None:
        return _no_tunnel(tunnel["status"])
    for each in chain:
        if isinstance(each, ssl.SSLCertVerificationError):
            return _untrusted(each, "the proxy" if by_proxy else "the server", authorities)
    timed_out = isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError))
    if timed_out or any(isinstance(each, TimeoutError) for each in chain):
        return timeout(late, OPTION_HINT)
    return _not_http(chain) or _failed(chain, _lower(printable(redact(mask(_innermost(error))), 300)), by_proxy)


def broken_body(error: BaseException, mask: Callable[[str], str] = str, late: str = _LATE) -> FetchError:
    """Return the error for a body that failed: the address and the network were right a moment ago."""
    if any(isinstance(each, _ENDS) or _is_end_of_tls(each) for each in _chain(error)):
        return NetworkError("the connection ended in the middle of the body", hint=TRY_AGAIN)
    return failure(error, mask, late)


def _untrusted(error: ssl.SSLCertVerificationError, whose: str, authorities: str | None) -> NetworkError:
    # Only the reason: OpenSSL wraps it into what was said already, and the line of a file of its own.
    said = printable(redact(getattr(error, "verify_message", "") or _innermost(error)), 300).rstrip(".")
    code = getattr(error, "verify_code", None)
    what = f"{whose}'s certificate cannot be trusted: {said}"
    hint = "for a private authority: --ca-file FILE, or SSL_CERT_FILE"
    if authorities is not None and code in _NOT_AMONG_THE_TRUSTED:
        hint = (
            f"whoever signed it is not in {printable(authorities, 500)}: name another authority with --ca-file FILE, "
            "or SSL_CERT_FILE"
        )
    if code == _EXPIRED:
        what = f"{whose}'s certificate has expired"
        hint = "its owner must renew it, unless this machine's clock is wrong"
    elif code in _FOR_ANOTHER_HOST:
        what = f"{whose}'s certificate is for another host: {said}"
        hint = "is the address right, or is somebody in between?"
    return NetworkError(what, part="certificate", hint=hint)


def _not_http(chain: tuple[BaseException, ...]) -> NetworkError | None:
    """Return the error for an answer that is not HTTP, without its text, which may be anything."""
    odd = any(isinstance(each, (BadStatusLine, UnknownProtocol)) for each in chain)
    if not odd or any(isinstance(each, RemoteDisconnected) for each in chain):
        return None
    return NetworkError(
        "what answers there does not answer as a web server does",
        hint="is the port right, and http or https?",
        retryable=False,
    )


def _failed(chain: tuple[BaseException, ...], said: str, by_proxy: bool) -> NetworkError:
    tls = next((each for each in chain if isinstance(each, ssl.SSLError)), None)
    reason = getattr(tls, "reason", None) or ""
    # An end in the middle of the handshake may be a server that is just being started again; all else of TLS is how the
    # two sides are set up.
    retryable = tls is None or _is_end_of_tls(tls)
    if by_proxy:
        return NetworkError(said, hint=_PROXY_HINT, retryable=retryable)
    if _REFUSES_US.search(reason):
        return NetworkError(
            f"the server wants a client's certificate that it accepts: {said}",
            part="certificate",
            hint="name it with --client-cert HOST=FILE",
        )
    if "HANDSHAKE_FAILURE" in reason or (tls is not None and _is_end_of_tls(tls)):
        # A server that wants a certificate may say so, or just close, as it does for other reasons too.
        hint = "does the server speak TLS at this port, or want a client's certificate (--client-cert HOST=FILE)?"
    elif tls is not None:
        hint = "does the server speak TLS at this port?"
    elif any(isinstance(each, ConnectionRefusedError) for each in chain):
        hint = "is the server running, and are host and port right?"
    else:
        hint = "is the network there, and the host spelled right?"
    return NetworkError(said, hint=hint, retryable=retryable)


def _is_end_of_tls(error: BaseException) -> bool:
    """Return whether the connection just ended. Some releases of Python have no class of its own for that."""
    return isinstance(error, ssl.SSLEOFError) or getattr(error, "reason", None) == "UNEXPECTED_EOF_WHILE_READING"


def _unknown_host(error: socket.gaierror, by_proxy: bool) -> NetworkError:
    """Return the error for a name without an address. Only a name server that does not know it is the last word."""
    known_not = error.errno in _NO_SUCH_NAME
    said = "name or service not known" if known_not else _lower(printable(error.strerror or str(error), 300))
    hint = _PROXY_HINT if by_proxy else "is the network there, and the host spelled right?"
    return NetworkError(said, hint=hint, retryable=not known_not)


def _no_tunnel(status: str) -> FetchError:
    said = f"the proxy answered {status} when it was asked to connect"
    if status == "407":
        return AuthenticationError(said, hint="the proxy wants credentials: https_proxy=http://USER:PASSWORD@HOST:PORT")
    if status == "403":
        return AuthenticationError(said, part="forbidden", hint="the proxy does not let anybody go there")
    return NetworkError(
        said, hint="is the host spelled right, and does the proxy know it?", retryable=status.startswith("5")
    )


def _lower(text: str) -> str:
    """Return the words of an operating system as the end of a sentence."""
    return text[:1].lower() + text[1:] if text.partition(" ")[0][1:].islower() else text


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    pending: list[Any] = [error]
    while pending:
        current = pending.pop()
        if isinstance(current, BaseException) and current not in seen:
            seen.append(current)
            yield current
            pending += [*current.args, getattr(current, "reason", None), current.__cause__, current.__context__]


def _innermost(error: BaseException) -> str:
    """Return the text of the operating system or of TLS, below the layers of libraries."""
    for each in _chain(error):
        if isinstance(each, OSError) and each.strerror and not isinstance(each, requests.RequestException):
            return str(each.strerror)
        if isinstance(each, RemoteDisconnected):
            return "it was closed before an answer came"
    return str(error) or type(error).__name__
