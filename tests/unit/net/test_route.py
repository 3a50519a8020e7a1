"""The place that an error names: the host and port that were connected to, the step, and who sent us there."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from getmodules.api.http import Call
from getmodules.errors import FetchError, NetworkError
from getmodules.net.route import Route, Step, route_to, sent_by
from getmodules.net.session import Session
from getmodules.net.settings import NetSettings
from getmodules.net.wire import Wire
from getmodules.util.values import replace
from tests.support.certificates import Authority
from tests.support.contexts import QUICK, a_context
from tests.support.servers import Answer, Connection, Received, free_port, serving

ONCE = replace(QUICK, retries=0)
#: A name that no resolver knows (RFC 6761).
NOBODY = "nobody.invalid"
WAY = "where registry.example sent us"


@pytest.mark.parametrize(
    ("url", "proxy", "step", "to_proxy", "place"),
    [
        pytest.param("https://h/x?y", None, Step.CONNECT, False, "connecting to h:443, W", id="a port"),
        pytest.param("http://[::1]:5000/", None, Step.RECEIVE, False, "receiving from [::1]:5000, W", id="IPv6"),
        pytest.param("https://u:p@h/", None, Step.SEND, False, "sending the request to h:443, W", id="no user"),
        pytest.param(
            "https://h/", "http://u:p@p:3128", Step.CONNECT, True, "connecting to p:3128, the proxy for h:443, W",
            id="the proxy itself",
        ),
        pytest.param(
            "https://h/", "http://p:3128", Step.HANDSHAKE, False,
            "TLS handshake with h:443, W, through the proxy p:3128",
            id="through a proxy",
        ),
    ],
)  # fmt: skip
def test_a_place(url: str, proxy: str | None, step: Step, to_proxy: bool, place: str) -> None:
    assert route_to(url, proxy, WAY).at(step, to_proxy=to_proxy) == place.replace("W", WAY)


def test_a_place_that_somebody_typed() -> None:
    assert Route(server="h:443", proxy="p:1").at(Step.RECEIVE) == "receiving from h:443 through the proxy p:1"
    assert sent_by("https://ada:secret@h:5000/x?signature") == "where h:5000 sent us"


def send(url: str, settings: NetSettings = ONCE, **more: object) -> FetchError:
    wire = Wire(settings)
    try:
        with pytest.raises(FetchError) as caught:
            Session(wire).send(Call(method="GET", url=url, read=1000, **more), a_context())  # type: ignore[arg-type]
    finally:
        wire.close()
    return caught.value


def silent(connection: Connection, _: Received) -> bool:
    connection.sleep(10)
    return False


def cut(connection: Connection, _: Received) -> bool:
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    return False


def unfinished(connection: Connection, _: Received) -> bool:
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    connection.sleep(10)
    return False


def compressed(connection: Connection, _: Received) -> bool:
    return connection.reply("200 OK", b"x", Content_Encoding="gzip")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(silent, "waiting for the answer of {}: no complete answer within 1.5 seconds", id="silent"),
        pytest.param(
            lambda connection, _: connection.reset(),
            "waiting for the answer of {}: connection reset by peer",
            id="reset",
        ),
        pytest.param(cut, "receiving from {}: the connection ended in the middle of the body", id="cut"),
        pytest.param(unfinished, "receiving from {}: ", id="a body that stops"),
        pytest.param(compressed, "receiving from {}: the server sent the body as gzip", id="compressed"),
    ],
)
def test_the_step_that_failed(answer: Answer, said: str) -> None:
    with serving(answer) as server:
        error = send(f"{server.url}/x")
        assert error.code.startswith("network")
        assert error.message.startswith(said.format(f"127.0.0.1:{server.port}"))


def test_nobody_listens() -> None:
    port = free_port()
    error = send(f"http://127.0.0.1:{port}/x")
    assert error.message == f"connecting to 127.0.0.1:{port}: connection refused"


def test_a_redirect_names_where_it_led(authority: Authority) -> None:
    with serving(lambda connection, _: connection.reply("302 Found", b"", Location=f"http://{NOBODY}/x")) as server:
        error = send(f"{server.url}/x")
        way = f"where 127.0.0.1:{server.port} sent us"
        assert error.message == f"connecting to {NOBODY}:80, {way}: name or service not known"
        assert "spelled right" in (error.hint or "")
        assert len(server.received) == 1  # a name that there is not is not asked for again


def test_the_way_of_the_call_and_of_the_context() -> None:
    port = free_port()
    wire = Wire(ONCE)
    context = a_context(way="the mirror of ghcr.io")
    for way, said in ((None, "the mirror of ghcr.io"), (WAY, WAY)):
        with pytest.raises(NetworkError) as caught:
            Session(wire).send(Call(method="GET", url=f"http://127.0.0.1:{port}/", way=way), context)
        assert caught.value.message == f"connecting to 127.0.0.1:{port}, {said}: connection refused"


def test_a_server_without_tls(authority: Authority) -> None:
    with serving(silent) as server:
        settings = replace(ONCE, ca_file=str(authority.ca), connect_seconds=20)
        error = send(f"https://127.0.0.1:{server.port}/x", settings)
        assert error.message == f"TLS handshake with 127.0.0.1:{server.port}: not done within 1.5 seconds"
        assert error.code == "network/timeout"


def test_a_certificate_that_nobody_knows(authority: Authority) -> None:
    with serving(silent, tls=authority.server_context()) as server:
        error = send(f"https://127.0.0.1:{server.port}/x")
        assert error.message.startswith(f"TLS handshake with 127.0.0.1:{server.port}: the server's certificate")
        assert error.code == "network/certificate"
        assert "--ca-file" in (error.typed_hint or "")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there(scheme: str) -> None:
    port = free_port()
    settings = replace(ONCE, proxies={scheme: f"http://ada:hunter2@127.0.0.1:{port}"})
    error = send(f"{scheme}://registry.example/x", settings)
    server = "registry.example:80" if scheme == "http" else "registry.example:443"
    assert error.message == f"connecting to 127.0.0.1:{port}, the proxy for {server}: connection refused"
    assert "https_proxy" in (error.hint or "")


def test_a_proxy_that_cannot_connect() -> None:
    with serving(lambda connection, _: connection.reply("504 No")) as proxy:
        error = send("https://registry.example/x", replace(ONCE, proxies={"https": proxy.url}))
        place = f"connecting to registry.example:443 through the proxy 127.0.0.1:{proxy.port}"
        assert error.message == f"{place}: the proxy answered 504 when it was asked to connect"


# ------------------------------------------------------------------------------------------- connecting


@contextmanager
def names(answer: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr("getmodules.net.connecting.socket.getaddrinfo", answer)
        yield


def test_a_silent_name_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    released = threading.Event()
    with names(lambda *_, **__: released.wait(30) or [], monkeypatch):
        error = send("http://slow.example/x", replace(ONCE, connect_seconds=0.3))
        released.set()
    assert error.message == "connecting to slow.example:80: not done within 0.3 seconds"


@pytest.mark.parametrize(
    ("number", "asked", "said"),
    [
        pytest.param(socket.EAI_NONAME, 1, "name or service not known", id="there is no such name"),
        pytest.param(socket.EAI_AGAIN, 3, "temporary failure", id="it may be known in a moment"),
    ],
)
def test_names_that_are_not_found(number: int, asked: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def answer(host: object, *_: object, **__: object) -> object:
        calls.append(host)
        raise socket.gaierror(number, "Temporary failure in name resolution")

    with names(answer, monkeypatch):
        error = send("http://h.example/x", replace(QUICK, retries=2))
    assert len(calls) == asked
    assert error.message.startswith(f"connecting to h.example:80: {said}")


def test_the_second_address_has_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one may be a black hole: its backlog is full, and nothing answers."""
    hole = socket.socket()
    hole.bind(("127.0.0.1", 0))
    hole.listen(0)
    waiting = [socket.socket() for _ in range(4)]
    for each in waiting:
        each.setblocking(False)
        with suppress(BlockingIOError):
            each.connect(hole.getsockname())
    with serving(lambda connection, _: connection.reply("200 OK", b"body")) as server:
        places = [hole.getsockname(), ("127.0.0.1", server.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
        with names(lambda *_, **__: found, monkeypatch):
            wire = Wire(replace(ONCE, connect_seconds=1))
            answer = Session(wire).send(Call(method="GET", url="http://h.example/x"), a_context())
            assert answer.read() == b"body"
            wire.close()
    for each in (hole, *waiting):
        each.close()
