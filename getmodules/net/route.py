"""The route of one exchange: the server, the proxy before it, who sent us there, and the step that is under way.

A connection error must name the host that was really connected to: after a redirect, at a mirror or behind a proxy that
is another one than the address has.
"""

from __future__ import annotations

from enum import Enum
from urllib.parse import urlsplit

from getmodules.api.http import DEFAULT_PORTS, Mask, origin_of
from getmodules.api.ports import Origin
from getmodules.util.redact import printable
from getmodules.util.values import valueclass


class Step(Enum):
    """The steps of an exchange, as messages name them."""

    CONNECT = "connecting to"
    HANDSHAKE = "TLS handshake with"
    SEND = "sending the request to"
    WAIT = "waiting for the answer of"
    RECEIVE = "receiving from"


@valueclass
class Route:
    """The way of an exchange."""

    #: ``host:port``, as those below.
    server: str
    proxy: str | None = None
    #: How we came to the server: ``where registry.example sent us``; empty if somebody typed it.
    way: str = ""

    def reached(self, *, to_proxy: bool) -> str:
        """Return the ``host:port`` that is, or is to be, connected to."""
        return self.proxy if to_proxy and self.proxy is not None else self.server

    def at(self, step: Step, *, to_proxy: bool = False) -> str:
        """Return the place of a step: ``connecting to cdn.example:443, where registry.example sent us``.

        ``to_proxy``: it is the proxy that is connected to, and not yet the server behind it.
        """
        server = f"{self.server}, {self.way}" if self.way else self.server
        if self.proxy is None:
            return f"{step.value} {server}"
        if to_proxy:
            return f"{step.value} {self.proxy}, the proxy for {server}"
        return f"{step.value} {server}{',' if self.way else ''} through the proxy {self.proxy}"


def route_to(url: str, proxy: str | None, way: str = "", mask: Mask = str) -> Route:
    """Return the route to a URL. ``mask`` hides secrets: a server may send us on to a host with the name of one."""
    return Route(server=mask(place_of(url)), proxy=proxy and place_of(proxy), way=mask(way))


def place_of(url: str) -> str:
    """Return ``host:port`` of a URL for http or https, without its user."""
    origin = origin_of(url)
    return host_and_port(origin.host, origin.port)


def host_and_port(host: str, port: int) -> str:
    return printable(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def sent_by(url: str) -> str:
    """Return the words for the server of ``url``, of any scheme, having sent us on."""
    return f"where {printable(urlsplit(url).netloc.rpartition('@')[2])} sent us"


def sent_by_origin(origin: Origin) -> str:
    """Return the same for the server at ``origin``."""
    is_usual = origin.port == DEFAULT_PORTS[origin.scheme] and ":" not in origin.host
    return f"where {printable(origin.host) if is_usual else host_and_port(origin.host, origin.port)} sent us"
