"""What a host says of itself, and who sees its token."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from getmodules.api.ports import Context, Credential, NoNetwork, Origin
from getmodules.errors import AuthenticationError, CorruptArchiveError, NotFoundError, OfflineError
from getmodules.getters.registry.host import RegistryHost, token_from
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.util.redact import Secret
from tests.support.certificates import Authority
from tests.support.contexts import a_context
from tests.support.moduleregistry import DESCRIPTION, ModuleRegistry, a_registry, document
from tests.support.refusals import refusal

NAME = "modules.v1"


@pytest.fixture
def registry(authority: Authority) -> Iterator[ModuleRegistry]:
    with a_registry(authority) as running:
        running.publish("1.0.0")
        yield running


@contextmanager
def talking_to(registry: ModuleRegistry, tmp_path: Path, **more: Any) -> Iterator[Context]:
    settings = {"ca_file": registry.ca, "backoff_seconds": 0.01, **more.pop("settings", {})}
    network = ClientNetwork(NetSettings(**settings))
    try:
        yield a_context(tmp_path, network=network, **more)
    finally:
        network.close()


def test_it_is_asked_once_in_an_operation(registry: ModuleRegistry, tmp_path: Path) -> None:
    for asked in (1, 2):
        with talking_to(registry, tmp_path) as context:
            found = {RegistryHost(registry.host, context).service(NAME).url for _ in range(3)}
        assert found == {f"{registry.server.url}/v1/modules/"}
        assert registry.paths == [DESCRIPTION] * asked


def test_what_failed_is_asked_again(registry: ModuleRegistry, tmp_path: Path) -> None:
    good = registry.replies.pop(DESCRIPTION)
    with talking_to(registry, tmp_path) as context:
        host = RegistryHost(registry.host, context)
        refusal(NotFoundError, "not-found", host.service, NAME)
        registry.replies[DESCRIPTION] = good
        assert host.service(NAME).url


@pytest.mark.parametrize(
    ("location", "path"),
    [
        pytest.param("/v1/modules/", "/v1/modules/", id="rooted"),
        pytest.param("/v1/modules", "/v1/modules/", id="without a slash behind"),
        pytest.param("api/", "/.well-known/api/", id="relative"),
        pytest.param("../api?x=1#y", "/api/", id="with a query"),
        pytest.param("/", "/", id="the root"),
        pytest.param("{url}/m/", "/m/", id="absolute"),
    ],
)
def test_where_a_service_is(registry: ModuleRegistry, tmp_path: Path, location: str, path: str) -> None:
    location = location.replace("{url}", registry.server.url)
    registry.replies[DESCRIPTION] = document({NAME: location})
    with talking_to(registry, tmp_path) as context:
        service = RegistryHost(registry.host, context).service(NAME)
    assert service.url == f"{registry.server.url}{path}"
    assert service.check_address is None


def test_it_is_relative_to_where_the_description_really_is(registry: ModuleRegistry, tmp_path: Path) -> None:
    registry.replies[DESCRIPTION] = ("302 Found", b"", {"Location": "/elsewhere/terraform.json"})
    registry.replies["/elsewhere/terraform.json"] = document({NAME: "modules"})
    with talking_to(registry, tmp_path) as context:
        assert RegistryHost(registry.host, context).service(NAME).url == f"{registry.server.url}/elsewhere/modules/"


def test_a_service_elsewhere_is_no_further_in_than_the_host(registry: ModuleRegistry, tmp_path: Path) -> None:
    registry.replies[DESCRIPTION] = document({NAME: "https://metadata.example/"})
    with talking_to(registry, tmp_path) as context:
        service = RegistryHost(registry.host, context).service(NAME)
    assert service.check_address is not None
    service.check_address("93.184.216.34")
    with pytest.raises(Exception, match=r"names the link-local address 169\.254\.169\.254"):
        service.check_address("169.254.169.254")


# ----------------------------------------------------------------------------------------------- credentials


def _credential(username: str | None = None) -> Callable[[Origin, str], Credential]:
    return lambda origin, path: Credential(secret=Secret("0ther"), username=username, found_in="a plugin")


BASIC = "Basic " + base64.b64encode(b"ada:0ther").decode()


@pytest.mark.parametrize(
    ("environ", "credentials", "header", "sent"),
    [
        pytest.param(False, None, None, None, id="nothing"),
        pytest.param(True, _credential(), None, "Bearer t0ken", id="Terraform's variable first"),
        pytest.param(False, _credential(), None, "Bearer 0ther", id="then everything else"),
        pytest.param(False, _credential("ada"), None, BASIC, id="with a user name"),
        pytest.param(True, None, "Basic eDp5", "Basic eDp5", id="a header of the user's own"),
    ],
)
def test_which_credential_is_sent(
    registry: ModuleRegistry, tmp_path: Path, environ: bool, credentials: Any, header: str | None, sent: str | None
) -> None:
    more: dict[str, Any] = {"environ": {f"TF_TOKEN_{registry.host}": "t0ken"} if environ else {}}
    if credentials is not None:
        more["credentials"] = credentials
    if header is not None:
        more["settings"] = {"headers": {registry.host: {"authorization": Secret(header)}}}
    with talking_to(registry, tmp_path, **more) as context:
        RegistryHost(registry.host, context).service(NAME)
    assert registry.tokens == [sent]


def test_terraforms_token_is_not_sent_in_the_clear(tmp_path: Path) -> None:
    with a_registry(None) as registry:
        registry.publish("1.0.0")
        plain = {"plain_http": frozenset({registry.host})}
        environ = {f"TF_TOKEN_{registry.host}": "t0ken"}
        with talking_to(registry, tmp_path, settings=plain, environ=environ) as context:
            host = RegistryHost(registry.host, context)
            host.service(NAME)
            assert host.token_variable.startswith("GETMODULES_TOKEN_")
        assert registry.tokens == [None]


def test_a_refusal_names_where_the_token_was_found(registry: ModuleRegistry, tmp_path: Path) -> None:
    registry.token = "right"
    with talking_to(registry, tmp_path, credentials=_credential()) as context:
        host = RegistryHost(registry.host, context)
        error = refusal(AuthenticationError, "authentication", host.service, NAME)
    assert "to the credential of a plugin" in error.message
    assert str(error.hint).startswith("the credentials were refused: is it expired? GETMODULES_TOKEN_")
    assert error.as_json()["credential"] == {"found_in": "a plugin", "username": None}


def test_the_variable_for_a_token_is_one_that_a_shell_can_set(tmp_path: Path) -> None:
    context = a_context(tmp_path, network=ClientNetwork(NetSettings()))
    assert RegistryHost("my-registry.example", context).token_variable == "TF_TOKEN_my__registry_example"
    assert RegistryHost("registry.example:8443", context).token_variable == "GETMODULES_TOKEN_registry_example_8443"


def test_without_a_network_nobody_is_asked(tmp_path: Path) -> None:
    refusal(OfflineError, "offline", RegistryHost, "h.example", a_context(tmp_path, network=NoNetwork()))


def test_a_document_has_an_end(registry: ModuleRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getmodules.getters.registry.host._DOCUMENT_BYTES", 100)
    registry.replies[DESCRIPTION] = document({NAME: "/" + "x" * 200})
    with talking_to(registry, tmp_path) as context, pytest.raises(Exception, match="more than 100 bytes"):
        RegistryHost(registry.host, context).service(NAME)


def test_a_broken_document_is_the_registrys_fault(registry: ModuleRegistry, tmp_path: Path) -> None:
    registry.replies[DESCRIPTION] = ("200 OK", b"{", {"Content_Type": "text/plain"})
    with talking_to(registry, tmp_path) as context:
        host = RegistryHost(registry.host, context)
        error = refusal(CorruptArchiveError, "corrupt-archive", host.service, NAME)
        assert error.hint is not None
        assert "it sent text/plain" in error.hint
        registry.replies[DESCRIPTION] = document([])
        assert refusal(CorruptArchiveError, "corrupt-archive", host.service, NAME).hint == (
            "the registry itself is at fault"
        )


def test_of_several_spellings_the_one_in_lower_case_wins() -> None:
    upper, lower = "TF_TOKEN_MY__REGISTRY_EXAMPLE", "TF_TOKEN_my__registry_example"
    found = token_from({upper: "one", lower: "two"}, "my-registry.example")
    assert found is not None
    assert found.found_in == lower
    found = token_from({upper: "one"}, "my-registry.example")
    assert found is not None
    assert found.found_in == upper
