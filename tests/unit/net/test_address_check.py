"""Which addresses a server may send us to."""

from __future__ import annotations

import pytest

from getmodules.errors import GetModulesError
from getmodules.net.address_check import address_check_for, address_class


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("0.0.0.0", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("10.1.2.3", "private"),
        ("192.168.0.1", "private"),
        ("100.64.0.1", "private"),
        ("fd00::1", "private"),
        ("224.0.0.1", "private"),
        ("8.8.8.8", "public"),
        ("2606:4700::1111", "public"),
        pytest.param("64:ff9b::a9fe:a9fe", "link-local", id="NAT64"),
        pytest.param("64:ff9b::808:808", "public", id="NAT64 of a public one"),
        pytest.param("64:ff9b:1::a9fe:a9fe", "private", id="NAT64 of a network of one's own"),
        pytest.param("2002:a9fe:a9fe::1", "link-local", id="6to4"),
        pytest.param("2002:808:808::1", "public", id="6to4 of a public one"),
        pytest.param("::7f00:1", "private", id="IPv4-compatible"),
        pytest.param("fec0::1", "private", id="site-local"),
        pytest.param("192.0.0.192", "private", id="protocol assignments"),
    ],
)
def test_kinds_of_addresses(address: str, kind: str) -> None:
    assert address_class(address) == kind


INNER = ("127.0.0.2", "10.0.0.1", "169.254.169.254", "fd00::1", "::1")


@pytest.mark.parametrize(
    ("server", "allowed"),
    [
        pytest.param("8.8.8.8", set(), id="public"),
        pytest.param("127.0.0.1", {"127.0.0.2", "::1"}, id="loopback"),
        pytest.param("192.168.7.7", {"10.0.0.1", "fd00::1"}, id="private"),
        pytest.param("fe80::1%2", {"169.254.169.254"}, id="link-local"),
        pytest.param(None, set(), id="unknown, behind a proxy"),
    ],
)
def test_a_server_may_name_the_public_and_its_own_kind(server: str | None, allowed: set[str]) -> None:
    check = address_check_for(server, lambda kind, address: GetModulesError(f"{kind} {address}"))
    check("8.8.4.4")
    for address in INNER:
        if address in allowed:
            check(address)
        else:
            with pytest.raises(GetModulesError, match=f"{address_class(address)} {address}"):
                check(address)
