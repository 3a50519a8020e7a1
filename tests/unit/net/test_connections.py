"""Connections: to addresses that were allowed, whoever made them and however often they are used."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from getmodules.api.http import Call
from getmodules.errors import GetModulesError, NetworkError, NotFoundError
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.testing import Registry
from tests.support.certificates import make_authority
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, replying, serving


class RefusedError(GetModulesError):
    pass


def refuse(address: str) -> None:
    raise RefusedError(address)


ok = replying("200 OK", b"body")


def get(network: ClientNetwork, url: str, **more: Any) -> bytes:
    answer: bytes = network.session().send(Call(method="GET", url=url, **more), a_context()).read()
    return answer


def one_try() -> ClientNetwork:
    return ClientNetwork(NetSettings(retries=0, connect_seconds=2))


def test_a_connection_that_is_kept_is_no_way_around_the_check() -> None:
    with serving(ok) as server:
        network = one_try()
        get(network, f"{server.url}/x")
        with pytest.raises(RefusedError, match=r"127\.0\.0\.1"):
            get(network, f"{server.url}/y", check_address=refuse)
        assert [request.target for request in server.received] == ["/x"]
        assert get(network, f"{server.url}/z") == b"body"
        network.close()


def test_a_kept_connection_to_an_allowed_address_is_used_again() -> None:
    asked: list[str] = []
    with serving(ok) as server:
        network = one_try()
        for _ in range(2):
            get(network, server.url, check_address=asked.append)
        network.close()
        assert (asked, server.connections) == (["127.0.0.1"] * 2, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_answer_knows_the_address_that_it_came_from(host: str) -> None:
    with Registry(host=host) as server:
        network = one_try()
        for _ in range(2):
            answer = network.session().send(Call(method="GET", url=f"{server.url}/v2/"), a_context())
            assert answer.address == host
            answer.read()
        network.close()


def resolving_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def found(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr("getmodules.net.connecting.socket.getaddrinfo", found)


def test_the_next_address_is_tried_and_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with serving(ok) as server:
        resolving_to(monkeypatch, "127.0.0.9", "127.0.0.1")
        network = one_try()
        assert get(network, f"http://h.example:{server.port}/", check_address=asked.append) == b"body"
        network.close()
    assert asked == ["127.0.0.9", "127.0.0.1"]


@pytest.mark.parametrize(
    ("addresses", "said"),
    [pytest.param(["127.0.0.9"], "refused", id="nobody there"), pytest.param([], "no address", id="no address")],
)
def test_no_address_that_answers(monkeypatch: pytest.MonkeyPatch, addresses: list[str], said: str) -> None:
    with serving(ok) as server:
        port = server.port
    resolving_to(monkeypatch, *addresses)
    network = one_try()
    error = refusal(NetworkError, "network", get, network, f"http://h.example:{port}/", check_address=lambda _: None)
    assert said in error.message
    network.close()


def test_headers_that_end_in_the_middle_are_refused_without_a_word_of_the_url(caplog: pytest.LogCaptureFixture) -> None:
    """A warning of a library would go to stderr where nobody has set up any logging."""

    def broken(connection: Connection, _: Received) -> bool:
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-")
        return False

    with serving(broken) as server:
        network = one_try()
        error = refusal(NetworkError, "network", get, network, f"{server.url}/x?signature=s3cr3t")
        network.close()
    assert "headers" in error.message
    assert caplog.records == []


def test_a_type_that_would_have_parts_is_no_fault_of_the_headers() -> None:
    with serving(
        lambda connection, _: connection.reply("200 OK", b"body", Content_Type="multipart/mixed; boundary=x")
    ) as server:
        network = one_try()
        assert get(network, server.url) == b"body"
        network.close()


def test_what_is_closed_is_closed_though_somebody_keeps_the_error() -> None:
    ended = threading.Event()

    def missing(connection: Connection, _: Received) -> bool:
        connection.reply("404 Not Found")
        if not connection.socket.recv(1):
            ended.set()
        return False

    with serving(missing) as server:
        network = one_try()
        error = refusal(NotFoundError, "not-found", get, network, server.url)
        network.close()
        assert ended.wait(20)
        assert error.__traceback__ is not None


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_what_comes_before_it_is_asked_for_is_no_answer(tls: bool, tmp_path: Path) -> None:
    def hasty(connection: Connection, _: Received) -> bool:
        answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        connection.send(f"{answer}body{answer}evil")
        return True

    authority = make_authority(tmp_path) if tls else None
    with serving(hasty, tls=authority.server_context() if authority else None) as server:
        network = ClientNetwork(NetSettings(retries=0, ca_file=str(authority.ca) if authority else None))
        assert [get(network, server.url) for _ in range(3)] == [b"body"] * 3
        network.close()


def test_hints_before_the_answer_are_passed_over() -> None:
    def answer(connection: Connection, _: Received) -> bool:
        connection.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        return connection.reply("200 OK", b"body")

    with serving(answer) as server:
        network = one_try()
        assert [get(network, server.url), get(network, server.url)] == [b"body"] * 2
        assert server.connections == 1
        network.close()


def test_chunks_of_an_answer_that_has_no_body_are_not_waited_for() -> None:
    """A 304 may announce how its body would come."""

    def answer(connection: Connection, _: Received) -> bool:
        connection.send("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sleep(60)
        return False

    with serving(answer) as server:
        network = one_try()
        began = time.monotonic()
        assert get(network, server.url, accept=frozenset({304})) == b""
        assert time.monotonic() - began < 30
        network.close()
