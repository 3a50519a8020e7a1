"""What requests, urllib3 and the operating system raise, in our words."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import requests
import urllib3

from getmodules.errors import NetworkError
from getmodules.net.watch import timeout
from getmodules.redact import printable, redact


def failure(error: BaseException) -> NetworkError:
    said = printable(redact(_innermost(error)), 300)
    if _caused_by_certificate(error):
        return NetworkError(
            f"the server's certificate cannot be trusted: {said}",
            part="certificate",
            hint="for a private authority: --ca-file FILE, or SSL_CERT_FILE",
        )
    timed_out = isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError))
    if timed_out or any(isinstance(each, TimeoutError) for each in _chain(error)):
        return timeout("the server said nothing for too long")
    return NetworkError(f"the connection failed: {said}", hint="is the network there, and the host spelled right?")


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
