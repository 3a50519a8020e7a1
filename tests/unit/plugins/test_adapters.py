"""Offers as the core calls them: the defaults, and what is read only once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    Client,
    Context,
    Credential,
    DigestMismatchError,
    Origin,
    PluginContractError,
    Progress,
    Secret,
)
from getmodules.plugins.adapters import first_credential
from tests.support.fakes import (
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
from tests.support.refusals import refusal


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


def _with_sink(opened: Any) -> Any:
    from tests.support.fakes import FakePlugin

    plugin = FakePlugin(progress=[_Sink(opened)])
    return Client(plugins=[plugin], environ={"GETMODULES_PLUGINS": ""}).catalog


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
