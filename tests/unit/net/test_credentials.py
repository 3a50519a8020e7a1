"""Credentials from the environment, by origin."""

from __future__ import annotations

import pytest

from getmodules.api.ports import Credential, Origin
from getmodules.net.credentials import from_environment, sent_credential, variable_suffix
from getmodules.util.redact import Secret


@pytest.mark.parametrize(
    ("origin", "suffix"),
    [
        (Origin("https", "ghcr.io", 443), "ghcr_io"),
        (Origin("https", "GHCR.io", 443), "ghcr_io"),
        (Origin("https", "my-registry.example", 5000), "my__registry_example_5000"),
        (Origin("http", "h", 80), "h"),
        (Origin("http", "h", 443), "h_443"),
        (Origin("ssh", "h", 22), "h"),
    ],
)
def test_how_a_host_is_spelled(origin: Origin, suffix: str) -> None:
    assert variable_suffix(origin) == suffix


def test_a_token_alone_and_with_a_user_name() -> None:
    origin = Origin("https", "h.example", 443)
    environ = {"GETMODULES_TOKEN_h_example": "t0ken"}
    found = from_environment(environ, origin)
    assert found is not None
    assert (found.secret, found.username, found.found_in) == (Secret("t0ken"), None, "GETMODULES_TOKEN_h_example")
    found = from_environment({**environ, "GETMODULES_USERNAME_h_example": "u"}, origin)
    assert found is not None
    assert found.username == "u"
    assert "t0ken" not in repr(found)


@pytest.mark.parametrize("origin", [Origin("https", "h.example", 8443), Origin("https", "other.example", 443)])
def test_another_origin_gets_nothing(origin: Origin) -> None:
    assert from_environment({"GETMODULES_TOKEN_h_example": "t0ken"}, origin) is None


@pytest.mark.parametrize("host", ["my_registry.example.com", "my.registry_example.com"])
def test_a_host_whose_variable_is_that_of_another_gets_nothing(host: str) -> None:
    environ = {"GETMODULES_TOKEN_my_registry_example_com": "t0ken"}
    assert from_environment(environ, Origin("https", host, 443)) is None
    assert from_environment(environ, Origin("https", "my.registry.example.com", 443)) is not None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_the_line_end_after_a_token_is_no_part_of_it(end: str) -> None:
    found = from_environment({"GETMODULES_TOKEN_h": f"t0ken{end}"}, Origin("https", "h", 443))
    assert found is not None
    assert found.secret == Secret("t0ken")
    assert from_environment({"GETMODULES_TOKEN_h": end}, Origin("https", "h", 443)) is None


def test_an_empty_token_is_none() -> None:
    assert from_environment({"GETMODULES_TOKEN_h": ""}, Origin("https", "h", 443)) is None


def test_upper_case_is_found_and_the_exact_spelling_wins() -> None:
    origin = Origin("https", "my-registry.example", 5000)
    exact, upper = "GETMODULES_TOKEN_my__registry_example_5000", "GETMODULES_TOKEN_MY__REGISTRY_EXAMPLE_5000"
    user = {"GETMODULES_USERNAME_MY__REGISTRY_EXAMPLE_5000": "ada"}
    found = from_environment({upper: "one", **user}, origin)
    assert found is not None
    assert (found.secret, found.username, found.found_in) == (Secret("one"), "ada", upper)
    found = from_environment(
        {upper: "one", exact: "two", **user, "GETMODULES_USERNAME_my__registry_example_5000": "bob"}, origin
    )
    assert found is not None
    assert (found.secret, found.username, found.found_in) == (Secret("two"), "bob", exact)
    assert from_environment({"GETMODULES_TOKEN_My__registry_example_5000": "one"}, origin) is None


@pytest.mark.parametrize(
    ("username", "password", "shown"),
    [
        ("ada", "p4ss", "ada"),
        ("t0ken", "", "****"),
        ("t0ken", "x-oauth-basic", "****"),
        ("ghp_abc", "x", "****"),
        ("gldt-abc", "x", "****"),
        ("x-p4ss-x", "p4ss", "****"),
        ("a" * 65, "p4ss", "****"),
    ],
)
def test_a_user_name_is_shown_unless_it_may_be_a_secret(username: str, password: str, shown: str) -> None:
    found = sent_credential(Credential(secret=Secret(password), username=username, found_in="F"))
    assert found == ("F", shown)
