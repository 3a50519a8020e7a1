"""``getmodules auth check``."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.testing import Access, Registry, User
from tests.support.commandline import Result, call

PASSWORD = "s3cr3t-p4ss"


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry(access=Access(scheme="bearer", users={"ada": User(PASSWORD)})) as running:
        running.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
        yield running


def check(home: Path, *argv: str, **environ: str) -> Result:
    result = call("auth", "check", *argv, environ={"HOME": str(home), **environ})
    assert PASSWORD not in result.out + result.err
    return result


def keep(home: Path, registry: Registry, password: str = PASSWORD) -> None:
    auth = base64.b64encode(f"ada:{password}".encode()).decode()
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text(json.dumps({"auths": {registry.host: {"auth": auth}}}))


def test_what_is_used_and_that_it_works(registry: Registry, tmp_path: Path) -> None:
    keep(tmp_path, registry)
    result = check(tmp_path, f"{registry.host}/acme/vpc")
    assert (result.code, result.err) == (0, "")
    variable = "GETMODULES_TOKEN_" + registry.host.replace(".", "_").replace(":", "_")
    place = f"~/.docker/config.json, auths '{registry.host}'"
    assert result.out.splitlines() == [
        f"registry     {registry.host}",
        "repository   acme/vpc",
        "credential   user name and password, ada",
        f"found in     {place}",
        f"considered   {variable}: not set",
        f"considered   {place}: used",
        "looked into  ~/.config/containers/auth.json",
        "looked into  ~/.docker/config.json",
        "looked into  ~/.dockercfg",
        "works        yes",
    ]


@pytest.mark.parametrize(
    ("where", "works"),
    [
        pytest.param("acme/none", "yes; there is no such repository, or it is hidden", id="not-there"),
        pytest.param("", "yes", id="host-alone"),
    ],
)
def test_how_it_works(where: str, works: str, registry: Registry, tmp_path: Path) -> None:
    keep(tmp_path, registry)
    result = check(tmp_path, f"{registry.host}/{where}")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[-1] == f"works        {works}"


def test_nobody_asks(tmp_path: Path) -> None:
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
        result = check(tmp_path, f"{registry.host}/acme/vpc")
    assert "\ncredential   none\n" in result.out
    assert result.out.endswith("\nworks        yes, the registry asked for no credential\n")


@pytest.mark.parametrize("password", [None, "wrong-passw0rd"])
def test_it_does_not_work(registry: Registry, tmp_path: Path, password: str | None) -> None:
    if password:
        keep(tmp_path, registry, password)
    result = check(tmp_path, f"{registry.host}/acme/vpc")
    assert result.code == 4
    assert result.out.splitlines()[-1] == "works        no"
    assert result.err.startswith("error: ")
    assert result.err.endswith("code: authentication\n")
    told = check(tmp_path, f"{registry.host}/acme/vpc", "--json")
    assert (told.code, told.err) == (4, result.err)
    assert told.object["works"] is False
    assert told.object["error"]["code"] == "authentication"
    assert "wrong-passw0rd" not in result.out + result.err + told.out


@pytest.mark.usefixtures("quick_retries")
def test_the_registry_cannot_be_asked(tmp_path: Path) -> None:
    with Registry() as registry:
        host = registry.host
    result = check(tmp_path, f"{host}/acme/vpc")
    assert result.code == 1
    assert result.out.endswith("works        unknown: the registry could not be asked\n")
    assert result.err.endswith("code: network\n")


def test_what_json_has(registry: Registry, tmp_path: Path) -> None:
    keep(tmp_path, registry)
    fields = check(tmp_path, f"oci://{registry.host}/acme/vpc", "--json").object
    assert list(fields) == [
        "registry", "repository", "credential", "considered", "files", "asked", "works", "exists", "error",
    ]  # fmt: skip
    place = f"~/.docker/config.json, auths '{registry.host}'"
    assert fields["credential"] == {"kind": "user name and password", "username": "ada", "found_in": place}
    assert fields["considered"][-1] == {"where": place, "outcome": "used"}
    assert (fields["asked"], fields["works"], fields["exists"], fields["error"]) == (True, True, True, None)


def test_an_unusable_file_is_a_warning_and_considered(registry: Registry, tmp_path: Path) -> None:
    keep(tmp_path, registry)
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    result = check(tmp_path, f"{registry.host}/acme/vpc", REGISTRY_AUTH_FILE=str(broken))
    assert result.code == 0
    assert result.err.startswith("warning: ")
    assert "broken.json" in result.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["auth", "look", "ghcr.io/acme"], "there is no auth look", id="no-action"),
        pytest.param(["auth", "check"], "the following arguments are required", id="no-place"),
        pytest.param(["auth", "check", "ghcr.io/ACME"], "'ACME' is not a repository name", id="no-repository"),
        pytest.param(["auth", "check", "ada:s3cr3t@ghcr.io/a"], "is not the name of a registry", id="user-in-host"),
    ],
)
def test_mistakes(argv: list[str], message: str) -> None:
    result = call(*argv)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "s3cr3t" not in result.err
