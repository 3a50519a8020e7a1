"""The sockets and threads: where it listens, TLS, and that nothing is left."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules import ConfigError
from getmodules.testing import Registry, tls_context
from getmodules.testing.registry.server import Server
from tests.support.refusals import refusal
from tests.support.registryclient import Client, ask, make_certificate, talk
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[Registry]:
    with Registry(tls=tls_context(*certificate)) as registry:
        registry.push_module("a", "1.0", {"main.tf": ""})
        yield registry


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "localhost", "example.com", "", "127.1", "300.1.1.1"])
def test_it_listens_on_loopback_only(host: str) -> None:
    before = descriptors()
    error = refusal(ConfigError, "config", Registry(host=host).start)
    assert error.hint is not None
    assert "127.0.0.1" in error.hint
    assert descriptors() == before


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1"])
def test_every_loopback_address_will_do(host: str) -> None:
    try:
        registry = Registry(host=host).start()
    except ConfigError as error:
        pytest.skip(f"this machine has no {host}: {error}")
    with registry_stopped(registry):
        assert registry.host.startswith(f"[{host}]:" if ":" in host else f"{host}:")
        assert ask(registry, "GET", "/v2/").status == 200


class registry_stopped:  # noqa: N801 - reads as the function that it stands for
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        self._registry.stop()


def test_a_port_that_is_taken_or_none_is_said(registry: Registry) -> None:
    port = int(registry.host.rpartition(":")[2])
    for wrong in (port, 65536, -1):
        assert str(wrong) in refusal(ConfigError, "config", Registry(port=wrong).start).message


def test_the_same_port_serves_again_at_once() -> None:
    with Registry() as registry:
        port = int(registry.host.rpartition(":")[2])
        assert ask(registry, "GET", "/v2/").status == 200
    with Registry(port=port) as registry:
        assert registry.url == f"http://127.0.0.1:{port}"
        assert ask(registry, "GET", "/v2/").status == 200


# --------------------------------------------------------------------------------------------- TLS


def test_tls(secure: Registry, certificate: tuple[Path, Path]) -> None:
    context = ssl.create_default_context(cafile=str(certificate[0]))
    assert secure.url.startswith("https://127.0.0.1:")
    with Client(secure, context) as client:
        for _ in range(3):
            assert client.ask("GET", "/v2/a/tags/list").json()["tags"] == ["1.0"]
        assert len(client.ask("GET", "/v2/a/manifests/1.0").body) > 100


def test_plain_http_to_a_tls_port_is_told_so_at_once(secure: Registry) -> None:
    assert talk(secure, b"GET /v2/ HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.0 400 Bad Request\r\n")
    assert secure.requests == ()


def test_tls_to_a_plain_port_is_answered_at_once_with_what_is_no_tls(registry: Registry) -> None:
    host, _, port = registry.host.rpartition(":")
    began = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=10) as wire, pytest.raises(ssl.SSLError):
        ssl.create_default_context().wrap_socket(wire, server_hostname="localhost")
    assert time.monotonic() - began < 2
    assert registry.requests == ()


def test_a_handshake_that_fails_harms_nobody(secure: Registry, certificate: tuple[Path, Path]) -> None:
    host, _, port = secure.host.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as wire, pytest.raises(ssl.SSLError):
        ssl.create_default_context().wrap_socket(wire, server_hostname="localhost")
    talk(secure, b"\x16\x03\x01\x00\x04nope", seconds=1)
    with Client(secure, ssl.create_default_context(cafile=str(certificate[0]))) as client:
        assert client.ask("GET", "/v2/").status == 200


def test_a_certificate_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    refusal(ConfigError, "config", tls_context, tmp_path / "x", tmp_path / "x")
    refusal(ConfigError, "config", tls_context, tmp_path / "missing", tmp_path / "missing")


# --------------------------------------------------------------------------------------------- the end


@pytest.mark.parametrize("tls", [False, True])
def test_nothing_is_left(certificate: tuple[Path, Path], tls: bool) -> None:
    threads, before = threading.active_count(), descriptors()
    registry = Registry(tls=tls_context(*certificate) if tls else None).start()
    host, _, port = registry.host.rpartition(":")
    context = ssl.create_default_context(cafile=str(certificate[0]))
    idle = [socket.create_connection((host, int(port))) for _ in range(3)]
    if tls:
        idle[0] = context.wrap_socket(idle[0], server_hostname="localhost")
    idle[0].sendall(b"GET /v2/ HTTP/1.1\r\n\r\n")
    assert idle[0].recv(100).startswith(b"HTTP/1.1 200 ")
    idle[1].sendall(b"\x16" if tls else b"GET /half")
    with registry.fault("silent"):
        idle[0].sendall(b"GET /v2/ HTTP/1.1\r\n\r\n")
        while len(registry.requests) < 2:
            time.sleep(0.01)
        began = time.monotonic()
        registry.stop()
        assert time.monotonic() - began < 5
    registry.stop()
    assert threading.active_count() <= threads
    for wire in idle:
        wire.close()
    assert descriptors() == before


class SlowToWrap(ssl.SSLContext):
    """Has taken the descriptor out of the plain socket, and not handed out the other one yet."""

    between: threading.Event

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        secured = super().wrap_socket(*args, **options)
        self.between.set()
        time.sleep(0.3)
        return secured


def test_a_connection_between_plain_and_secured_does_not_hold_up_the_end(certificate: tuple[Path, Path]) -> None:
    context = SlowToWrap(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.between = threading.Event()
    registry = Registry(tls=context).start()
    host, _, port = registry.host.rpartition(":")
    with socket.create_connection((host, int(port))) as wire:
        wire.sendall(b"\x16")
        assert context.between.wait(5)
        began = time.monotonic()
        registry.stop()
        assert time.monotonic() - began < 5


def test_clients_that_come_and_go_leave_nothing(registry: Registry) -> None:
    threads = threading.active_count()
    for _ in range(30):
        assert ask(registry, "GET", "/v2/").status == 200
    host, _, port = registry.host.rpartition(":")
    for _ in range(10):
        socket.create_connection((host, int(port))).close()
    wait_until(lambda: threading.active_count() <= threads, "a thread is left")


def test_a_server_that_fails_to_serve_closes_the_connection(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        patch.setattr(threading, "excepthook", lambda arguments: seen.append(arguments.exc_type))
        server = Server(lambda connection: 1 / 0)  # type: ignore[arg-type,return-value]
        with socket.create_connection(server.address) as wire:
            wire.sendall(b"x")
            try:
                assert wire.recv(1) == b""
            except ConnectionResetError:
                pass  # what was sent had not been read
        server.stop()
    assert seen == [ZeroDivisionError]
