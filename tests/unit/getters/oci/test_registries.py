"""How registries are reached: Docker Hub's other names, plain http, TLS that is tried first, credentials."""

from __future__ import annotations

import base64
import gc
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from getmodules.addresses.coverage import api_location
from getmodules.api.ports import Context, Credential, Origin
from getmodules.getters.oci import registries as registries_module
from getmodules.getters.oci.client import RegistryClient
from getmodules.getters.oci.registries import Registries, registry_name, speaks_tls
from getmodules.net.address_check import is_loopback
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.testing import Registry
from getmodules.util.redact import Secret
from tests.support.certificates import Authority
from tests.support.contexts import a_context
from tests.support.fakes import Notices
from tests.support.servers import Answer, Connection, Received, Server, free_port, serving, silent


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries_module, "_PROBE_SECONDS", 0.3)


@pytest.fixture
def network() -> Iterator[ClientNetwork]:
    made = ClientNetwork(NetSettings(retries=0, plain_http=frozenset({"plain.example", "port.example:5000"})))
    yield made
    made.close()


@pytest.fixture
def plain() -> Iterator[ClientNetwork]:
    """Nobody is asked for TLS first."""
    made = ClientNetwork(NetSettings(retries=0, plain_http=frozenset({"127.0.0.1"})))
    yield made
    made.close()


def api(registries: Registries, registry: str, network: ClientNetwork) -> str:
    client: Any = registries(registry, "acme/vpc", a_context(network=network))
    assert isinstance(client, RegistryClient)
    return f"{client.prefix}://{client.hostname}"


def test_what_a_project_says_of_a_host_is_not_remembered_for_others(network: ClientNetwork) -> None:
    registries = Registries()
    others = ClientNetwork(NetSettings(retries=0))
    assert api(registries, "plain.example", network) == "http://plain.example"
    assert api(registries, "plain.example", others) == "https://plain.example"
    others.close()


def test_sessions_that_are_gone_are_forgotten() -> None:
    registries = Registries()
    for _ in range(3):
        api(registries, "h.example", ClientNetwork(NetSettings(retries=0)))
    gc.collect()
    assert len(registries._sessions) == 0


# ---------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("registry", "repository", "location"),
    [
        pytest.param("docker.io", "nginx", ("registry-1.docker.io", "library/nginx"), id="docker.io, its own"),
        pytest.param("docker.io", "acme/vpc", ("registry-1.docker.io", "acme/vpc"), id="docker.io"),
        pytest.param("index.docker.io", "x", ("registry-1.docker.io", "library/x"), id="index.docker.io"),
        pytest.param("registry-1.docker.io", "x", ("registry-1.docker.io", "library/x"), id="registry-1.docker.io"),
        pytest.param("ghcr.io", "x", ("ghcr.io", "x"), id="another one"),
        pytest.param("mydocker.io", "x", ("mydocker.io", "x"), id="a longer name"),
    ],
)
def test_where_the_api_is(registry: str, repository: str, location: tuple[str, str]) -> None:
    assert api_location(registry, repository) == location


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        (Origin("https", "h.example", 443), "h.example"),
        (Origin("http", "h.example", 80), "h.example"),
        (Origin("https", "h.example", 5000), "h.example:5000"),
        (Origin("http", "h.example", 443), "h.example:443"),
        (Origin("https", "::1", 443), "[::1]"),
        (Origin("http", "::1", 5000), "[::1]:5000"),
    ],
)
def test_a_registry_as_credential_files_spell_it(origin: Origin, name: str) -> None:
    assert registry_name(origin) == name


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True)]
    + [
        (host, False)
        for host in ("10.0.0.1", "0.0.0.0", "::2", "localhost.example", "127.example", "", "::ffff:10.0.0.1")
    ],
)
def test_what_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


