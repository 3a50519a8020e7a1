"""Where a registry may send us for a token.

A realm gets the registry's credentials, and Docker Hub shows that it may lie on another host. So a registry
names whom we trust; what it must not do is aim us, or our credentials, at somebody's inner network.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from getmodules.address import check_url
from getmodules.errors import AddressError, AuthenticationError
from getmodules.net.session import origin_of
from getmodules.net.wire import AddressCheck
from getmodules.ports import Origin
from getmodules.redact import printable, redact


def check_realm(realm: str, registry: Origin) -> AddressCheck | None:
    """Refuse a realm that may not be asked; else the check of the address that it means, where it needs one."""
    shown = printable(redact(realm))
    parts = urlsplit(realm)
    try:
        url = check_url(realm.partition("?")[0])
    except AddressError as error:
        raise AuthenticationError(f"the registry names a realm that cannot be used, {shown!r}: {error.message}") from None
    if url.scheme not in ("http", "https") or not url.host or parts.fragment:
        raise AuthenticationError(f"the registry names a realm that is no web address: {shown!r}")
    if url.userinfo:
        raise AuthenticationError(f"the registry names a realm with a user name in it: {shown!r}")
    origin = origin_of(realm)
    if origin == registry:
        return None
    if registry.scheme == "https" and origin.scheme != "https":
        raise AuthenticationError(f"the registry speaks https, and its realm does not: {shown!r}")
    allowed = {"public", *_classes_of(registry)}

    def check_address(address: str) -> None:
        kind = address_class(address)
        if kind not in allowed:
            raise AuthenticationError(
                f"the registry names the realm {shown!r}, which is the {kind} address {address}",
                hint="a registry in another network has no business there: nothing was sent",
            )

    return check_address


def _classes_of(registry: Origin) -> set[str]:
    try:
        found = socket.getaddrinfo(registry.host.strip("[]"), registry.port, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {address_class(str(entry[4][0])) for entry in found}


def address_class(address: str) -> str:
    """``public``, or the kind of network that the rest of the world cannot reach."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None)
    ip = mapped or ip
    if ip.is_loopback or ip.is_unspecified:
        return "loopback"
    if ip.is_link_local:
        return "link-local"
    return "public" if ip.is_global and not ip.is_multicast else "private"
