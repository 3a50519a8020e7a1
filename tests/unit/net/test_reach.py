"""Which addresses a server may send us to."""

from __future__ import annotations

import pytest

from getmodules.errors import GetModulesError
from getmodules.net.reach import address_class, no_further_in_than
from getmodules.ports import Origin


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
    ],
)
def test_kinds_of_addresses(address: str, kind: str) -> None:
    assert address_class(address) == kind


def test_a_loopback_server_may_name_loopback_and_the_public_and_no_more() -> None:
    check = no_further_in_than(Origin("http", "127.0.0.1", 80), lambda kind, address: GetModulesError(f"{kind} {address}"))
    check("127.0.0.2")
    check("8.8.8.8")
    with pytest.raises(GetModulesError, match=r"private 10\.0\.0\.1"):
        check("10.0.0.1")


def test_a_name_without_an_address_may_name_the_public_only() -> None:
    check = no_further_in_than(Origin("http", "", 0), lambda kind, address: GetModulesError(f"{kind} {address}"))
    check("8.8.8.8")
    with pytest.raises(GetModulesError):
        check("10.0.0.1")
