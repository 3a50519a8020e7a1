"""Getters as the core calls them: the defaults, what is read only once, and what they may not answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    AddressError,
    Members,
    PackageAddress,
    PluginContractError,
)
from getmodules.api.model import Elsewhere, Pin
from getmodules.plugins.loader import Plugin
from tests.support.contexts import a_context
from tests.support.fakes import FakeGetter, client_with, members_of
from tests.support.refusals import refusal


class _Minimal:
    """The least that a getter can be."""

    schemes = ("fake",)

    def fetch(self, pin: Any, wants: Any, context: Any) -> Members:
        return members_of()


def test_the_defaults_of_a_minimal_getter(tmp_path: Path) -> None:
    client = client_with(_Minimal())
    getter = client.catalog.getter("fake")
    assert getter.arguments == frozenset()
    assert getter.core_arguments == {"archive", "checksum", "filename"}
    assert getter.local is False
    assert client.get("fake://h/x//sub", tmp_path / "dest").pinned is None
    error = refusal(AddressError, "address", client.detect, "fake://h/x?ref=1")
    assert "archive, checksum, filename" in (error.hint or "")


class _Full(_Minimal):
    arguments: Any = ("version",)
    core_arguments = ("checksum",)
    local = True

    def check(self, package: PackageAddress) -> None:
        if package.arguments.get("version") == "0":
            raise AddressError("there is no version 0")


def test_what_a_getter_says_of_itself() -> None:
    client = client_with(_Full())
    assert client.catalog.getter("fake").local is True
    assert str(client.detect("fake://h/x?version=1")) == "fake://h/x?version=1"
    assert "version 0" in refusal(AddressError, "address", client.detect, "fake://h/x?version=0").message
    assert "no meaning" in refusal(AddressError, "address", client.detect, "fake://h/x?archive=zip").message


def test_a_getter_whose_arguments_belong_to_the_url() -> None:
    getter = _Full()
    getter.arguments = None
    assert str(client_with(getter).detect("fake://h/x?any=thing")) == "fake://h/x?any=thing"


def test_an_object_that_changes_its_mind_changes_nothing() -> None:
    getter = _Full()
    client = client_with(getter)
    getter.arguments = ("other",)
    getter.schemes = ("file",)
    assert str(client.detect("fake://h/x?version=1")) == "fake://h/x?version=1"
    assert client.catalog.getter("file").plugin.first_party


def test_local_is_true_or_it_is_not() -> None:
    getter = _Full()
    getter.local = "no"  # type: ignore[assignment]
    assert client_with(getter).catalog.getter("fake").local is False


def test_the_plugin_of_an_offer_is_known() -> None:
    bound = client_with(_Minimal()).catalog.getter("fake")
    assert isinstance(bound.plugin, Plugin)
    assert str(bound.plugin.guard) == "plugin 'FakePlugin' (this program)"


def test_what_a_getter_learned_while_it_fetched_is_reported(tmp_path: Path) -> None:
    getter = FakeGetter(answer=replace(members_of(), digests={"tree": "12" * 20}))
    assert client_with(getter).get("fake://h/x", tmp_path / "dest").digests == {"tree": "12" * 20}


@pytest.mark.parametrize("digests", [{"tree": 7}, {7: "tree"}, {"tree": "\x1b[31m"}, 7], ids=str)
def test_digests_of_members_that_are_none(digests: Any, tmp_path: Path) -> None:
    getter = FakeGetter(answer=replace(members_of(), digests=digests))
    refusal(PluginContractError, "plugin-contract", client_with(getter).get, "fake://h/x", tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


# ------------------------------------------------------------------------------------------------- versions


class _Final(_Minimal):
    """A getter that says that it never sends on, and does."""

    sends_on = False

    def fetch(self, pin: Any, wants: Any, context: Any) -> Any:
        return Elsewhere(address="https://h/x.zip")


def test_a_getter_that_never_sends_on() -> None:
    getter = client_with(_Final()).catalog.getter("fake")
    assert (getter.sends_on, client_with(_Minimal()).catalog.getter("fake").sends_on) == (False, True)
    package = PackageAddress(getter="fake", url="fake://h/x")
    error = refusal(PluginContractError, "plugin-contract", getter.fetch, Pin(package=package), (), a_context())
    assert "sends_on" in error.message


class _Tagged(_Minimal):
    """A getter that knows versions."""

    version_argument = "tag"
    tags: Any = ("1.0.0", "1.0.0", "latest")

    def versions(self, package: Any, context: Any) -> Any:
        return self.tags() if callable(self.tags) else self.tags


def _versions(tags: Any) -> tuple[str, ...]:
    offer = _Tagged()
    offer.tags = tags
    getter = client_with(offer).catalog.getter("fake")
    assert getter.version_argument == "tag"
    return getter.versions(PackageAddress(getter="fake", url="fake://h/x"), a_context())


def test_the_names_of_versions() -> None:
    assert _versions(("1.0.0", "1.0.0", "latest")) == ("1.0.0", "latest")
    assert _versions(iter(["a"])) == ("a",)
    assert _versions(None) == ()
    minimal = client_with(_Minimal()).catalog.getter("fake")
    assert (
        minimal.version_argument,
        minimal.versions(PackageAddress(getter="fake", url="fake://h/x"), a_context()),
    ) == (
        None,
        (),
    )


def _breaking() -> Any:
    yield "1.0.0"
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "tags",
    [pytest.param((1,), id="no strings"), pytest.param(5, id="no list"), pytest.param(_breaking, id="one that breaks")],
)
def test_versions_that_are_none_are_the_plugins_fault(tags: Any) -> None:
    assert "versions" in refusal(PluginContractError, "plugin-contract", _versions, tags).message


def test_the_mirror_is_asked_and_the_original_answers() -> None:
    from getmodules.addresses.mirrors import Mirrors
    from getmodules.api.model import Pin

    getter = FakeGetter(pin=lambda package, _: Pin(package=package, id="id-1"))
    bound = client_with(getter).catalog.getter("fake")
    context = a_context(mirrors=Mirrors({"fake://h": "fake://mirror"}))
    pin = bound.resolve(PackageAddress(getter="fake", url="fake://h/x"), context)
    assert isinstance(pin, Pin)
    assert (pin.package.url, getter.asked) == ("fake://h/x", [("resolve", "fake://mirror/x")])
