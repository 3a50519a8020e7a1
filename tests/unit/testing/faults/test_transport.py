"""Connections that break, hang, drip or flood."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from tests.support.registryclient import Stocked, ask, get, talk


@pytest.mark.parametrize("name", ["reset-before-headers", "reset-in-headers", "reset-in-body"])
def test_a_reset_is_a_reset_and_passes(stocked: Stocked, name: str) -> None:
    armed = stocked.registry.fault(name, times=2)
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            talk(stocked.registry, get(stocked.blob))
    assert ask(stocked.registry, "GET", stocked.blob).body == stocked.content
    assert armed.used == 2


def test_a_close_is_a_close(stocked: Stocked) -> None:
    with stocked.registry.fault("close-before-headers"):
        assert talk(stocked.registry, get(stocked.blob)) == b""


def test_silence(stocked: Stocked) -> None:
    with stocked.registry.fault("silent"):
        began = time.monotonic()
        assert talk(stocked.registry, get(stocked.blob), seconds=0.3) == b""
        assert time.monotonic() - began >= 0.3


def test_silence_in_the_body(stocked: Stocked) -> None:
    with stocked.registry.fault("silent-in-body"):
        received = talk(stocked.registry, get(stocked.blob), seconds=0.3)
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"Content-Length: %d" % len(stocked.content) in head
    assert 0 < len(body) < len(stocked.content)


@pytest.mark.parametrize("name", ["slow-headers", "slow-body"])
def test_one_byte_a_second(stocked: Stocked, name: str) -> None:
    with stocked.registry.fault(name):
        received = talk(stocked.registry, get(stocked.blob), seconds=0.5)
    dripped = received.partition(b"\r\n\r\n")[2] if name == "slow-body" else received
    assert len(dripped) == 1


def test_continue_without_end(stocked: Stocked) -> None:
    with stocked.registry.fault("endless-continue"):
        received = talk(stocked.registry, get(stocked.blob), most=50_000)
    assert received.count(b"HTTP/1.1 100 Continue\r\n\r\n") > 1500
    assert b"200" not in received


def test_headers_without_end(stocked: Stocked) -> None:
    with stocked.registry.fault("header-flood"):
        received = talk(stocked.registry, get(stocked.blob), most=5 << 20)
    assert received.count(b"\r\nX-Flood-") > 4000
    assert b"\r\n\r\n" not in received


def test_one_long_header(stocked: Stocked) -> None:
    with stocked.registry.fault("long-header"):
        received = talk(stocked.registry, get(stocked.tags), most=9 << 20, seconds=1)
    assert b"x" * (8 << 20) in received


def test_a_body_without_end(stocked: Stocked) -> None:
    with stocked.registry.fault("endless-body"):
        received = talk(stocked.registry, get(stocked.blob), most=20 << 20)
    assert len(received) >= 20 << 20
    assert b"Transfer-Encoding: chunked" in received[:1000]


def test_another_protocol(stocked: Stocked) -> None:
    with stocked.registry.fault("not-http"):
        assert talk(stocked.registry, get(stocked.blob)).startswith(b"SSH-2.0-")


@pytest.mark.parametrize("name", ["silent-in-body", "slow-headers", "endless-continue", "endless-body", "header-flood"])
def test_the_registry_stops_all_the_same(stocked: Stocked, name: str) -> None:
    def listen() -> None:
        with contextlib.suppress(ConnectionError):  # it may be cut off in the middle
            talk(stocked.registry, get(stocked.blob), most=1 << 40)

    threads = threading.active_count()
    stocked.registry.fault(name)
    client = threading.Thread(target=listen)
    client.start()
    while not stocked.registry.requests:
        time.sleep(0.01)
    began = time.monotonic()
    stocked.registry.stop()
    assert time.monotonic() - began < 3
    client.join(10)
    assert threading.active_count() < threads
