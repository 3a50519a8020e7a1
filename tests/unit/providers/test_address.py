"""Provider addresses, judged by OpenTofu's own parser (tests/cases/provider_addresses.json)."""

from __future__ import annotations

from typing import Any

import pytest

from getmodules import AddressError
from getmodules.providers import ProviderAddress
from tests.support.refusals import refusal
from tests.support.releases import cases

CASES = cases("provider_addresses.json")


@pytest.mark.parametrize("case", [case for case in CASES if case["ok"]], ids=lambda case: ascii(case["input"]))
def test_what_opentofu_takes_is_normalised_in_the_same_way(case: dict[str, Any]) -> None:
    address = ProviderAddress.parse(case["input"])
    assert str(address) == case["normal"]
    assert address.host == case["host"]
    assert ProviderAddress.parse(str(address)) == address


@pytest.mark.parametrize("case", [case for case in CASES if not case["ok"]], ids=lambda case: ascii(case["input"]))
def test_what_is_no_address_of_a_provider_that_can_be_installed(case: dict[str, Any]) -> None:
    error = refusal(AddressError, "address", ProviderAddress.parse, case["input"])
    assert error.hint
    assert len(error.message) < 500
    assert error.message.isprintable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("registry.opentofu.org/-/aws", "the namespace that it has today", id="legacy"),
        pytest.param("terraform.io/builtin/terraform", "nothing to install", id="built in"),
        pytest.param("opentofu.org/builtin/terraform", "nothing to install", id="built in, OpenTofu's"),
        pytest.param("aws", "host/namespace/type", id="a type alone"),
        pytest.param("hashicorp/aws", "host/namespace/type", id="no host"),
        pytest.param("example.com/acme/terraform-provider-x", "did you mean the type 'x'?", id="the repository's name"),
        pytest.param("example.com/acme/opentofu-x", "did you mean the type 'x'?", id="a redundant prefix"),
        pytest.param("xn--80akhbyknj4f.com/a/b", "as people read it", id="punycode"),
    ],
)
def test_a_refusal_says_what_to_write_instead(text: str, words: str) -> None:
    assert words in str(refusal(AddressError, "address", ProviderAddress.parse, text).hint)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("☃.net/a/b", id="a symbol in a host"),
        pytest.param("example.com/☃/b", id="a symbol in a namespace"),
        pytest.param("example.com./a/b", id="a dot at the end"),
        pytest.param("example.com:0/a/b", id="port 0"),
        pytest.param("example.com:-5/a/b", id="a negative port"),
        pytest.param(f"{'a' * 64}.com/a/b", id="a label that DNS does not have"),
    ],
)
def test_where_this_is_stricter_than_opentofu(text: str) -> None:
    refusal(AddressError, "address", ProviderAddress.parse, text)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(("Example.com", "a", "b"), id="a host in capitals"),
        pytest.param(("испытание.com", "a", "b"), id="a host as people read it"),
        pytest.param(('a"b', "a", "b"), id="a quote in a host"),
        pytest.param(("example.com", "a/b", "c"), id="a slash"),
        pytest.param(("example.com", "A", "b"), id="a namespace in capitals"),
        pytest.param(("example.com", "a", ".."), id="a path"),
    ],
)
def test_nobody_makes_one_that_is_not_normalised(parts: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="normalised"):
        ProviderAddress(*parts)
