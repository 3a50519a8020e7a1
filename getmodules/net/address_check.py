"""Check network addresses: no server may send us further into a network than it is itself.

A redirect, or a realm, that leads from the public internet to a private, link-local or loopback address asks
things of machines that its author cannot reach: metadata services, consoles, a developer's own ports. The name is
judged by the address that is then connected to, so that it cannot mean another one a moment later.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from contextlib import suppress

from getmodules.api.http import AddressCheck
from getmodules.errors import GetModulesError

#: What the world can reach at all. Of IPv6 that is one block, whatever a version of ``ipaddress`` knows of the others.
_ROUTED = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("2000::/3"))
#: Addresses that some versions of ``ipaddress`` know in part only; clouds have services of theirs here.
_PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def address_class(address: str) -> str:
    """Return ``public``, or the kind of network that the rest of the world cannot reach."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        ip = _carried(ip) or ip
    if ip.is_loopback or ip.is_unspecified:
        return "loopback"
    if ip.is_link_local:
        return "link-local"
    if not ip.is_global or ip.is_multicast or not any(ip in network for network in _ROUTED):
        return "private"
    return "private" if ip in _PROTOCOLS else "public"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name or its address; nothing is looked up."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


def _carried(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that a translator or a tunnel makes of an IPv6 address on the way."""
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour


def address_check_for(address: str | None, refusal: Callable[[str, str], GetModulesError]) -> AddressCheck:
    """Return a check that allows public addresses, and those of the class of ``address``, at which the server answered.

    Without one (it was a proxy that answered) only the public remains. Nothing is looked up: a name may have
    another address by now. ``refusal`` makes the error from the class and the address that is refused.
    """
    return address_check_for_class(None if address is None else address_class(address), refusal)


def address_check_for_class(kind: str | None, refusal: Callable[[str, str], GetModulesError]) -> AddressCheck:
    """Return a check that allows public addresses, and those of the class ``kind``."""
    allowed = {"public", kind}

    def check_address(address: str) -> None:
        kind = address_class(address)
        if kind not in allowed:
            raise refusal(kind, address)

    return check_address


def check_written_address(host: str, check_address: AddressCheck) -> None:
    """Check a host behind a proxy if it is written as an address; the proxy resolves names."""
    is_this_machine = host.rstrip(".").rpartition(".")[2] == "localhost"
    with suppress(ValueError):
        check_address(str(ipaddress.ip_address("127.0.0.1" if is_this_machine else host)))
