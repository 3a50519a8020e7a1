"""The network of a client: how hosts are reached (certificates, proxies, plain http), and its session.

The settings are one frozen value. The session is made when it is first needed.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from getmodules.addresses.mirrors import Mirrors
from getmodules.api.http import DEFAULT_PORTS
from getmodules.api.ports import Origin
from getmodules.errors import ConfigError
from getmodules.net.address_check import is_loopback
from getmodules.net.proxies import usable
from getmodules.util.redact import Secret, printable, quoted
from getmodules.util.values import field, replace, valueclass

if TYPE_CHECKING:
    from getmodules.net.session import Session


#: The variables that name a file with certificate authorities, the first that is set wins. ``SSL_CERT_FILE``
#: comes first because every tool on a machine reads it; requests' own names are kept for its users.
CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


TIMEOUT_VARIABLE = "GETMODULES_TIMEOUT"
RETRIES_VARIABLE = "GETMODULES_RETRIES"
#: Far more than anybody waits for, and less than operating systems take for a time.
_MOST_SECONDS = 1_000_000
_MOST_RETRIES = 1_000
_SECONDS = re.compile(r"\d{1,7}(?:\.\d{0,9})?|\.\d{1,9}", re.ASCII)
_COUNT = re.compile(r"\d{1,4}", re.ASCII)


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


def _no_headers() -> Mapping[str, Mapping[str, Secret]]:
    return MappingProxyType({})


class _LeftOutSeconds(float):
    """A default that is the environment's to change; a number that somebody gave is not of this class."""


class _LeftOutCount(int):
    """The same of a whole number."""


