"""Web servers that mean harm, or are broken: one error, nothing changed, nothing left, and nobody learns a secret."""

from __future__ import annotations

import base64
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from getmodules import Client, GetModulesError, Limits, Secret
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority
from tests.support.commandline import run
from tests.support.fakes import FILES, ZIP, Recorder, installed_files
from tests.support.hostilehttp import FAULTS, HASTY, PATIENT, TRIES, Fault, head, raw
from tests.support.refusals import words_of
from tests.support.servers import Answer, Connection, Received, Server, replying, serving
from tests.support.snapshots import snapshot
from tests.support.stores import nothing_half
from tests.support.waiting import wait_until

#: A ceiling, for what takes two seconds at most when nothing else runs.
SECONDS = 30
TOKEN, HEADER, ARGUMENT = "s3cr3t-t0ken", "s3cr3t-header", "s3cr3t-argument"
BASIC = base64.b64encode(f"ada:{TOKEN}".encode()).decode()
SECRETS = ("s3cr3t", BASIC)


@dataclass
class Place:
    """A destination with something in it, a store, and a user with secrets for one origin."""

    top: Path
    authority: Authority | None
    log: pytest.LogCaptureFixture
    recorder: Recorder = field(default_factory=Recorder)

    def __post_init__(self) -> None:
        for directory in (self.work / "dest", self.temporary, self.home):
            directory.mkdir(parents=True)
        (self.work / "dest" / "precious").write_bytes(b"what was here before")

    work = property(lambda self: self.top / "work")
    temporary = property(lambda self: self.top / "temporary")
    home = property(lambda self: self.top / "home")
    store = property(lambda self: self.top / "store")

    @property
    def tls(self) -> dict[str, object]:
        return {"tls": self.authority.server_context()} if self.authority else {}

    def get(self, server: Server, path: str, *, settings: NetSettings = PATIENT, **limits: int) -> None:
        origin = f"{server.host}:{server.port}"
        network = replace(
            settings,
            ca_file=str(self.authority.ca) if self.authority else None,
            headers={origin: {"Private-Token": Secret(HEADER)}},
        )
        variable = f"127_0_0_1_{server.port}"
        environ = {
            "GETMODULES_PLUGINS": "",
            "HOME": str(self.home),
            f"GETMODULES_TOKEN_{variable}": TOKEN,
            f"GETMODULES_USERNAME_{variable}": "ada",
        }
        allowed = Limits(**{"seconds": SECONDS, **limits})
        source = f"{server.url}{path}?archive=zip&token={ARGUMENT}"
        with Client(
            network=network, environ=environ, cache_dir=self.store, limits=allowed, progress=self.recorder
        ) as client:
            client.get(source, self.work / "dest", force=True)

    def refused(self, server: Server, path: str, **more: object) -> GetModulesError:
        """The error of getting what is there; all else is as it was, and nobody has heard a secret."""
        before = snapshot(self.work)
        began = time.monotonic()
        with pytest.raises(GetModulesError) as caught:
            self.get(server, path, **more)  # type: ignore[arg-type]
        assert time.monotonic() - began < SECONDS
        assert snapshot(self.work) == before
        assert list(self.temporary.iterdir()) == []
        nothing_half(self.store)
        assert not {"getmodules-spool", "getmodules-write"} & {thread.name for thread in threading.enumerate()}
        said = [words_of(caught.value), self.log.text, repr(self.recorder.events)]
        said += [content.decode("latin-1") for _, content in snapshot(self.top).values()]
        for text in said:
            assert not [secret for secret in SECRETS if secret in text]
        assert "\x1b" not in words_of(caught.value)
        return caught.value


@pytest.fixture(params=["clear", "tls"])
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    authority: Authority,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    caplog.set_level(logging.DEBUG, logger="getmodules")
    made = Place(tmp_path / "place", authority if request.param == "tls" else None, caplog)
    monkeypatch.setattr("tempfile.tempdir", str(made.temporary))
    return made


def knows_us(server: Server) -> None:
    """The credentials did go where they belong: a test of their absence elsewhere means something."""
    for request in server.received:
        assert request.headers["Authorization"] == f"Basic {BASIC}"
        assert request.headers["Private-Token"] == HEADER


def knows_nothing(server: Server) -> None:
    for request in server.received:
        assert not {"Authorization", "Private-Token", "Cookie", "Referer"} & set(request.headers)
        assert not [secret for secret in SECRETS if secret in f"{request.line}{request.headers}"]


def _as_parameter(fault: Fault) -> Any:
    takes_its_time = fault.settings is HASTY or fault.limits
    return pytest.param(fault, id=fault.name, marks=[pytest.mark.slow] if takes_its_time else [])


