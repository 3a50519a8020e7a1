"""What a registry can call a module."""

from __future__ import annotations

import pytest

from getmodules.errors import AddressError
from getmodules.getters.registry.host import ModuleName
from tests.support.refusals import refusal


@pytest.mark.parametrize(
    "text", ["acme/vpc/aws", "terraform-aws-modules/eks/aws", "A_b-9/C/x1", "0/0/0", f"{'a' * 64}/b/{'c' * 64}"]
)
def test_a_name_comes_back_as_it_was(text: str) -> None:
    assert str(ModuleName.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("acme/vpc", id="two parts"),
        pytest.param("h/acme/vpc/aws", id="four parts"),
        pytest.param("acme/vpc/aws/", id="a slash behind"),
        pytest.param("acme//aws", id="an empty part"),
        pytest.param("../vpc/aws", id="dots"),
        pytest.param("acme/vpc/AWS", id="a system in upper case"),
        pytest.param("acme/vpc/aws-1", id="a system with a dash"),
        pytest.param("-acme/vpc/aws", id="a dash in front"),
        pytest.param("acme-/vpc/aws", id="a dash behind"),
        pytest.param("acme/v.pc/aws", id="a dot"),
        pytest.param("acme/v%2fpc/aws", id="percent-encoded"),
        pytest.param("ächme/vpc/aws", id="beyond ASCII"),
        pytest.param("acme/vpc/aws\n", id="line end"),
        pytest.param(f"{'a' * 65}/vpc/aws", id="too long"),
    ],
)
def test_what_is_no_name(text: str) -> None:
    error = refusal(AddressError, "address", ModuleName.parse, text)
    assert error.hint
    assert error.message.isprintable()
