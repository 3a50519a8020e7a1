"""The gate of addresses: verifiers are asked before anything is contacted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    Client,
    Context,
    Gate,
    PackageAddress,
    PluginContractError,
    VerificationError,
)
from getmodules.net.settings import NetSettings
from tests.support.fakes import ZIP, FakeGetter, FakePlugin, FakeVerifier, a_pin, blob, client_with, elsewhere
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, Server, serving
from tests.support.snapshots import snapshot


@dataclass
class Guard:
    """Refuses addresses with one of ``words`` in them, and notes all."""

    words: tuple[str, ...] = ()
    name: str = "guard"
    gates: tuple[Gate, ...] = (Gate.ADDRESS,)
    seen: list[PackageAddress] = field(default_factory=list)

    def verify(self, gate: Gate, subject: Any, context: Context) -> None:
        self.seen.append(subject)
        if any(word in subject.url for word in self.words):
            raise VerificationError(f"not {subject.url}")

    @property
    def urls(self) -> list[str]:
        return [str(each) for each in self.seen]


def _answer(connection: Connection, received: Received) -> bool:
    target = received.target.partition("?")[0]
    if target.startswith("/to/"):
        return connection.reply("302 Found", b"", Location=target.removeprefix("/to"))
    if target.endswith(".sum"):
        return connection.reply("200 OK", b"nothing of use", Content_Type="text/plain")
    return connection.reply("200 OK", ZIP, Content_Type="application/zip")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(_answer) as running:
        yield running


def _client(guard: Guard, *getters: Any, **more: Any) -> Client:
    plugin = FakePlugin(*getters, verifiers=(guard,))
    return Client(plugins=(plugin,), **{"environ": {"GETMODULES_PLUGINS": ""}, "use_cache": False, **more})


def test_a_refusal_comes_before_anything_is_contacted(server: Server, tmp_path: Path) -> None:
    guard = Guard(("/p.zip",))
    with _client(guard) as client:
        error = refusal(VerificationError, "verification", client.get, f"{server.url}/p.zip", tmp_path / "d")
        refusal(VerificationError, "verification", client.resolve, f"{server.url}/p.zip")
    assert error.exit_code == 3
    assert server.connections == 0
    assert list(tmp_path.iterdir()) == []


def test_the_word_of_a_verifier_is_evidence(tmp_path: Path) -> None:
    verifier = FakeVerifier(gates=(Gate.ADDRESS,))
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=lambda package, _: _hop(package))
    installed = client_with(getter, verifiers=(verifier,)).get("fake://a/p.zip", tmp_path / "d")
    assert [(e.check, e.subject, e.value, e.by) for e in installed.evidence] == [
        ("watchman", "address", "looked at it", "this program")
    ] * 2
    assert [str(subject) for _, subject in verifier.seen] == ["fake://a/p.zip", "fake://b/p.zip"]


def _hop(package: PackageAddress) -> Any:
    return elsewhere("fake://b/p.zip") if "//a/" in package.url else None


def test_where_a_server_sends_us_on_is_asked_about_first(tmp_path: Path) -> None:
    guard = Guard(("//b/",))
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=lambda package, _: _hop(package))
    before = snapshot(tmp_path)
    refusal(VerificationError, "verification", _client(guard, getter).get, "fake://a/p.zip", tmp_path / "d")
    assert [asked[:2] for asked in getter.asked] == [("resolve", "fake://a/p.zip")]
    assert snapshot(tmp_path) == before


def test_a_redirect_is_asked_about_at_the_same_host_too(server: Server, tmp_path: Path) -> None:
    guard = Guard()
    with _client(guard) as client:
        client.get(f"{server.url}/to/p.zip?archive=zip&token=s3cr3t", tmp_path / "d")
    assert [str(each.url) for each in guard.seen] == [f"{server.url}/to/p.zip", f"{server.url}/p.zip"]
    assert guard.seen[1] == PackageAddress(getter="http", url=f"{server.url}/p.zip")
    refused = Guard((f"{server.url}/p.zip",))
    with _client(refused) as client:
        refusal(VerificationError, "verification", client.get, f"{server.url}/to/p.zip?archive=zip", tmp_path / "e")
    assert [received.target for received in server.received].count("/p.zip") == 1
    assert not (tmp_path / "e").exists()


def test_the_mirror_is_asked_about_as_well(server: Server, tmp_path: Path) -> None:
    mirrors = NetSettings.from_environment({"GETMODULES_MIRRORS": f"http://far.example={server.url}"})
    guard = Guard()
    with _client(guard, network=mirrors) as client:
        client.get("http://far.example/p.zip", tmp_path / "d")
    assert guard.urls == ["http://far.example/p.zip", f"{server.url}/p.zip"]
    before = server.connections
    for word in ("far.example", "127.0.0.1"):
        with _client(Guard((word,)), network=mirrors) as client:
            refusal(VerificationError, "verification", client.get, "http://far.example/p.zip", tmp_path / "e")
    assert server.connections == before


def test_a_checksum_document_is_asked_about(server: Server, tmp_path: Path) -> None:
    guard = Guard(("/p.sum",))
    with _client(guard) as client:
        source = f"{server.url}/p.zip?checksum=file:{server.url}/p.sum"
        refusal(VerificationError, "verification", client.get, source, tmp_path / "d")
    assert [each.url for each in guard.seen] == [f"{server.url}/p.zip", f"{server.url}/p.sum"]
    assert not any(received.target.endswith(".sum") for received in server.received)
    assert list(tmp_path.iterdir()) == []


def test_what_is_cached_is_asked_about_also_offline(server: Server, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"use_cache": True, "cache_dir": tmp_path / "cache"}
    source = f"{server.url}/p.zip"
    with _client(Guard(), **settings) as client:
        client.get(source, tmp_path / "d")
    for offline in (False, True):
        with _client(Guard(("/p.zip",)), **settings, offline=offline) as client:
            refusal(VerificationError, "verification", client.get, source, tmp_path / "e")
    with _client(Guard(), **settings, offline=True) as client:
        client.get(source, tmp_path / "e")
    assert len(server.received) == 1


def test_where_a_cached_address_led_is_asked_about_offline(server: Server, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"use_cache": True, "cache_dir": tmp_path / "cache"}
    getter = FakeGetter(pin=lambda package, _: elsewhere(f"{server.url}/p.zip"))
    with _client(Guard(), getter, **settings) as client:
        client.get("fake://a/p.zip", tmp_path / "d")
    with _client(Guard((server.url,)), getter, **settings, offline=True) as client:
        refusal(VerificationError, "verification", client.get, "fake://a/p.zip", tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_a_plugins_requests_to_other_hosts_are_asked_about(server: Server, tmp_path: Path) -> None:
    def during(context: Context) -> None:
        context.network.session().request("GET", f"{server.url}/x?token=s3cr3t", context).close()

    for address, judged in ((f"fake://127.0.0.1:{server.port}/p.zip", 1), ("fake://bucket/p.zip", 2)):
        guard = Guard()
        getter = FakeGetter(answer=lambda *_: blob(ZIP), during_fetch=during)
        with _client(guard, getter) as client:
            client.get(address, tmp_path / address[7:10])
        assert len(guard.seen) == judged
    assert guard.seen[1] == PackageAddress(getter="http", url=f"{server.url}/x")
    before = server.connections
    with _client(Guard((server.url,)), FakeGetter(answer=blob(ZIP), during_fetch=during)) as client:
        refusal(VerificationError, "verification", client.get, "fake://bucket/p.zip", tmp_path / "e")
    assert server.connections == before


def test_a_verifier_may_ask_a_server_of_its_own(server: Server, tmp_path: Path) -> None:
    class Asking(Guard):
        def verify(self, gate: Gate, subject: Any, context: Context) -> None:
            super().verify(gate, subject, context)
            context.network.session().request("GET", f"{server.url}/policy", context).close()

    asking, other = Asking(name="asking"), Guard(name="other")
    plugin = FakePlugin(FakeGetter(answer=lambda *_: blob(ZIP)), verifiers=(asking, other))
    with Client(plugins=(plugin,), environ={"GETMODULES_PLUGINS": ""}, use_cache=False) as client:
        client.get("fake://a/p.zip", tmp_path / "d")
    assert asking.urls == ["fake://a/p.zip"]
    assert other.urls == [f"{server.url}/policy", "fake://a/p.zip"]
    other.words = ("/policy",)
    before = server.connections
    with Client(plugins=(plugin,), environ={"GETMODULES_PLUGINS": ""}, use_cache=False) as client:
        refusal(VerificationError, "verification", client.get, "fake://a/p.zip", tmp_path / "e")
    assert server.connections == before


def test_paths_are_asked_about_as_well(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    guard = Guard(("file://",))
    refusal(VerificationError, "verification", _client(guard).get, str(tmp_path / "src"), tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_verifier_that_breaks_is_blamed(tmp_path: Path) -> None:
    verifier = FakeVerifier(gates=(Gate.ADDRESS,), raises=RuntimeError("broken"))
    getter = FakeGetter(answer=blob(ZIP))
    client = client_with(getter, verifiers=(verifier,))
    refusal(PluginContractError, "plugin-contract", client.get, "fake://a/p.zip", tmp_path / "d")
    assert getter.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_demand_at_this_gate_is_refused_since_nobody_would_look_at_it(tmp_path: Path) -> None:
    from getmodules import Demand

    class Demanding(FakeGetter):
        def demands(self, package: PackageAddress) -> Any:
            return (Demand(gate=Gate.ADDRESS, check="x", value="y", by="z"),)

    client = client_with(Demanding(answer=blob(ZIP), pin=a_pin()))
    refusal(PluginContractError, "plugin-contract", client.get, "fake://a/p.zip", tmp_path / "d")


def test_nobody_is_asked_where_no_address_is_contacted(tmp_path: Path) -> None:
    guard = Guard(("",))
    client = _client(guard)
    assert str(client.detect("https://h.example/p.zip")) == "https://h.example/p.zip"
    assert guard.seen == []
