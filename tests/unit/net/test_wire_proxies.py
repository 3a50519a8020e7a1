"""Proxies: asked for what is theirs to do, with their credentials, which nobody gets to see."""

from __future__ import annotations

import base64
import logging
import socket
import ssl
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from getmodules.api.http import Call
from getmodules.errors import AuthenticationError, ConfigError, FetchError, GetModulesError, NetworkError
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.certificates import Authority
from tests.support.contexts import a_context
from tests.support.refusals import refusal, words_of
from tests.support.servers import Answer, Connection, Received, Server, replying, serving

GRANTED = "Basic " + base64.b64encode(b"ada:hunter2").decode()


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def tunnel_to(port: int) -> Answer:
    """Wherever it is asked to connect to: to ``port`` of this machine."""

    def answer(connection: Connection, request: Received) -> bool:
        if request.headers.get("Proxy-Authorization") != GRANTED:
            return connection.reply("407 Proxy Authentication Required", b"", Proxy_Authenticate="Basic")
        with socket.create_connection(("127.0.0.1", port), 5) as onward:
            connection.send("HTTP/1.1 200 Connected\r\n\r\n")
            back = threading.Thread(target=pump, args=(onward, connection.socket))
            back.start()
            pump(connection.socket, onward)
            back.join()
        return False

    return answer


@contextmanager
def behind(proxy: Server, userinfo: str = "ada:hunter2@", **more: object) -> Iterator[ClientNetwork]:
    url = f"{'https' if proxy.tls else 'http'}://{userinfo}{proxy.host}:{proxy.port}"
    network = ClientNetwork(
        NetSettings(proxies={"http": url, "https": url}, retries=2, backoff_seconds=0.01, timeout=3, **more)  # type: ignore[arg-type]
    )
    yield network
    network.close()


def get(network: ClientNetwork, url: str) -> bytes:
    answer: bytes = network.session().send(Call(method="GET", url=url), a_context()).read()
    return answer


def test_tls_goes_through_the_proxy_to_a_name_that_only_it_knows(authority: Authority) -> None:
    """The certificate is for localhost, which the proxy is asked for."""
    with (
        serving(lambda connection, _: connection.reply("200 OK", b"inside"), tls=authority.server_context()) as target,
        serving(tunnel_to(target.port)) as proxy,
        behind(proxy, ca_file=str(authority.ca)) as network,
    ):
        assert get(network, "https://localhost:1/x") == b"inside"
        assert [request.line.split()[:2] for request in proxy.received] == [["CONNECT", "localhost:1"]]
        assert "Proxy-Authorization" not in target.received[0].headers
        assert "hunter2" not in repr(network.settings)


def test_plain_http_is_asked_of_the_proxy() -> None:
    with serving(lambda connection, _: connection.reply("200 OK", b"by proxy")) as proxy, behind(proxy) as network:
        assert get(network, "http://registry.example/x?y=z") == b"by proxy"
        (request,) = proxy.received
        assert request.line == "GET http://registry.example/x?y=z HTTP/1.1"
        assert request.headers["Proxy-Authorization"] == GRANTED


@pytest.mark.parametrize(
    ("userinfo", "pair"),
    [
        pytest.param("ada:p€@", "ada:p€", id="not ASCII"),
        pytest.param("ada:a%2Fb%25@", "ada:a/b%", id="encoded"),
        pytest.param("t0ken@", "t0ken:", id="no password"),
    ],
)
def test_what_a_proxy_is_shown(userinfo: str, pair: str) -> None:
    with (
        serving(lambda connection, _: connection.reply("200 OK", b"")) as proxy,
        behind(proxy, userinfo) as network,
    ):
        get(network, "http://registry.example/x")
        shown = proxy.received[0].headers["Proxy-Authorization"]
        assert shown == f"Basic {base64.b64encode(pair.encode()).decode()}"


@pytest.mark.parametrize("url", ["http://registry.example/x", "https://registry.example/x"])
def test_a_proxy_whose_certificate_is_not_trusted_is_asked_nothing(
    url: str, authority: Authority, recwarn: pytest.WarningsRecorder
) -> None:
    def answer(connection: Connection, _: Received) -> bool:
        return connection.reply("200 OK", b"forged")

    with serving(answer, tls=authority.server_context()) as proxy, behind(proxy) as network:
        refusal(NetworkError, "network/certificate", get, network, url)
        assert proxy.received == []
    assert not recwarn.list


def test_a_proxy_is_judged_by_its_own_authorities_and_shown_no_certificate_of_the_host(authority: Authority) -> None:
    shown: list[object] = []

    def answer(connection: Connection, _: Received) -> bool:
        shown.append(connection.socket.getpeercert())  # type: ignore[attr-defined]
        return connection.reply("200 OK", b"by proxy")

    tls = authority.server_context()
    tls.verify_mode = ssl.CERT_OPTIONAL
    tls.load_verify_locations(authority.ca)
    with serving(answer, tls=tls) as proxy:
        mine = {"registry.example": str(authority.client)}
        with behind(
            proxy, ca_files={f"127.0.0.1:{proxy.port}": str(authority.ca)}, client_certificates=mine
        ) as network:
            assert get(network, "http://registry.example/x") == b"by proxy"
        assert proxy.received[0].headers["Proxy-Authorization"] == GRANTED
    assert shown == [None]