# ---------------------------------------------------------------------------------------------------- schemes


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        pytest.param("h.example", "https://h.example", id="https"),
        pytest.param("h.example:5000", "https://h.example:5000", id="https with a port"),
        pytest.param("h.example:80", "https://h.example:80", id="https, also on port 80"),
        pytest.param("10.0.0.1", "https://10.0.0.1", id="a private address"),
        pytest.param("[fd00::1]:5000", "https://[fd00::1]:5000", id="IPv6"),
        pytest.param("[fd00::1]", "https://[fd00::1]", id="IPv6 without a port"),
        pytest.param("plain.example", "http://plain.example", id="plain http by choice"),
        pytest.param("plain.example:5000", "http://plain.example:5000", id="by choice, on any port"),
        pytest.param("port.example:5000", "http://port.example:5000", id="by choice, on one port"),
        pytest.param("port.example", "https://port.example", id="by choice, on another port"),
        pytest.param("docker.io", "https://registry-1.docker.io", id="Docker Hub"),
    ],
)
def test_the_scheme_of_a_registry_elsewhere_is_known_without_asking(
    network: ClientNetwork, monkeypatch: pytest.MonkeyPatch, registry: str, expected: str
) -> None:
    def nobody_asks(*_: Any) -> bool:
        raise AssertionError("it was asked")

    monkeypatch.setattr(registries_module, "speaks_tls", nobody_asks)
    assert api(Registries(), registry, network) == expected


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_loopback_is_asked_whether_it_speaks_tls(network: ClientNetwork, authority: Authority, host: str) -> None:
    for tls, scheme in ((None, "http"), (authority.server_context(), "https")):
        with Registry(host=host, tls=tls) as registry:
            assert api(Registries(), registry.host, network) == f"{scheme}://{registry.host}"


def test_a_server_that_wants_a_client_certificate_speaks_tls(authority: Authority) -> None:
    with Registry(tls=authority.server_context(wants_client_certificate=True)) as registry:
        host, port = registry.host.split(":")
        assert speaks_tls(host, int(port))


def test_the_question_is_shown_with_verbose(caplog: pytest.LogCaptureFixture, authority: Authority) -> None:
    caplog.set_level("DEBUG", "getmodules")
    with Registry(tls=authority.server_context()) as registry:
        host, port = registry.host.split(":")
        speaks_tls(host, int(port))
    assert f"asking {host}:{port} whether it speaks TLS" in caplog.text


def test_a_certificate_of_nobody_is_tls_all_the_same(network: ClientNetwork, authority: Authority) -> None:
    """Whether it can be trusted is judged by the requests, and never a reason for plain http."""
    with serving(silent, tls=authority.server_context()) as server:
        assert api(Registries(), f"127.0.0.1:{server.port}", network).startswith("https:")


def closing(connection: Connection, _: Received) -> bool:
    return False


@pytest.mark.parametrize("answer", [silent, closing], ids=["silent", "closing"])
def test_what_answers_no_handshake_speaks_no_tls(network: ClientNetwork, answer: Answer) -> None:
    with serving(answer) as server:
        assert api(Registries(), f"127.0.0.1:{server.port}", network).startswith("http:")


def test_what_was_found_out_is_remembered(network: ClientNetwork) -> None:
    with serving(silent) as server:
        registries = Registries()
        assert api(registries, f"127.0.0.1:{server.port}", network).startswith("http:")
        before = server.connections
        assert api(registries, f"127.0.0.1:{server.port}", network).startswith("http:")
        assert server.connections == before


def test_a_port_where_nobody_was_is_asked_again(network: ClientNetwork, authority: Authority) -> None:
    """A registry that was starting up must not be spoken to in clear for as long as the client lives."""
    port = free_port()
    registries = Registries()
    assert api(registries, f"127.0.0.1:{port}", network).startswith("http:")
    with Registry(port=port, tls=authority.server_context()):
        assert api(registries, f"127.0.0.1:{port}", network).startswith("https:")


# ------------------------------------------------------------------------------------------------ credentials


def credential(name: str) -> Credential:
    return Credential(secret=Secret(name), username="u", found_in=name)