@pytest.mark.parametrize("fault", [_as_parameter(fault) for fault in FAULTS])
def test_a_server_that_is_wrong(place: Place, fault: Fault) -> None:
    with serving(fault.answer, **place.tls) as server:  # type: ignore[arg-type]
        error = place.refused(server, "/x.zip", settings=fault.settings, **fault.limits)
        assert error.code == fault.code, error
        assert len(server.received) == fault.asked
        knows_us(server)


# ------------------------------------------------------------------------------------------ a second origin

#: Where a first origin sends us: another host, another port of the same one.
SECOND = ["127.0.0.2", "127.0.0.1"]


def sends_away(status: str, to: str) -> Answer:
    def answer(connection: Connection, request: Received) -> bool:
        return connection.reply(status, b"", Location=to, Set_Cookie="s=s3cr3t-cookie; Path=/", Refresh=f"0; url={to}")

    return answer


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("host", SECOND, ids=["host", "port"])
def test_another_origin_learns_nothing(place: Place, host: str, status: str) -> None:
    with (
        serving(replying("200 OK", ZIP), host=host, **place.tls) as second,  # type: ignore[arg-type]
        serving(sends_away(status, f"{second.url}/y.zip"), **place.tls) as first,  # type: ignore[arg-type]
    ):
        place.get(first, "/x.zip")
        assert installed_files(place.work / "dest") == FILES
        assert [request.target for request in second.received] == ["/y.zip"]
        knows_us(first)
        knows_nothing(second)


@pytest.mark.parametrize("host", SECOND, ids=["host", "port"])
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(
            replying("401 Who?", WWW_Authenticate='Basic realm="give it to me"'),
            "authentication",
            id="wants a password",
        ),
        pytest.param(replying("407 Who?", Proxy_Authenticate="Basic"), "authentication", id="wants it as a proxy"),
        pytest.param(replying("403 No"), "authentication/forbidden", id="forbids"),
        pytest.param(replying("503 Busy"), "network", id="is busy"),
        pytest.param(replying("302 Found", Location="file:///etc/passwd"), "unsafe-content/elsewhere", id="to a file"),
        pytest.param(raw(head("Content-Length: 5000"), b"PK"), "network", id="cut"),
    ],
)
def test_another_origin_that_wants_to_know(place: Place, host: str, answer: Answer, code: str) -> None:
    with (
        serving(answer, host=host, **place.tls) as second,  # type: ignore[arg-type]
        serving(sends_away("302 Found", f"{second.url}/y.zip"), **place.tls) as first,  # type: ignore[arg-type]
    ):
        assert place.refused(first, "/x.zip").code == code
        assert second.received
        assert len(first.received) <= TRIES
        knows_us(first)
        knows_nothing(second)


def test_back_at_its_own_origin_a_credential_is_shown_again(place: Place) -> None:
    """And at no other one on the way."""
    with ExitStack() as stack:
        targets: dict[str, str] = {}

        def first_answer(connection: Connection, request: Received) -> bool:
            if request.target.startswith("/x.zip"):
                return connection.reply("302 Found", Location=targets["second"])
            return connection.reply("200 OK", ZIP)

        first = stack.enter_context(serving(first_answer, **place.tls))  # type: ignore[arg-type]
        back = sends_away("302 Found", f"{first.url}/back.zip")
        second = stack.enter_context(serving(back, host="127.0.0.2", **place.tls))  # type: ignore[arg-type]
        targets["second"] = f"{second.url}/away"
        place.get(first, "/x.zip")
        assert len(first.received) == 2
        knows_us(first)
        knows_nothing(second)


def test_from_https_nobody_is_sent_into_the_clear(place: Place, authority: Authority) -> None:
    with (
        serving(replying("200 OK", ZIP)) as clear,
        serving(sends_away("302 Found", f"{clear.url}/y.zip"), tls=authority.server_context()) as first,
    ):
        trusting = replace(place, authority=authority, top=place.top / "https")
        assert trusting.refused(first, "/x.zip").code == "unsafe-content/elsewhere"
        assert clear.connections == 0


@pytest.mark.slow
def test_a_tls_that_never_begins(place: Place, authority: Authority) -> None:
    """Whoever accepts a connection and says nothing holds nobody up."""
    trusting = replace(place, authority=authority, top=place.top / "https")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silent = Server("127.0.0.1", listener.getsockname()[1], tls=True)
        assert trusting.refused(silent, "/x.zip", settings=HASTY).code == "network/timeout"


# ------------------------------------------------------------------------------------------ echoes

