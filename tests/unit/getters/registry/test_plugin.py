"""Addresses of modules in registries: what can be said of them without asking anybody."""

from __future__ import annotations

import pytest

from getmodules import Client
from getmodules.api.ports import Shorthand
from getmodules.errors import AddressError
from getmodules.getters.registry.plugin import RegistryShorthand
from tests.support.refusals import refusal
from tests.support.sites import NO_STRANGERS, first_party


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        pytest.param("tfr://h.example/acme/vpc/aws", "tfr://h.example/acme/vpc/aws", id="plain"),
        pytest.param("TFR://H.Example:443/acme/vpc/aws", "tfr://h.example/acme/vpc/aws", id="host and port"),
        pytest.param("tfr::tfr://h:8443/a/b/c", "tfr://h:8443/a/b/c", id="forced"),
        pytest.param("tfr://[::1]:8443/a/b/c", "tfr://[::1]:8443/a/b/c", id="IPv6"),
        pytest.param("tfr://h/a/b/c//net//x?version=1.0", "tfr://h/a/b/c//net/x?version=1.0", id="subdirectory"),
        pytest.param("tfr://h/a/b/c?version=~> 1.2", "tfr://h/a/b/c?version=~>%201.2", id="blank"),
        pytest.param("tfr://h/a/b/c?version=%3E%3D%201.0,<2", "tfr://h/a/b/c?version=%3E%3D%201.0,<2", id="escapes"),
        pytest.param("tfr://h/a/b/c?version==1.0.0+b", "tfr://h/a/b/c?version==1.0.0+b", id="plus and equals"),
        pytest.param("tfr://h/a/b/c?archive=zip", "tfr://h/a/b/c?archive=zip", id="the core's arguments"),
    ],
)
def test_the_canonical_address(typed: str, canonical: str) -> None:
    detected = first_party().detect(typed)
    assert str(detected) == canonical
    assert str(first_party().detect(canonical)) == canonical
    assert detected.package.getter == "tfr"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        pytest.param("tfr:///a/b/c", "no registry", id="no host"),
        pytest.param("tfr://h/a/b", "does not name", id="two parts"),
        pytest.param("tfr://h", "does not name", id="no path"),
        pytest.param("tfr://h/a/b/c/d", "does not name", id="four parts"),
        pytest.param("tfr://h/a/b/C", "no name", id="upper-case system"),
        pytest.param("tfr://h/a/b/c%2e", "no name", id="percent-encoded"),
        pytest.param("tfr://u:hunter22@h/a/b/c", "no user name", id="user name"),
        pytest.param("tfr::https://h/a/b/c", "no other URL", id="another URL"),
        pytest.param("tfr://h/a/b/c?ref=v1", "no argument 'ref'", id="another getter's argument"),
        pytest.param("tfr://h/a/b/c?version=", "missing", id="an empty version"),
        pytest.param("tfr://h/a/b/c?version=latest", "character 1", id="no version"),
        pytest.param("tfr://h/a/b/c?version=1.0 2.0", "no comma", id="no comma"),
        pytest.param("tfr://h/a/b/c?version=1&version=2", "twice", id="two versions"),
        pytest.param("tfr://h/a/b/c?archive=zip x", "blank", id="a blank elsewhere"),
    ],
)
def test_what_is_no_address(typed: str, words: str) -> None:
    error = refusal(AddressError, "address", first_party().detect, typed)
    assert words in error.message
    assert "hunter22" not in f"{error.message} {error.hint} {error.address}"


# ----------------------------------------------------------------------------------------------- shorthand


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        pytest.param("acme/vpc/aws", "tfr://r.example:8443/acme/vpc/aws", id="plain"),
        pytest.param(
            "acme/vpc/aws//net?version=~> 1.2", "tfr://r.example:8443/acme/vpc/aws//net?version=~>%201.2", id="more"
        ),
        pytest.param("tfr::acme/vpc/aws", "tfr://r.example:8443/acme/vpc/aws", id="forced"),
        pytest.param("github.com/acme/vpc", "git::https://github.com/acme/vpc.git", id="a forge"),
        pytest.param("./acme/vpc/aws", "file:///b/acme/vpc/aws", id="a path"),
        pytest.param("/acme/vpc/aws", "file:///acme/vpc/aws", id="an absolute path"),
    ],
)
def test_shorthand_where_a_registry_is_configured(typed: str, canonical: str) -> None:
    by_argument = Client(registry="R.example:8443", environ=NO_STRANGERS)
    by_environment = Client(environ={**NO_STRANGERS, "GETMODULES_REGISTRY": "r.example:8443"})
    for client in (by_argument, by_environment):
        assert str(client.detect(typed, base="/b")) == canonical


def test_the_step_is_explained() -> None:
    detected = Client(registry="r.example", environ=NO_STRANGERS).explain("a/b/c")
    assert [tuple(step) for step in detected.steps] == [("registry", "tfr://r.example/a/b/c")]


def test_without_a_registry_it_is_no_address_and_the_hint_says_how() -> None:
    error = refusal(AddressError, "address", first_party().detect, "acme/vpc/aws")
    assert error.hint is not None
    assert "tfr://HOST/acme/vpc/aws" in error.hint
    assert "--registry HOST" in error.typed_hint


def test_a_host_in_front_is_hinted_at() -> None:
    error = refusal(AddressError, "address", first_party().detect, "app.terraform.io/acme/vpc/aws")
    assert error.hint is not None
    assert "tfr://app.terraform.io/acme/vpc/aws" in error.hint


@pytest.mark.parametrize(
    ("body", "force", "registry"),
    [
        pytest.param("a/b/c", None, None, id="no registry"),
        pytest.param("a/b/c", "git", "r.example", id="forced otherwise"),
        pytest.param("a/b", None, "r.example", id="two parts"),
        pytest.param("a/b/c/d", None, "r.example", id="four parts"),
        pytest.param("a/b/C", None, "r.example", id="a name that no registry has"),
        pytest.param("a.example/b/c", None, "r.example", id="a host in front"),
        pytest.param("./a/b", None, "r.example", id="a path"),
    ],
)
def test_what_is_left_to_others(body: str, force: str | None, registry: str | None) -> None:
    assert RegistryShorthand().detect(Shorthand(body, force, "/b", registry)) is None
