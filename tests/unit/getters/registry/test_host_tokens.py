"""Which variable is the token of which host."""

from __future__ import annotations

import pytest

from getmodules.getters.registry.host import token_from, variable_for
from getmodules.util.redact import Secret


@pytest.mark.parametrize(
    ("variable", "host"),
    [
        pytest.param("TF_TOKEN_app_terraform_io", "app.terraform.io", id="dots"),
        pytest.param("TF_TOKEN_my__registry_example", "my-registry.example", id="dashes"),
        pytest.param("TF_TOKEN_my-registry.example", "my-registry.example", id="dots and dashes themselves"),
        pytest.param("TF_TOKEN_Registry_Example", "registry.example", id="upper case"),
        pytest.param("TF_TOKEN_registry_example:8443", "registry.example:8443", id="a port"),
        pytest.param("TF_TOKEN_registry_example:443", "registry.example", id="the port of https"),
        pytest.param("TF_TOKEN_localhost", "localhost", id="one label"),
        pytest.param("TF_TOKEN_xn____bcher__kva_example", "xn--bcher-kva.example", id="international, in ASCII"),
        pytest.param("TF_TOKEN_bücher_example", "xn--bcher-kva.example", id="international"),
        pytest.param("TF_TOKEN_BÜCHER_example:81", "xn--bcher-kva.example:81", id="international, with a port"),
        pytest.param("TF_TOKEN_straße_example", "xn--strae-oqa.example", id="not the host that it resembles"),
    ],
)
def test_whose_token_it_is(variable: str, host: str) -> None:
    found = token_from({"PATH": "x", variable: "t0ken"}, host)
    assert found is not None
    assert (found.secret, found.username, found.found_in) == (Secret("t0ken"), None, variable)
    assert "t0ken" not in repr(found)


@pytest.mark.parametrize(
    ("variable", "host"),
    [
        pytest.param("TF_TOKEN_registry_example", "registry.example:8443", id="another port"),
        pytest.param("TF_TOKEN_registry_example:8443", "registry.example", id="another port, the other way"),
        pytest.param("TF_TOKEN_registry_example", "sub.registry.example", id="a subdomain"),
        pytest.param("TF_TOKEN_registry_example", "example", id="a parent"),
        pytest.param("TF_TOKEN_registry_example", "registry.example.com", id="a longer name"),
        pytest.param("TF_TOKEN_", "", id="no host"),
        pytest.param("TF_TOKENS_registry_example", "registry.example", id="another variable"),
        pytest.param("tf_token_registry_example", "registry.example", id="in lower case"),
        pytest.param("TF_TOKEN_straße_example", "strasse.example", id="a host that it resembles"),
        pytest.param("TF_TOKEN_\ud800_example", "example", id="no text"),
        pytest.param("TF_TOKEN_ü" + "ü" * 80 + "_example", "example", id="no name"),
    ],
)
def test_nobody_elses(variable: str, host: str) -> None:
    assert token_from({variable: "t0ken"}, host or "registry.example") is None


def test_the_line_end_after_a_token_is_no_part_of_it_and_an_empty_one_is_none() -> None:
    found = token_from({"TF_TOKEN_h_example": "t0ken\r\n"}, "h.example")
    assert found is not None
    assert found.secret == Secret("t0ken")
    assert token_from({"TF_TOKEN_h_example": "\n"}, "h.example") is None


def test_of_two_spellings_it_is_always_the_same() -> None:
    environ = {"TF_TOKEN_h_example": "b", "TF_TOKEN_h.example": "a"}
    found = [token_from(dict(order), "h.example") for order in (environ.items(), reversed(environ.items()))]
    assert [each and each.found_in for each in found] == ["TF_TOKEN_h.example"] * 2


@pytest.mark.parametrize("host", ["app.terraform.io", "my-registry.example", "xn--bcher-kva.example", "h.example:8443"])
def test_the_variable_that_a_hint_names_is_the_one_that_is_read(host: str) -> None:
    assert token_from({variable_for(host): "t0ken"}, host) is not None
