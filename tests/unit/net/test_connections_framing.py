"""Where an answer begins and ends; what is wrong about it, ``tests/functional/test_http_hostile.py`` has in full."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from getmodules.api.http import Call
from getmodules.errors import NetworkError
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.certificates import Authority
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.servers import Answer, Connection, Received, Server, serving


@contextmanager
def answering(answer: Answer, authority: Authority | None = None) -> Iterator[tuple[Server, ClientNetwork]]:
    ca = str(authority.ca) if authority else None
    network = ClientNetwork(NetSettings(retries=0, ca_file=ca, timeout=20))
    with serving(answer, tls=authority.server_context() if authority else None) as server:
        yield server, network
    network.close()


def get(network: ClientNetwork, url: str) -> bytes:
    answer: bytes = network.session().send(Call(method="GET", url=url), a_context()).read()
    return answer


def saying(*parts: str, goes_on: bool = True) -> Answer:
    def answer(connection: Connection, _: Received) -> bool:
        connection.send("".join(parts))
        return goes_on

    return answer


OK = "HTTP/1.1 200 OK\r\n"
CHUNKED = f"{OK}Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(f"{OK}Content-Length: 5 \r\n\r\nhello", id="a blank behind the length"),
        pytest.param(f"{OK}Content-Length:\t5\t \r\n\r\nhello", id="tabs around it"),
        pytest.param(
            f"{OK}Transfer-Encoding: chunked \r\n\r\n5\r\nhello\r\n0\r\n\r\n", id="a blank behind the encoding"
        ),
        pytest.param(f"{OK}Transfer-Encoding: Chunked\t\r\n\r\n5\r\nhello\r\n0\r\n\r\n", id="a tab behind it"),
        pytest.param(f"{CHUNKED}5  \r\nhello\r\n0\r\n\r\n", id="a size that is filled up"),
        pytest.param(f"{CHUNKED}005\r\nhello\r\n000\r\n\r\n", id="zeros before a size"),
        pytest.param(f'{CHUNKED}5;a=b;c="d"\r\nhello\r\n0;e\r\n\r\n', id="extensions"),
        pytest.param(f"{CHUNKED}2\r\nhe\r\n3\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n", id="a trailer"),
    ],
)
def test_what_can_be_read_in_one_way_only(said: str) -> None:
    """Twice over one connection, so that nothing is left between the answers."""
    with answering(saying(said)) as (server, network):
        assert [get(network, server.url) for _ in range(2)] == [b"hello"] * 2
        assert server.connections == 1


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("+5\r\nhello\r\n0\r\n\r\n", id="a sign"),
        pytest.param("0x5\r\nhello\r\n0\r\n\r\n", id="a prefix"),
        pytest.param("5\nhello\r\n0\r\n\r\n", id="no carriage return"),
        pytest.param("5\r\nhello--0\r\n\r\n", id="junk behind a chunk"),
        pytest.param(f"{'0' * 17}5\r\nhello\r\n0\r\n\r\n", id="more digits than any size has"),
        pytest.param("0" * 70_000, id="a size without an end"),
    ],
)
def test_chunks_that_others_would_read_in_another_way(said: str) -> None:
    with answering(saying(CHUNKED, said)) as (server, network):
        error = refusal(NetworkError, "network", get, network, server.url)
    assert "chunk" in error.message


def test_a_redirect_with_a_blank_behind_it_is_followed() -> None:
    def answer(connection: Connection, request: Received) -> bool:
        if request.target == "/there":
            return connection.reply("200 OK", b"here")
        return connection.reply("302 Found", Location="/there ")

    with answering(answer) as (server, network):
        assert get(network, f"{server.url}/x") == b"here"


# ------------------------------------------------------------------------ bodies that the connection's end ends


def cut(connection: Connection, _: Received) -> bool:
    """The end without TLS's own: as anybody on the way can make it."""
    connection.send(f"{OK}Connection: close\r\n\r\nallow 10.0.0.0/8\n")
    return False


def ended(connection: Connection, request: Received) -> bool:
    cut(connection, request)
    if isinstance(connection.socket, ssl.SSLSocket):
        connection.socket.unwrap()
    return False


def test_over_tls_the_server_itself_ends_a_body(authority: Authority) -> None:
    with answering(cut, authority) as (server, network):
        refusal(NetworkError, "network", get, network, server.url)
    with answering(ended, authority) as (server, network):
        assert get(network, server.url) == b"allow 10.0.0.0/8\n"


@pytest.mark.parametrize(
    "framing", ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
)
def test_a_body_that_says_when_it_ends_needs_no_end_of_tls(framing: str, authority: Authority) -> None:
    said = saying(f"{OK}Connection: close\r\n", framing, goes_on=False)
    with answering(said, authority) as (server, network):
        assert get(network, server.url) == b"hello"


def test_in_the_clear_the_end_of_the_connection_is_the_end() -> None:
    with answering(cut) as (server, network):
        assert get(network, server.url) == b"allow 10.0.0.0/8\n"
