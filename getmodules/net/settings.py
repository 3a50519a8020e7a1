"""How hosts are reached: certificates, proxies, plain http. One frozen value for a client."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from urllib.parse import urlsplit

from getmodules.addresses.mirrors import Mirrors
from getmodules.api.ports import Origin
from getmodules.net.proxies import usable
from getmodules.util.redact import Secret
from getmodules.util.values import field, valueclass

DEFAULT_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})
#: The variables that name a file with certificate authorities, the first that is set wins. ``SSL_CERT_FILE``
#: comes first because every tool on a machine reads it; requests' own names are kept for its users.
CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


def _no_headers() -> Mapping[str, Mapping[str, Secret]]:
    return MappingProxyType({})


@valueclass
class NetSettings:
    """Hosts are written ``host`` or ``host:port``, in lower case; IPv6 in the shortest way, ``[::1]:5000``."""

    ca_file: str | None = None
    ca_files: Mapping[str, str] = field(default_factory=_nothing)
    #: A certificate and its key in one file, or ``CERTIFICATE,KEY``.
    client_certificates: Mapping[str, str] = field(default_factory=_nothing)
    #: Headers that requests to a host have besides; a host without a port means the port of the scheme.
    headers: Mapping[str, Mapping[str, Secret]] = field(default_factory=_no_headers, repr=False)
    plain_http: frozenset[str] = frozenset()
    #: By scheme, ``http`` and ``https``. There may be a password in them.
    proxies: Mapping[str, str] = field(default_factory=_nothing, repr=False)
    no_proxy: tuple[str, ...] = ()
    mirrors: Mirrors = field(default_factory=Mirrors)
    connect_seconds: float = 10.0
    #: How long a server may say nothing, and how long it may take for its headers.
    silence_seconds: float = 60.0
    #: A body must bring this many bytes in each window of this many seconds.
    rate_window_seconds: float = 30.0
    rate_window_bytes: int = 30 * 1024
    tries: int = 4
    #: The first pause before a retry; each next one is twice as long.
    backoff_seconds: float = 0.25
    longest_wait_seconds: float = 60.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> NetSettings:
        return cls(
            ca_file=next((environ[name] for name in CA_VARIABLES if environ.get(name)), None),
            proxies=_proxies(environ),
            no_proxy=_words(environ.get("no_proxy") or environ.get("NO_PROXY") or ""),
            mirrors=Mirrors.from_environment(environ),
        )

    def ca_for(self, host: str, port: int) -> str | None:
        return _of_host(self.ca_files, host, port) or self.ca_file

    def client_certificate_for(self, host: str, port: int) -> str | tuple[str, str] | None:
        found = _of_host(self.client_certificates, host, port)
        if found is None:
            return None
        certificate, comma, key = found.partition(",")
        return (certificate, key) if comma else certificate

    def headers_for(self, origin: Origin) -> Mapping[str, Secret]:
        with_port, name = _spellings(origin.host, origin.port)
        alone = self.headers.get(name, {}) if origin.port == DEFAULT_PORTS[origin.scheme] else {}
        return {**alone, **self.headers.get(with_port, {})}

    def allows_plain_http(self, host: str, port: int) -> bool:
        return not self.plain_http.isdisjoint(_spellings(host, port))

    def proxy_for(self, url: str) -> str | None:
        # Not before it is used: offline, a broken variable is nobody's business.
        proxy = self._proxy_for(url)
        return None if proxy is None else usable(proxy, urlsplit(url).scheme)

    def has_proxy_for(self, url: str) -> bool:
        """Also one that other programs can use, and we cannot (SOCKS)."""
        return self._proxy_for(url) is not None

    def _proxy_for(self, url: str) -> str | None:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
        return None if self._goes_direct(host, port) else self.proxies.get(parts.scheme)

    def _goes_direct(self, host: str, port: int) -> bool:
        return any(_matches(entry, host, port) for entry in self.no_proxy)


def _spellings(host: str, port: int) -> tuple[str, str]:
    """How a host may be written in settings, the more specific way first."""
    name = shortest(f"[{host}]") if ":" in host else host
    return f"{name}:{port}", name


def shortest(name: str) -> str:
    """A host, with or without a port; an IPv6 address, in its brackets, in the shortest of the ways to write it."""
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