@valueclass
class NetSettings:
    """The settings. Hosts are ``host`` or ``host:port``, in lower case; IPv6 in its shortest form, ``[::1]:5000``."""

    ca_file: str | None = None
    ca_files: Mapping[str, str] = field(default_factory=_nothing)
    #: A certificate and its key in one file, or ``CERTIFICATE,KEY``.
    client_certificates: Mapping[str, str] = field(default_factory=_nothing)
    #: Headers that requests to a host have besides; a host without a port means the port of the scheme.
    headers: Mapping[str, Mapping[str, Secret]] = field(default_factory=_no_headers, repr=False)
    plain_http: frozenset[str] = frozenset()
    #: Besides loopback the only hosts that get credentials without TLS, for addresses that are somebody else's text;
    #: ``None``: every host that an address of the user's own, or ``plain_http``, leads to.
    credentials_in_clear: frozenset[str] | None = None
    #: By scheme, ``http`` and ``https``. There may be a password in them.
    proxies: Mapping[str, str] = field(default_factory=_nothing, repr=False)
    no_proxy: tuple[str, ...] = ()
    mirrors: Mirrors = field(default_factory=Mirrors)
    #: How many seconds a server may send nothing, and how many it may take for its headers. Left out, it is what
    #: ``GETMODULES_TIMEOUT`` says in the client's environment.
    timeout: float = field(default=_LeftOutSeconds(30.0))
    #: How often a failed request is sent again; 0 is once only. Left out, it is what ``GETMODULES_RETRIES`` says.
    retries: int = field(default=_LeftOutCount(3))
    #: How many seconds connecting takes at most: the name, the connection and TLS; less where ``timeout`` is less.
    connect_seconds: float = 10.0
    #: A body must bring this many bytes in each window of this many seconds. Where ``timeout`` is longer, so is the
    #: window, at the same rate.
    rate_window_seconds: float = 30.0
    rate_window_bytes: int = 30 * 1024
    #: The first pause before a retry; each next one is twice as long, up to the longest.
    backoff_seconds: float = 0.25
    longest_backoff_seconds: float = 10.0
    #: A server that asks for a longer pause (``Retry-After``) is not waited for.
    longest_wait_seconds: float = 60.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> NetSettings:
        """Return the settings of the environment alone: certificates, proxies, mirrors, timeout and retries."""
        return cls(
            ca_file=next((environ[name] for name in CA_VARIABLES if environ.get(name)), None),
            proxies=_proxies(environ),
            no_proxy=_words(environ.get("no_proxy") or environ.get("NO_PROXY") or ""),
            mirrors=Mirrors.from_environment(environ),
        ).completed(environ)

    def completed(self, environ: Mapping[str, str]) -> NetSettings:
        """Return these settings, checked; ``environ`` has a say in the timeout and the retries that were left out."""
        timeout, retries = self.timeout, self.retries
        if isinstance(timeout, _LeftOutSeconds) and (text := environ.get(TIMEOUT_VARIABLE)):
            timeout = timeout_from(text, TIMEOUT_VARIABLE)
        if isinstance(retries, _LeftOutCount) and (text := environ.get(RETRIES_VARIABLE)):
            retries = retries_from(text, RETRIES_VARIABLE)
        if not _is_timeout(timeout):
            raise _no_timeout("timeout", repr(timeout))
        if not _is_retries(retries):
            raise _no_retries("retries", repr(retries))
        return replace(self, timeout=timeout, retries=retries)

    @property
    def connecting(self) -> float:
        """The seconds that connecting may take."""
        return min(self.connect_seconds, self.timeout)

    @property
    def rate_window(self) -> tuple[float, float]:
        """The seconds of the window in which a body's rate is judged, and the bytes that it must bring."""
        seconds = max(self.rate_window_seconds, self.timeout)
        return seconds, self.rate_window_bytes * seconds / self.rate_window_seconds

    def ca_for(self, host: str, port: int) -> str | None:
        """Return the file with certificate authorities for a host; ``None`` for those of the system."""
        return _of_host(self.ca_files, host, port) or self.ca_file

    def client_certificate_for(self, host: str, port: int) -> str | tuple[str, str] | None:
        """Return the file with our certificate and key for a host, or one file for each."""
        found = _of_host(self.client_certificates, host, port)
        if found is None:
            return None
        certificate, comma, key = found.partition(",")
        return (certificate, key) if comma else certificate

    def headers_for(self, origin: Origin) -> Mapping[str, Secret]:
        """Return the additional headers of requests to ``origin``."""
        with_port, name = _spellings(origin.host, origin.port)
        alone = self.headers.get(name, {}) if origin.port == DEFAULT_PORTS[origin.scheme] else {}
        return {**alone, **self.headers.get(with_port, {})}

    def allows_plain_http(self, host: str, port: int) -> bool:
        """Return whether a host is asked without TLS."""
        return not self.plain_http.isdisjoint(_spellings(host, port))

    def allows_credentials(self, origin: Origin, asked_by: Origin | None = None) -> bool:
        """Return whether credentials may be sent to ``origin``; a token service is ``asked_by`` its registry."""
        if origin.scheme != "http" or self.credentials_in_clear is None:
            return True
        # By way of a proxy it is the proxy's loopback, and others read what goes there.
        if is_loopback(origin.host) and self._proxy_for(f"http://{_spellings(origin.host, origin.port)[0]}") is None:
            return True
        places = (origin,) if asked_by is None else (origin, asked_by)
        return any(not self.credentials_in_clear.isdisjoint(_spellings(each.host, each.port)) for each in places)

    def proxy_for(self, url: str) -> str | None:
        """Return the proxy for ``url``; ``None`` where it is asked directly."""
        # Checked only when it is used: offline, a broken variable does not matter.
        proxy = self._proxy_for(url)
        return None if proxy is None else usable(proxy, urlsplit(url).scheme)

    def has_proxy_for(self, url: str) -> bool:
        """Return whether there is a proxy, also one that only other programs can use (SOCKS)."""
        return self._proxy_for(url) is not None

    def _proxy_for(self, url: str) -> str | None:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
        return None if self._goes_direct(host, port) else self.proxies.get(parts.scheme)

    def _goes_direct(self, host: str, port: int) -> bool:
        return any(_matches(entry, host, port) for entry in self.no_proxy)


def _spellings(host: str, port: int) -> tuple[str, str]:
    """Return the spellings of a host in settings, the more specific one first."""
    name = shortest(f"[{host.strip('[]')}]") if ":" in host else host
    return f"{name}:{port}", name


def shortest(name: str) -> str:
    """Return a host, with or without a port; an IPv6 address, in its brackets, in its shortest form."""
    if not name.startswith("["):
        return name
    address, _, port = name[1:].partition("]")
    return f"[{ipaddress.IPv6Address(address)}]{port}"


def _of_host(table: Mapping[str, str], host: str, port: int) -> str | None:
    return next((table[name] for name in _spellings(host, port) if name in table), None)


