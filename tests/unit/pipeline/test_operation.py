"""An operation, and the run of a package in it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from getmodules import AuthenticationError, Client, Credential, InstallError, Origin, PackageAddress, hookimpl
from getmodules.api.model import Gate, Members
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline.install import SMALL_BYTES, alone_with
from getmodules.pipeline.operation import Operation
from getmodules.pipeline.receive import Package
from getmodules.util.redact import Secret
from getmodules.util.values import replace
from tests.support.fakes import FakePlugin, FakeVerifier
from tests.support.refusals import refusal

ORIGIN = Origin("https", "h.example", 443)
PACKAGE = PackageAddress(getter="https", url="https://h.example/p.zip")


class _Credentials:
    name = "asks"

    def __init__(self) -> None:
        self.asked: list[Origin] = []

    def lookup(self, origin: Origin, path: str) -> Credential:
        self.asked.append(origin)
        return Credential(secret=Secret("of a plugin"), found_in="here")

    @hookimpl
    def getmodules_credentials(self) -> tuple[Any, ...]:
        return (self,)


def _operation(*plugins: object, **environ: str) -> Operation:
    client = Client(environ={"GETMODULES_PLUGINS": "", **environ}, plugins=plugins, use_cache=False)
    return client._services.operation()


def _credential(operation: Operation, place: Path) -> Credential | None:
    with operation.package(PACKAGE, lambda name: place / name, cached=False) as run:
        return run.context.credentials(ORIGIN, "/")


def test_the_environment_is_nearer_than_a_plugin(tmp_path: Path) -> None:
    plugin = _Credentials()
    found = _credential(_operation(plugin, GETMODULES_TOKEN_h_example="of the environment"), tmp_path)
    assert found is not None
    assert found.secret == Secret("of the environment")
    assert plugin.asked == []


def test_a_plugin_is_asked_where_the_environment_has_none(tmp_path: Path) -> None:
    plugin = _Credentials()
    found = _credential(_operation(plugin), tmp_path)
    assert found is not None
    assert found.secret == Secret("of a plugin")
    assert plugin.asked == [ORIGIN]


@pytest.mark.parametrize("by", ["plugin", "environment"])
def test_nobody_is_handed_a_credential_for_a_host_without_tls_by_a_manifests_word(by: str, tmp_path: Path) -> None:
    network = ClientNetwork(NetSettings(credentials_in_clear=frozenset()))
    environ = {"GETMODULES_TOKEN_h_example": "t0ken"} if by == "environment" else {}
    operation = replace(_operation(_Credentials(), **environ), network=network)
    with operation.package(PACKAGE, lambda name: tmp_path / name, cached=False) as run:
        ask = run.context.credentials
        error = refusal(AuthenticationError, "authentication", ask, Origin("http", "h.example", 80), "/")
        assert error.looked_in == (("GETMODULES_TOKEN_h_example",) if by == "environment" else ("here",))
        assert "--plain-http h.example" in str(error.typed_hint)
        assert ask(Origin("http", "localhost", 80), "/") is not None, "the plugin has one for all hosts"
        assert ask(ORIGIN, "/") is not None


def _is_held(operation: Operation) -> bool:
    """Another thread is asked: the one that holds the lock may take it again."""
    lock: Any = operation.lock

    def take() -> bool:
        taken = lock.acquire(blocking=False)
        if taken:
            lock.release()
        return not taken

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(take).result()


@pytest.mark.parametrize(
    ("packed", "is_at_hand", "alone"),
    [
        pytest.param(SMALL_BYTES, True, True, id="small"),
        pytest.param(SMALL_BYTES + 1, True, False, id="large"),
        pytest.param(SMALL_BYTES, False, False, id="read by somebody who may wait"),
        pytest.param(None, True, False, id="no archive"),
    ],
)
def test_small_archives_are_written_one_at_a_time(packed: int | None, *, is_at_hand: bool, alone: bool) -> None:
    operation = _operation()
    package = Package(members=Members(()), plugins=(), packed_bytes=packed, is_at_hand=is_at_hand)
    with alone_with(package, operation):
        assert _is_held(operation) is alone
    assert not _is_held(operation)


@pytest.mark.parametrize(("gate", "alone"), [(Gate.PIN, True), (Gate.BYTES, True), (Gate.TREE, False)])
def test_nobody_waits_for_a_plugin_that_judges_trees(gate: Gate, *, alone: bool) -> None:
    operation = _operation(FakePlugin(verifiers=(FakeVerifier(gates=(gate,)),)))
    package = Package(members=Members(()), plugins=(), packed_bytes=SMALL_BYTES, is_at_hand=True)
    with alone_with(package, operation):
        assert _is_held(operation) is alone


def test_a_workshop_is_the_packages_own(tmp_path: Path) -> None:
    operation = _operation()
    with (
        operation.package(PACKAGE, lambda name: tmp_path / name, cached=False) as run,
        run.context.workshop("key") as directory,
    ):
        assert directory.parent == tmp_path


def test_cancelled_is_cancelled() -> None:
    operation = _operation()
    operation.checkpoint()
    operation.cancelled.set()
    with pytest.raises(InstallError):
        operation.checkpoint()