def test_authorities_for_a_proxy_that_cannot_be_used_are_told(authority: Authority) -> None:
    with (
        serving(lambda connection, _: False, tls=authority.server_context()) as proxy,
        behind(proxy, ca_file="/nonexistent") as network,
    ):
        refusal(ConfigError, "config", get, network, "http://registry.example/x")


def test_a_proxy_without_credentials_is_shown_none() -> None:
    with serving(lambda connection, _: connection.reply("200 OK", b"")) as proxy, behind(proxy, "") as network:
        get(network, "http://registry.example/x")
        assert "Proxy-Authorization" not in proxy.received[0].headers


@pytest.mark.parametrize(
    ("status", "kind", "code", "requests"),
    [
        pytest.param("407 Proxy Authentication Required", AuthenticationError, "authentication", 1, id="407"),
        pytest.param("403 Forbidden", AuthenticationError, "authentication/forbidden", 1, id="403"),
        pytest.param("502 Bad Gateway", NetworkError, "network", 3, id="502 may pass"),
    ],
)
def test_a_proxy_that_does_not_connect_us(status: str, kind: type[FetchError], code: str, requests: int) -> None:
    with (
        serving(lambda connection, _: connection.reply(status, b"")) as proxy,
        behind(proxy, "ada:hunter3@") as network,
    ):
        error = refusal(kind, code, get, network, "https://registry.example/x?sig=s3cr3t")
        assert len(proxy.received) == requests
        assert "proxy" in error.message
        assert "hunter3" not in words_of(error)


@pytest.mark.parametrize(
    ("status", "where"),
    [("407 {}", ""), ("500 {}", ""), ("302 Found", "ftp://x/{}"), ("200 {}", ""), ("{}", "")],
)
@pytest.mark.parametrize("said", ["hunter/2", "hunter%2F2", "ada:hunter/2", "YWRhOmh1bnRlci8y"])
def test_what_a_proxy_says_of_its_own_credentials_is_not_shown(
    status: str, where: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="getmodules")

    def answer(connection: Connection, _: Received) -> bool:
        body = f"no {said}".encode()
        return connection.reply(status.format(said), body, Location=where.format(said), Content_Encoding=said)

    with serving(answer) as proxy, behind(proxy, "ada:hunter%2F2@") as network:
        with pytest.raises(GetModulesError) as caught:
            get(network, "http://registry.example/x")
        assert proxy.received
    assert said not in words_of(caught.value)
    assert said not in caplog.text


def test_what_is_known_of_a_proxy_judges_nothing() -> None:
    """Its user may be called as a host is. What a server says is judged by what was sent to the server."""
    with serving(replying("200 OK", b"corp")) as proxy, behind(proxy, "corp@") as network:
        answer = network.session().send(Call(method="GET", url="http://files.corp.example/x"), a_context())
        assert (answer.mask("corp"), answer.shown("corp")) == ("corp", "****")
        answer.close()


@pytest.mark.parametrize("url", ["http://registry.example/x?path-s3cr3t", "https://registry.example/x?path-s3cr3t"])
def test_no_secret_is_in_the_traceback_of_a_failure(url: str) -> None:
    """Not the proxy's password, and not what the libraries say of the URL."""
    with serving(lambda connection, _: False) as proxy:
        pass
    with behind(proxy) as network, pytest.raises(NetworkError) as caught:
        get(network, url)
    shown = "".join(traceback.format_exception(caught.value))
    assert "hunter2" not in shown
    assert "path-s3cr3t" not in shown


# ------------------------------------------------------------------------------------- where it may not lead


class RefusedError(GetModulesError):
    pass


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        pytest.param("http://169.254.169.254/latest", True, id="an address"),
        pytest.param("http://[::1]/latest", True, id="IPv6"),
        pytest.param("http://localhost/latest", True, id="localhost"),
        pytest.param("http://localhost./latest", True, id="localhost with the root's dot"),
        pytest.param("http://a.localhost/latest", True, id="a name below localhost"),
        pytest.param("http://8.8.8.8/", False, id="a public address"),
        pytest.param("http://tokens.example/", False, id="a name, which is the proxy's to look up"),
    ],
)
def test_an_address_that_is_written_out_is_judged_behind_a_proxy_too(url: str, refused: bool) -> None:
    """And the proxy's own address, which is on this machine, is nobody's business."""

    def check(address: str) -> None:
        if address != "8.8.8.8":
            raise RefusedError(f"not {address}")

    with serving(lambda connection, _: connection.reply("200 OK", b"")) as proxy, behind(proxy) as network:
        call = Call(method="GET", url=url, check_address=check)
        if refused:
            with pytest.raises(RefusedError):
                network.session().send(call, a_context())
        else:
            network.session().send(call, a_context()).read()
        assert len(proxy.received) == (0 if refused else 1)