def config(home: Path, key: str) -> Mapping[str, str]:
    auth = base64.b64encode(b"ada:from-file").decode()
    (home / "config.json").write_text(json.dumps({"auths": {key: {"auth": auth}}}))
    return {"DOCKER_CONFIG": str(home)}


def asked_in(context: Context, origin: Origin, repository: str = "acme/vpc") -> str | None:
    found = Registries().find_credential(origin, repository, context)
    return found.secret.reveal() if found else None


@pytest.mark.parametrize(
    ("key", "origin", "expected"),
    [
        pytest.param("h.example", Origin("https", "h.example", 443), "from-file", id="a host"),
        pytest.param("h.example:5000", Origin("https", "h.example", 5000), "from-file", id="a port"),
        pytest.param("[::1]:5000", Origin("http", "::1", 5000), "from-file", id="IPv6"),
        pytest.param("h.example/acme", Origin("https", "h.example", 443), "from-file", id="a path"),
        pytest.param("h.example/other", Origin("https", "h.example", 443), None, id="another path"),
        pytest.param("docker.io", Origin("https", "registry-1.docker.io", 443), "from-file", id="Docker Hub"),
    ],
)
def test_credentials_from_files(tmp_path: Path, key: str, origin: Origin, expected: str | None) -> None:
    assert asked_in(a_context(environ=config(tmp_path, key)), origin) == expected


def test_what_the_context_knows_beats_the_files(tmp_path: Path) -> None:
    asked: list[Any] = []

    def credentials(origin: Origin, path: str) -> Credential:
        asked.append((origin, path))
        return credential("nearer")

    origin = Origin("https", "h.example", 443)
    context = a_context(environ=config(tmp_path, "h.example"), credentials=credentials)
    assert asked_in(context, origin) == "nearer"
    assert asked == [(origin, "/acme/vpc")]


@pytest.mark.parametrize("name", ["docker.io", "index.docker.io", "registry-1.docker.io"])
def test_docker_hubs_credential_may_be_under_any_of_its_names(name: str) -> None:
    """Nobody who types docker.io knows where its API is."""
    known = {Origin("https", name, 443): credential("hub")}
    context = a_context(credentials=lambda origin, path: known.get(origin))
    assert asked_in(context, Origin("https", "registry-1.docker.io", 443), "library/x") == "hub"
    assert asked_in(context, Origin("https", "ghcr.io", 443)) is None


def test_files_are_read_by_one_reader(tmp_path: Path) -> None:
    registries, context = Registries(), a_context(environ=config(tmp_path, "h.example"))
    assert registries.files(context) is registries.files(context)


# -------------------------------------------------------------------------------------------------- warnings


def warnings(texts: Iterator[str]) -> Answer:
    """Each answer brings the next warning."""
    return lambda connection, _: connection.reply("200 OK", b"{}", Warning=f'299 - "{next(texts)}"')


class Noting:
    """A context's notices."""

    def __init__(self, network: ClientNetwork) -> None:
        notices = Notices()
        self.said, self.context = notices.said, a_context(network=network, progress=notices)


def read(registries: Registries, server: Server, noting: Noting) -> None:
    registries(f"127.0.0.1:{server.port}", "acme/vpc", noting.context).manifest("1", noting.context)


def test_a_warning_is_shown_once_however_many_answers_carry_it(plain: ClientNetwork) -> None:
    with serving(warnings(iter(["off", "off", "off", "other"]))) as server:
        registries, noting = Registries(), Noting(plain)
        for _ in range(4):
            read(registries, server, noting)
    assert noting.said == [f"127.0.0.1:{server.port}: off", f"127.0.0.1:{server.port}: other"]


def test_a_registry_cannot_flood_us_with_warnings(plain: ClientNetwork) -> None:
    with serving(warnings(map(str, range(1000)))) as server:
        registries, noting = Registries(), Noting(plain)
        for _ in range(50):
            read(registries, server, noting)
    assert 1 < len(noting.said) < 40
