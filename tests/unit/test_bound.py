"""Offers as the core calls them: the defaults, and what is read only once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    AddressError,
    Client,
    Context,
    Credential,
    DigestMismatchError,
    Members,
    Origin,
    PackageAddress,
    PluginContractError,
    Progress,
    Secret,
)
from getmodules.bound import bind_unpacker, first_credential
from getmodules.model import Archive, Elsewhere, Pin
from getmodules.plugins import Plugin
from tests.contexts import a_context
from tests.fakes import (
    OTHER_SHA256,
    ZIP,
    FakeCredentials,
    FakeGetter,
    FakeVerifier,
    a_pin,
    blob,
    client_with,
    members_of,
)
from tests.refusals import refusal


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


def test_credentials_reach_a_getter_for_the_origin_that_they_are_for(tmp_path: Path) -> None:
    found: list[Credential | None] = []

    def ask(context: Context) -> None:
        found.append(context.credentials(Origin("https", "h.example", 443), "/x"))
        found.append(context.credentials(Origin("http", "h.example", 80), "/x"))

    getter = FakeGetter(answer=lambda *_: members_of(), during_fetch=ask)
    client_with(getter, credentials=[FakeCredentials()]).get("fake://h/x", tmp_path / "dest")
    assert found[0] is not None
    assert (found[0].secret.reveal(), found[0].username) == ("s3cr3t", "u")
    assert found[1] is None
    assert "s3cr3t" not in repr(found)


class _Lookup:
    def __init__(self, name: str, answer: Any) -> None:
        self.name = name
        self.answer = answer
        self.asked = 0

    def lookup(self, origin: Origin, path: str) -> Any:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_the_first_credential_wins() -> None:
    one, two, three = (
        _Lookup("one", None),
        _Lookup("two", Credential(secret=Secret("2"), found_in="two")),
        _Lookup("three", Credential(secret=Secret("3"), found_in="three")),
    )
    credentials = client_with(credentials=[one, two, three]).catalog.credentials
    found = first_credential(credentials, Origin("https", "h", 443), "/")
    assert found is not None
    assert found.found_in == "two"
    assert (one.asked, two.asked, three.asked) == (1, 1, 0)
    assert first_credential(credentials[:1], Origin("https", "h", 443), "/") is None


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("s3cr3t", id="text"),
        pytest.param(Credential(secret="s3cr3t", found_in="x"), id="a secret as text"),  # type: ignore[arg-type]
        pytest.param(ValueError("https://u:s3cr3t@h"), id="raises"),
    ],
)
def test_a_lookup_that_goes_wrong_shows_no_secret(tmp_path: Path, answer: Any) -> None:
    getter = FakeGetter(during_fetch=lambda context: context.credentials(Origin("https", "h", 443), "/") and None)
    client = client_with(getter, credentials=[_Lookup("acme", answer)])
    error = refusal(PluginContractError, "plugin-contract", client.get, "fake://h/x", tmp_path / "dest")
    assert "this program" in error.message
    assert "s3cr3t" not in error.message
    assert list(tmp_path.iterdir()) == []


def test_a_verifier_sees_each_of_its_gates_and_leaves_evidence(tmp_path: Path) -> None:
    verifier = FakeVerifier()
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin()), verifiers=[verifier])
    installed = client.get("fake://h/p.zip", tmp_path / "dest")
    assert [gate.value for gate, _ in verifier.seen] == ["pin", "bytes", "tree"]
    assert [each.by for each in installed.evidence if each.check == "watchman"] == ["this program"] * 3


def test_a_verifier_cannot_accept_what_is_demanded_otherwise(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)), verifiers=[FakeVerifier(says="fine")])
    expect = f"sha256:{OTHER_SHA256}"
    refusal(DigestMismatchError, "digest-mismatch", client.get, "fake://h/p.zip", tmp_path / "dest", expect=expect)
    assert list(tmp_path.iterdir()) == []


class _Sink:
    name = "fancy"

    def __init__(self, opened: Any) -> None:
        self.opened = opened

    def open(self, stream: Any) -> Any:
        return self.opened


def test_a_progress_sink_is_opened_by_its_name() -> None:
    progress = Progress()
    client: Client = client_with(progress=None, credentials=())
    assert "fancy" not in client.catalog.progress
    catalog = _with_sink(progress)
    assert catalog.progress["fancy"].open(None) is progress


def test_a_progress_sink_that_opens_something_else() -> None:
    catalog = _with_sink("progress")
    error = refusal(PluginContractError, "plugin-contract", catalog.progress["fancy"].open, None)
    assert "this program" in error.message


def _with_sink(opened: Any) -> Any:
    from tests.fakes import FakePlugin

    plugin = FakePlugin(progress=[_Sink(opened)])
    return Client(plugins=[plugin], environ={"GETMODULES_PLUGINS": ""}).catalog


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


class _Unpacker:
    names = suffixes = (".acme",)
    media_types = ()

    def __init__(self, **more: Any) -> None:
        self.__dict__.update(more)

    def unpack(self, archive: Any, context: Any) -> Any:
        return ()


@pytest.mark.parametrize(
    ("more", "ahead"), [({}, False), ({"ahead": True}, True), ({"ahead": "yes"}, False)], ids=["default", "yes", "text"]
)
def test_an_unpacker_may_decompress_ahead(more: dict[str, Any], ahead: bool, tmp_path: Path) -> None:
    unpacker = bind_unpacker(Plugin(name="acme", distribution="acme", version="1"), _Unpacker(**more))
    archive = Archive(path=tmp_path / "a", size=0, digests={})
    assert unpacker.unpack(archive, a_context()).ahead is ahead


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
    from getmodules.mirrors import Mirrors
    from getmodules.model import Pin

    getter = FakeGetter(pin=lambda package, _: Pin(package=package, id="id-1"))
    bound = client_with(getter).catalog.getter("fake")
    context = a_context(mirrors=Mirrors({"fake://h": "fake://mirror"}))
    pin = bound.resolve(PackageAddress(getter="fake", url="fake://h/x"), context)
    assert isinstance(pin, Pin)
    assert (pin.package.url, getter.asked) == ("fake://h/x", [("resolve", "fake://mirror/x")])
