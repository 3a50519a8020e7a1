"""The versions of a module, and where one of them is; what a whole registry does is in ``tests/functional``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.versions import Constraint, Version
from getmodules.api.model import Pin
from getmodules.api.ports import Credential
from getmodules.errors import NotFoundError, UnsafeContentError
from getmodules.getters.registry.host import ModuleName, RegistryHost
from getmodules.getters.registry.modules import ModuleRegistry
from getmodules.getters.registry.plugin import RegistryGetter
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.util.redact import Secret
from tests.support.contexts import a_context
from tests.support.moduleregistry import MODULE, ModuleRegistry as Server, Reply, a_registry, document, versions
from tests.support.refusals import refusal, words_of

VPC = ModuleName.parse(MODULE)
LIST = f"/v1/modules/{MODULE}/versions"


@pytest.fixture
def server() -> Iterator[Server]:
    with a_registry(None) as running:
        running.publish("1.0.0", "v1.10.0", "1.9.0", "1.0.0+build.2", "2.0.0-rc.1")
        yield running


@pytest.fixture
def registry(server: Server, tmp_path: Path) -> Iterator[ModuleRegistry]:
    network = ClientNetwork(NetSettings(plain_http=frozenset({server.host}), backoff_seconds=0.01))
    context = a_context(tmp_path, network=network)
    yield ModuleRegistry(RegistryHost(server.host, context), context)
    network.close()


def test_versions_are_asked_for_once_in_an_operation(server: Server, registry: ModuleRegistry) -> None:
    assert registry.versions(VPC) == registry.versions(VPC)
    registry.newest(VPC, Constraint.parse("~> 1.0"))
    assert server.paths.count(LIST) == 1
    assert {str(version) for version in registry.versions(VPC)} == {
        "1.0.0", "1.10.0", "1.9.0", "1.0.0+build.2", "2.0.0-rc.1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "version"), [("", "1.10.0"), ("< 1.10", "1.9.0"), ("1.0.0", "1.0.0+build.2"), ("~> 1", "1.10.0")]
)
def test_the_newest_that_will_do(registry: ModuleRegistry, constraint: str, version: str) -> None:
    wanted = Constraint.parse(constraint) if constraint else Constraint()
    assert registry.newest(VPC, wanted) == Version.parse(version)


def test_an_error_lists_the_newest_and_not_all(server: Server, registry: ModuleRegistry) -> None:
    server.replies[LIST] = versions(*(f"1.{minor}.0" for minor in range(40)))
    error = refusal(NotFoundError, "not-found", registry.newest, VPC, Constraint.parse("> 2, >2"))
    assert error.message == f"{server.host} has no version of {MODULE} that is > 2.0.0"
    assert error.hint == "the newest are 1.39.0, 1.38.0, 1.37.0, 1.36.0, 1.35.0 …"


def test_what_is_listed_is_not_said_again(server: Server, registry: ModuleRegistry) -> None:
    server.replies[LIST] = versions(*(f"1.{minor}.0" for minor in range(5)))
    error = refusal(NotFoundError, "not-found", registry.newest, VPC, Constraint.parse("1.2.5"))
    assert error.hint == "the newest are 1.4.0, 1.3.0, 1.2.0, 1.1.0, 1.0.0"


@pytest.mark.parametrize(
    ("constraint", "there", "hint"),
    [
        pytest.param(
            "~> 2.0",
            ("1.0.0", "2.0.0-b"),
            "the newest are 1.0.0; a pre-release is taken by its exact name only",
            id="one",
        ),
        pytest.param("~> 3.0", ("1.0.0", "2.0.0-b"), "the newest are 1.0.0", id="one that would not do either"),
    ],
)
def test_a_pre_release_is_offered_where_it_would_do(
    server: Server, registry: ModuleRegistry, constraint: str, there: tuple[str, ...], hint: str
) -> None:
    server.replies[LIST] = versions(*there)
    error = refusal(NotFoundError, "not-found", registry.newest, VPC, Constraint.parse(constraint))
    assert (error.hint or "").startswith(hint)
    assert ("pre-release" in (error.hint or "")) is ("pre-release" in hint)


def test_a_build_is_asked_for_by_its_name(server: Server, registry: ModuleRegistry) -> None:
    path = f"/v1/modules/{MODULE}/1.0.0+build.2/download"
    assert registry.location(VPC, Version.parse("1.0.0+build.2")).address == f"{server.server.url}/packages/vpc.zip"
    assert server.paths[-1] == path


TOKEN = "s3cr3t-t0ken"


@pytest.fixture
def known(server: Server, tmp_path: Path) -> Iterator[ModuleRegistry]:
    """The registry, asked by somebody with a token, which it may send back."""
    network = ClientNetwork(NetSettings(plain_http=frozenset({server.host})))
    token = Credential(secret=Secret(TOKEN), found_in="a test")
    context = a_context(tmp_path, network=network, credentials=lambda origin, path: token)
    yield ModuleRegistry(RegistryHost(server.host, context), context)
    network.close()


@pytest.mark.parametrize("location", [f"/p/{TOKEN}/vpc.zip", f"https://h/x.zip?a={TOKEN}", f"./{TOKEN}"])
@pytest.mark.parametrize("header", [True, False], ids=["in the header", "in the body"])
def test_our_own_token_is_no_part_of_where_a_module_is(
    server: Server, known: ModuleRegistry, location: str, header: bool
) -> None:
    said: Reply = ("204 No Content", b"", {"X_Terraform_Get": location})
    server.replies[f"/v1/modules/{MODULE}/1.0.0/download"] = said if header else document({"location": location})
    error = refusal(UnsafeContentError, "unsafe-content/elsewhere", known.location, VPC, Version.parse("1.0.0"))
    assert TOKEN not in words_of(error)


def test_our_own_token_is_no_part_of_a_version(server: Server, known: ModuleRegistry) -> None:
    server.replies[LIST] = versions("1.0.0", f"2.0.0-{TOKEN}", f"3.0.0+{TOKEN}")
    assert known.versions(VPC) == (Version.parse("1.0.0"),)


def test_the_getter_never_brings_anything_itself(server: Server, tmp_path: Path) -> None:
    network = ClientNetwork(NetSettings(plain_http=frozenset({server.host})))
    package = PackageAddress(getter="tfr", url=f"tfr://{server.host}/{MODULE}")
    context = a_context(tmp_path, network=network)
    getter = RegistryGetter()
    assert getter.fetch(Pin(package=package), (), context) == getter.resolve(package, context)
    network.close()


def test_where_it_is_no_further_in_than_the_registry(registry: ModuleRegistry) -> None:
    check = registry.location(VPC, Version.parse("1.0.0")).check_address
    assert check is not None
    check("127.0.0.1")
    for address in ("169.254.169.254", "10.0.0.1"):
        refusal(UnsafeContentError, "unsafe-content/elsewhere", check, address)