STATUSES = ["200 {}", "204 {}", "302 {}", "401 {}", "403 {}", "404 {}", "418 {}", "429 {}", "500 {}"]
#: What says nothing about how the body is to be read; and what does, each of which is refused for itself.
HARMLESS = ("Content-Type", "Content-Range", "ETag", "Last-Modified", "Retry-After", "WWW-Authenticate", "Set-Cookie")
FRAMING = ("Content-Encoding", "Content-Length", "Transfer-Encoding")


def all_that_it_was_told(request: Received) -> str:
    basic = base64.b64decode(request.headers["Authorization"].split()[1]).decode()
    return f"{request.headers['Authorization']} {basic} {request.headers['Private-Token']} {request.target}"


def echo(status: str, headers: tuple[str, ...]) -> Answer:
    """Says what it was told in the reason, the body and some headers, and in the address to go to next."""

    def answer(connection: Connection, request: Received) -> bool:
        told = all_that_it_was_told(request)
        body = f"<!doctype html>{told}".encode()
        lines = [f"HTTP/1.1 {status.format(told)}", *(f"{header}: {told}" for header in headers)]
        lines.append(f"Location: ftp://{quote(told)}/")
        if headers == HARMLESS:
            lines.append(f"Content-Length: {len(body)}")
        connection.send("\r\n".join([*lines, "", ""]).encode() + body)
        return False

    return answer


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        *(pytest.param(status, HARMLESS, id=status[:3]) for status in STATUSES),
        *(pytest.param("200 {}", (header,), id=header) for header in FRAMING),
        pytest.param("{} OK", HARMLESS, id="instead of a status"),
    ],
)
def test_what_it_says_back_is_not_shown(place: Place, status: str, headers: tuple[str, ...]) -> None:
    with serving(echo(status, headers), **place.tls) as server:  # type: ignore[arg-type]
        place.refused(server, "/x.zip")
        assert server.received
        knows_us(server)


@pytest.mark.parametrize("where", ["{}", "{}://x/", "http://{}", "http://{}@x/", "http://x:{}/", "/\x1b{}", "//[{}"])
def test_what_it_says_back_in_a_location_is_not_shown(place: Place, where: str) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        told = request.headers["Private-Token"] if "x.zip?" in request.target else ""
        return connection.reply("302 Found" if told else "404 No", told.encode(), Location=where.format(told))

    with serving(answer, **place.tls) as server:  # type: ignore[arg-type]
        place.refused(server, "/x.zip")


def test_headers_that_end_in_the_middle_on_the_command_line(tmp_path: Path) -> None:
    """A library's own warning had the whole address in it, and a traceback."""
    with serving(raw("HTTP/1.1 200 OK\r\nX-")) as server:
        result = run(
            "get", f"{server.url}/x.zip?token={ARGUMENT}", tmp_path / "dest", "-v", HOME=str(tmp_path / "home")
        )
    assert (result.code, result.out) == (1, "")
    assert "Traceback" not in result.err
    assert "s3cr3t" not in result.err


# ------------------------------------------------------------------------------------------ one after the other


def test_what_follows_an_answer_is_not_the_next_answer(place: Place) -> None:
    """A server, or somebody on the way, that has said the next answer before it was asked."""
    evil = b"<!doctype html>evil"

    def answer(connection: Connection, request: Received) -> bool:
        connection.send(head(f"Content-Length: {len(ZIP)}"))
        connection.send(ZIP + head(f"Content-Length: {len(evil)}").encode() + evil)
        return True

    with (
        serving(answer, **place.tls) as server,  # type: ignore[arg-type]
        Client(
            network=replace(PATIENT, ca_file=str(place.authority.ca) if place.authority else None),
            environ={"GETMODULES_PLUGINS": ""},
            use_cache=False,
        ) as client,
    ):
        for number in range(3):
            client.get(f"{server.url}/{number}.zip", place.work / str(number))
            assert installed_files(place.work / str(number)) == FILES


@pytest.fixture(autouse=True, scope="module")
def nothing_of_all_that_is_left() -> Iterator[None]:
    """No thread that watches or reads, no socket."""
    before = _sockets()
    yield
    wait_until(lambda: not _threads(), lambda: f"still there: {_threads()}")
    assert _sockets() <= before


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("getmodules")]


def _sockets() -> set[str]:
    """Those of this process, where that can be seen."""
    directory = Path("/proc/self/fd")
    found = set()
    for name in os.listdir(directory) if directory.exists() else ():
        with suppress(OSError):  # the descriptor of the listing itself
            found.add(os.readlink(directory / name))
    return {each for each in found if each.startswith("socket:")}
