"""What a fault can do with one request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from getmodules.testing import FAULTS, Registry
from getmodules.testing.faults.fault import Fault, is_any
from getmodules.testing.registry.server import Exchange
from getmodules.testing.registry.wire import Answer, Body
from tests.support.registryclient import Client, ask, push_blob


@pytest.fixture
def misbehave(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Exchange], None]], None]:
    def turned_on(perform: Callable[[Exchange], None]) -> None:
        table = {**FAULTS, "own": Fault("own", "a fault of the test", is_any, perform)}
        monkeypatch.setattr("getmodules.testing.registry.service.FAULTS", table)
        registry.fault("own")

    return turned_on


def test_it_may_send_the_right_answer(registry: Registry, misbehave: Callable[..., None]) -> None:
    misbehave(lambda exchange: exchange.send(exchange.answer()))
    assert ask(registry, "GET", "/v2/").status == 200


def test_a_body_is_not_sent_to_who_asks_for_the_head(registry: Registry, misbehave: Callable[..., None]) -> None:
    misbehave(lambda exchange: exchange.send(Answer(200, (), Body.of(b"four"))))
    with Client(registry) as client:
        reply = client.ask("HEAD", "/v2/")
        assert (reply.header("Content-Length"), reply.body) == ("4", b"")
        assert client.ask("GET", "/v2/").body == b"four"


def test_a_request_is_read_to_its_end_before_it_is_answered(registry: Registry, misbehave: Callable[..., None]) -> None:
    misbehave(lambda exchange: exchange.send(Answer(500)))
    with Client(registry) as client:
        for _ in range(2):
            assert client.ask("POST", "/v2/a/blobs/uploads/", b"x" * (3 << 20)).status == 500


def test_the_whole_answer_to_a_request_for_a_range(registry: Registry, misbehave: Callable[..., None]) -> None:
    digest = push_blob(registry, "a", b"data")
    misbehave(lambda exchange: exchange.send(exchange.whole_answer()))
    reply = ask(registry, "GET", f"/v2/a/blobs/{digest}", headers={"Range": "bytes=1-"})
    assert (reply.status, reply.body) == (200, b"data")


def test_it_may_end_the_connection(registry: Registry, misbehave: Callable[..., None]) -> None:
    misbehave(Exchange.end)
    with pytest.raises(ConnectionError):
        ask(registry, "GET", "/v2/")
