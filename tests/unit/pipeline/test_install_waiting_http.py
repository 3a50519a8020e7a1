"""Packages of web servers: whatever a server lets one of them wait for, the others go on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Credential, Origin, hookimpl
from getmodules.net.settings import NetSettings
from getmodules.pipeline.batch import Job, install_all
from getmodules.util.redact import Secret
from tests.support.certificates import make_authority
from tests.support.fakes import ZIP
from tests.support.servers import Connection, Received, serving

PACKAGES = 4
PATIENCE = 60
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: %d\r\n\r\n" % len(ZIP) + ZIP
HEAD = WHOLE.index(b"\r\n\r\n")


def client_of(**more: Any) -> Client:
    return Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False, **more)


def installed(client: Client, url: str, place: Path) -> int:
    """How many of the packages came, side by side."""
    sources = [f"{url}/p{number}.zip" for number in range(PACKAGES)]
    jobs = [
        Job(name=str(number), address=client.detect(source), dest=place / str(number), source=source)
        for number, source in enumerate(sources)
    ]
    return len(install_all(jobs, client._services.operation()).done)


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(0, id="nothing yet"),
        pytest.param(5, id="a part of the status line"),
        pytest.param(30, id="a part of the headers"),
        pytest.param(HEAD + 4, id="all but the body"),
        pytest.param(HEAD + 24, id="a part of the body"),
    ],
)
def test_an_answer_that_comes_when_the_others_are_asked_for(tmp_path: Path, sent: int, *, tls: bool) -> None:
    all_asked = threading.Barrier(PACKAGES)

    def answer(connection: Connection, _: Received) -> bool:
        connection.send(WHOLE[:sent])
        all_asked.wait(PATIENCE)
        connection.send(WHOLE[sent:])
        return True

    authority = make_authority(tmp_path) if tls else None
    settings = NetSettings(ca_file=authority.ca if authority else None)
    with (
        serving(answer, tls=authority.server_context() if authority else None) as server,
        client_of(network=settings) as client,
    ):
        assert installed(client, server.url, tmp_path / "modules") == PACKAGES


def test_a_server_that_never_stops_announcing_its_answer(tmp_path: Path) -> None:
    others = threading.Semaphore(0)

    def answer(connection: Connection, request: Received) -> bool:
        if request.target != "/p0.zip":
            connection.send(WHOLE)
            others.release()
            return True
        for _ in range(PACKAGES - 1):
            while not others.acquire(blocking=False):
                connection.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)
        connection.send(WHOLE)
        return True

    with serving(answer) as server, client_of() as client:
        assert installed(client, server.url, tmp_path) == PACKAGES


def test_a_pause_before_it_is_asked_for_again(tmp_path: Path) -> None:
    """Each is refused once, and asked for again only when the others have been refused as well."""
    refused = threading.Semaphore(0)
    seen: set[str] = set()

    def answer(connection: Connection, request: Received) -> bool:
        if request.target not in seen:
            seen.add(request.target)
            refused.release()
            return connection.reply("503 Busy", Retry_After="1")
        assert all(refused.acquire(timeout=PATIENCE) for _ in range(PACKAGES))
        for _ in range(PACKAGES):
            refused.release()
        connection.send(WHOLE)
        return True

    with serving(answer) as server, client_of() as client:
        assert installed(client, server.url, tmp_path) == PACKAGES


def test_credentials_of_a_plugin_that_asks_somebody(tmp_path: Path) -> None:
    all_ask = threading.Barrier(PACKAGES)

    class Credentials:
        name = "slow"

        def lookup(self, origin: Origin, path: str) -> Credential:
            all_ask.wait(PATIENCE)
            return Credential(secret=Secret("t0ken"), found_in="here")

    class Plugin:
        @hookimpl
        def getmodules_credentials(self) -> tuple[Credentials, ...]:
            return (Credentials(),)

    def answer(connection: Connection, request: Received) -> bool:
        connection.send(WHOLE)
        return True

    with serving(answer) as server, client_of(plugins=(Plugin(),)) as client:
        assert installed(client, server.url, tmp_path) == PACKAGES
        assert {request.headers.get("Authorization") for request in server.received} == {"Bearer t0ken"}