def _proxies(environ: Mapping[str, str]) -> Mapping[str, str]:
    found = {}
    for scheme in ("http", "https"):
        names = [f"{scheme}_proxy", "all_proxy", "ALL_PROXY"]
        # A CGI script gets the header `Proxy:` of anybody's request as HTTP_PROXY.
        if scheme == "https" or "REQUEST_METHOD" not in environ:
            names.insert(1, f"{scheme.upper()}_PROXY")
        value = next((environ[name] for name in names if environ.get(name)), "").strip()
        if value:
            found[scheme] = value if "://" in value else f"http://{value}"
    return MappingProxyType(found)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in text.replace(",", " ").split())


def _matches(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    if entry.startswith("["):
        with suppress(ValueError):
            return shortest(entry) in _spellings(host, port)
        return False
    if entry.endswith(f":{port}") and entry.count(":") == 1:
        entry = entry.removesuffix(f":{port}")
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        name = entry.lstrip("*").lstrip(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))


# ------------------------------------------------------------------------------------------- timeout and retries


def timeout_from(text: str, where: str) -> float:
    """Return the timeout that is written ``where``: in an option or a variable, which the error names."""
    if not _SECONDS.fullmatch(text) or not _is_timeout(float(text)):
        raise _no_timeout(where, quoted(text))
    return float(text)


def retries_from(text: str, where: str) -> int:
    """Return the number of retries that is written ``where``."""
    if not _COUNT.fullmatch(text) or not _is_retries(int(text)):
        raise _no_retries(where, quoted(text))
    return int(text)


def _is_timeout(value: Any) -> bool:
    # A bool is an int to Python.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST_SECONDS


def _is_retries(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_RETRIES


def _no_timeout(where: str, shown: str) -> ConfigError:
    return ConfigError(
        f"{where} {printable(shown, 100)} is not a number of seconds above 0, up to {_MOST_SECONDS:,}",
        hint="as in 30 or 2.5",
    )


def _no_retries(where: str, shown: str) -> ConfigError:
    return ConfigError(
        f"{where} {printable(shown, 100)} is not a whole number from 0 to {_MOST_RETRIES:,}",
        hint="0 sends each request once only",
    )


class ClientNetwork:
    """A :class:`getmodules.api.ports.Network` that imports requests late, since that takes long."""

    def __init__(self, settings: NetSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._close: Callable[[], None]

    def session(self) -> Session:
        with self._lock:
            if self._session is None:
                from getmodules.net.session import Session
                from getmodules.net.wire import Wire

                wire = Wire(self.settings)
                self._session = Session(wire)
                self._close = wire.close
                # Connections are not left to the garbage collector, even if the client is never closed.
                weakref.finalize(self, wire.close)
            return self._session

    def close(self) -> None:
        """End all connections. The next request makes new ones."""
        with self._lock:
            if self._session is not None:
                self._close()


# ----------------------------------------------------------------------------- files with certificates


def unusable_file(settings: NetSettings, host: str, port: int) -> ConfigError | None:
    """Return the error for unusable certificate files for ``host``, or ``None``; called after a connection failed.

    The libraries report a missing or broken file like a broken network, and would try it again.
    """
    authorities = settings.ca_for(host, port)
    certificate = settings.client_certificate_for(host, port)
    # A context as a client's, whose own authorities are never read.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    hint = f"certificates are read in PEM; the file is that of --ca-file FILE, or of {', '.join(CA_VARIABLES)}"
    try:
        if authorities is not None:
            shown = authorities
            _load_authorities(context, authorities)
        if certificate is not None:
            hint = "certificates are read in PEM; a client's needs its key beside it, without a password"
            path, key = (certificate, None) if isinstance(certificate, str) else certificate
            shown = path if key is None else f"{path},{key}"
            # Never the prompt of OpenSSL for the password of a key.
            context.load_cert_chain(path, key, password=lambda: "")
    except OSError as error:
        return ConfigError(
            f"{printable(shown, 500)!r} is no usable file of certificates: {printable(error.strerror or str(error))}",
            hint=hint,
        )
    return None


def _load_authorities(context: ssl.SSLContext, path: str) -> None:
    if os.path.isdir(path):
        context.load_verify_locations(capath=path)
    else:
        context.load_verify_locations(cafile=path)
