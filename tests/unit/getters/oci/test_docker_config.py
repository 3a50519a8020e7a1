from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from getmodules.errors import AuthenticationError, ConfigError, ToolMissingError
from getmodules.getters.oci.cred_helper import HelperAnswer, Run, run_helper
from getmodules.getters.oci.docker_config import KEEP_SECONDS, DockerCredentials
from tests.support.credhelpers import Helpers, auth_entry
from tests.support.processes import become_ordinary, run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the places are Linux's")

NAMED, ENV, RUNTIME, CONFIG, DOCKER, LEGACY = (
    "named.json",
    "env.json",
    "run/containers/auth.json",
    "home/.config/containers/auth.json",
    "home/.docker/config.json",
    "home/.dockercfg",
)


def entry(user: str, password: str = "pw") -> dict[str, str]:
    return auth_entry(user, password)


class Machine:
    """A home with credential files, and helpers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.helpers = Helpers(root)
        self.environ = {
            "HOME": str(root / "home"),
            "XDG_RUNTIME_DIR": str(root / "run"),
            "PATH": self.helpers.path,
        }
        self.warnings: list[str] = []
        self.now = 0.0

    def put(self, name: str, document: Any) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        if name == ENV:
            self.environ["REGISTRY_AUTH_FILE"] = str(path)
        return path

    def credentials(self, *, named: bool = False, run: Run = run_helper) -> DockerCredentials:
        auth_file = self.root / NAMED if named else None
        return DockerCredentials(
            self.environ, auth_file=auth_file, warn=self.warnings.append, run=run, clock=lambda: self.now
        )

    def who(self, registry: str = "ghcr.io", repository: str = "acme/net/vpc", *, named: bool = False) -> str | None:
        credential = self.credentials(named=named).lookup(registry, repository)
        return credential.username if credential else None


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# ----------------------------------------------------------------------------------------------- which one wins


def test_the_order_of_the_files(machine: Machine) -> None:
    places = (NAMED, ENV, RUNTIME, CONFIG, DOCKER, LEGACY)
    for place in places:
        found = {"ghcr.io": entry(place)}
        machine.put(place, found if place == LEGACY else {"auths": found})
    for place in places:
        assert machine.who(named=place == NAMED) == place
        (machine.root / place).write_text("{}")
    assert machine.who() is None
    assert machine.warnings == []


KEYS = {
    "ghcr.io": entry("host"),
    "ghcr.io/acme": entry("organization"),
    "ghcr.io/acme/net/vpc": entry("repository"),
    "localhost:5000": entry("port"),
    "https://Quay.IO/v2/": entry("url"),
    "https://index.docker.io/v1/": entry("hub"),
    "docker.io/library": entry("official"),
    "ghcr.io.evil.example": entry("evil"),
}


@pytest.mark.parametrize(
    ("registry", "repository", "expected"),
    [
        pytest.param("ghcr.io", "acme/net/vpc", "repository", id="repository"),
        pytest.param("ghcr.io", "acme/net/vpc2", "organization", id="a-longer-name-is-another"),
        pytest.param("ghcr.io", "acme/net", "organization", id="organization"),
        pytest.param("ghcr.io", "acmex/net", "host", id="another-organization"),
        pytest.param("ghcr.io", "", "host", id="the-host-itself"),
        pytest.param("GHCR.io", "x/y", "host", id="case"),
        pytest.param("ghcr.io:443", "x/y", None, id="another-port"),
        pytest.param("localhost:5000", "x", "port", id="port"),
        pytest.param("localhost", "x", None, id="no-port"),
        pytest.param("localhost:5001", "x", None, id="wrong-port"),
        pytest.param("quay.io", "x", "url", id="url-key"),
        pytest.param("docker.io", "a/b", "hub", id="docker-hub"),
        pytest.param("index.docker.io", "a/b", "hub", id="docker-hub-index"),
        pytest.param("registry-1.docker.io", "a/b", "hub", id="docker-hub-registry"),
        pytest.param("registry-1.docker.io", "nginx", "official", id="docker-hub-official"),
        pytest.param("x.ghcr.io", "a", None, id="subdomain"),
        pytest.param("hcr.io", "a", None, id="suffix"),
    ],
)
def test_the_most_specific_key_wins(machine: Machine, registry: str, repository: str, expected: str | None) -> None:
    machine.put(DOCKER, {"auths": KEYS})
    assert machine.who(registry, repository) == expected


def test_a_path_key_wins_over_an_earlier_file_but_not_over_the_named_one(machine: Machine) -> None:
    machine.put(ENV, {"auths": {"ghcr.io": entry("env")}})
    machine.put(DOCKER, {"auths": {"ghcr.io/acme": entry("path")}})
    machine.put(NAMED, {"auths": {"ghcr.io": entry("named")}})
    assert machine.who() == "path"
    assert machine.who(named=True) == "named"


def test_inside_a_file_paths_then_helper_then_store_then_host(machine: Machine) -> None:
    helper, store = machine.helpers.keychain("h"), machine.helpers.keychain("s")
    helper.set({"ghcr.io": ("helper", "pw")})
    store.set({"ghcr.io": ("store", "pw")})
    document = {
        "auths": {"ghcr.io": entry("host"), "ghcr.io/acme": entry("path")},
        "credHelpers": {"ghcr.io": "h"},
        "credsStore": "s",
    }
    machine.put(DOCKER, document)
    machine.put(LEGACY, {"ghcr.io": entry("legacy")})
    assert machine.who() == "path"
    assert helper.calls == store.calls == []
    assert machine.who(repository="other") == "helper"
    helper.set({})
    assert machine.who(repository="other") == "store"
    store.set({})
    assert machine.who(repository="other") == "host"
    machine.put(DOCKER, {**document, "auths": {"ghcr.io": {}}})
    assert machine.who(repository="other") == "legacy"
    assert machine.warnings == []


def test_an_empty_helper_means_the_file(machine: Machine) -> None:
    store = machine.helpers.keychain("s")
    store.set({"ghcr.io": ("store", "pw")})
    machine.put(DOCKER, {"auths": {"ghcr.io": entry("host")}, "credHelpers": {"ghcr.io": ""}, "credsStore": "s"})
    assert machine.who() == "host"


def test_docker_hub_in_a_helper(machine: Machine) -> None:
    keychain = machine.helpers.keychain("s")
    machine.put(DOCKER, {"credsStore": "s"})
    for name in ("https://index.docker.io/v1/", "docker.io"):
        keychain.set({name: ("hub", "pw")})
        assert machine.who("registry-1.docker.io", "library/nginx") == "hub"


# ------------------------------------------------------------------------------------------- what it is made into


def test_a_credential_says_where_it_is_from_and_not_what_it_is(machine: Machine) -> None:
    machine.put(DOCKER, {"auths": {"ghcr.io": entry("ann", "hunter2")}})
    credential = machine.credentials().lookup("ghcr.io", "a/b")
    assert credential is not None
    assert (credential.username, credential.secret.reveal(), credential.identity) == ("ann", "hunter2", False)
    assert credential.found_in == "~/.docker/config.json, auths 'ghcr.io'"
    assert "hunter2" not in repr(credential)


def test_a_helper_with_an_identity_token(machine: Machine) -> None:
    machine.helpers.keychain("h").set({"ghcr.io": ("<token>", "tok")})
    machine.put(DOCKER, {"credHelpers": {"ghcr.io": "h"}})
    credential = machine.credentials().lookup("ghcr.io", "a/b")
    assert credential is not None
    assert (credential.username, credential.secret.reveal(), credential.identity) == (None, "tok", True)
    assert credential.found_in == "~/.docker/config.json, credHelpers 'ghcr.io': helper 'h'"


def test_nothing_at_all_without_a_home() -> None:
    credentials = DockerCredentials({}, warn=pytest.fail)
    assert credentials.lookup("ghcr.io", "a/b") is None
    assert credentials.explain("ghcr.io", "a/b").files == ()


def test_the_way_there_can_be_explained(machine: Machine) -> None:
    machine.helpers.keychain("h")
    machine.put(ENV, {"auths": {"ghcr.io/acme": {"auth": "?"}, "ghcr.io": {}}})
    machine.put(DOCKER, {"credHelpers": {"ghcr.io": "h"}, "auths": {"ghcr.io": entry("ann"), "x": entry("bob")}})
    machine.put(LEGACY, {"ghcr.io": entry("too late")})
    explanation = machine.credentials().explain("ghcr.io", "acme/vpc")
    env = str(machine.root / ENV)
    assert [(step.where, step.outcome) for step in explanation.considered] == [
        (f"{env}, auths 'ghcr.io/acme'", f"unusable: {env}, auths 'ghcr.io/acme': 'auth' is not base64"),
        (f"{env}, auths 'ghcr.io'", "empty"),
        ("~/.docker/config.json, credHelpers 'ghcr.io': helper 'h'", "empty"),
        ("~/.docker/config.json, auths 'ghcr.io'", "used"),
    ]
    assert explanation.credential is not None
    assert explanation.credential.found_in == explanation.considered[-1].where
    assert explanation.files == (
        env,
        str(machine.root / RUNTIME),
        "~/.config/containers/auth.json",
        "~/.docker/config.json",
        "~/.dockercfg",
    )
    assert "pw" not in repr(explanation)


# --------------------------------------------------------------------------------------------------- what is broken


BROKEN = [
    pytest.param("{", "not usable JSON", id="cut"),
    pytest.param("[]", "must be an object", id="array"),
    pytest.param('{"auths": {}, "auths": {}}', "stands twice", id="duplicate"),
    pytest.param("[" * 10_000, "deep", id="deep"),
    pytest.param(" " * (1 << 20) + "{}", "more than the 1,048,576", id="large"),
    pytest.param({"auths": {"ghcr.io": {"auth": "hunter2"}}}, "not base64", id="entry"),
    pytest.param({"credsStore": "../../evil"}, "not the name of a credential helper", id="helper-name"),
    pytest.param({"credHelpers": {"ghcr.io": 1}}, "must be a string", id="helper-type"),
]


@pytest.mark.parametrize(("document", "reason"), BROKEN)
def test_a_broken_ambient_file_is_one_warning_and_the_others_count(
    machine: Machine, document: Any, reason: str
) -> None:
    machine.put(ENV, document)
    machine.put(DOCKER, {"auths": {"ghcr.io": entry("ann")}})
    credentials = machine.credentials()
    for now in (0.0, KEEP_SECONDS + 1):
        machine.now = now
        credential = credentials.lookup("ghcr.io", "a/b")
        assert credential is not None
        assert credential.username == "ann"
    (warning,) = machine.warnings
    assert reason in warning
    assert str(machine.root / ENV) in warning
    assert "hunter2" not in warning


@pytest.mark.parametrize(("document", "reason"), BROKEN)
def test_a_broken_file_that_the_user_named_is_an_error(machine: Machine, document: Any, reason: str) -> None:
    machine.put(NAMED, document)
    machine.put(DOCKER, {"auths": {"ghcr.io": entry("ann")}})
    with pytest.raises(ConfigError) as caught:
        machine.who(named=True)
    assert caught.value.code == "config"
    assert reason in caught.value.message
    assert "hunter2" not in caught.value.message
    assert machine.warnings == []


def test_a_named_file_that_is_not_there(machine: Machine) -> None:
    with pytest.raises(ConfigError) as caught:
        machine.who(named=True)
    assert caught.value.code == "config"
    assert NAMED in caught.value.message


def test_a_broken_entry_of_another_host_is_not_looked_at(machine: Machine) -> None:
    machine.put(DOCKER, {"auths": {"other.io": 7, "ghcr.io": entry("ann")}})
    assert machine.who() == "ann"
    assert machine.warnings == []


def test_an_auth_file_of_the_environment_that_is_not_there_is_worth_a_word(machine: Machine) -> None:
    machine.put(DOCKER, {"auths": {"ghcr.io": entry("ann")}})
    machine.environ["REGISTRY_AUTH_FILE"] = "/nowhere/auth.json"
    assert machine.who() == "ann"
    assert ["/nowhere/auth.json" in warning for warning in machine.warnings] == [True]
    machine.warnings.clear()
    machine.environ["REGISTRY_AUTH_FILE"] = os.devnull
    assert machine.who() == "ann"
    assert machine.warnings == []


def test_a_file_that_may_not_be_read(place: Path) -> None:
    def as_an_ordinary_user() -> None:
        become_ordinary()
        machine = Machine(place)
        machine.put(ENV, {"auths": {"ghcr.io": entry("secret")}}).chmod(0)
        machine.put(DOCKER, {"auths": {"ghcr.io": entry("ann")}})
        assert machine.who() == "ann"
        assert ["Permission denied" in warning for warning in machine.warnings] == [True]
        machine.put(NAMED, {}).chmod(0)
        with pytest.raises(ConfigError) as caught:
            machine.who(named=True)
        assert caught.value.code == "config"
        assert "Permission denied" in caught.value.message

    assert run(as_an_ordinary_user) == 0


@pytest.mark.parametrize(
    ("script", "error", "reason"),
    [
        pytest.param(None, ToolMissingError, "docker-credential-h is not on PATH", id="missing"),
        pytest.param("echo locked; exit 1", AuthenticationError, "failed with code 1: locked", id="fails"),
        pytest.param("echo '<html>'", AuthenticationError, "not usable JSON", id="nonsense"),
    ],
)
def test_a_broken_helper(machine: Machine, script: str | None, error: type[Exception], reason: str) -> None:
    if script is not None:
        machine.helpers.script("h", f"cat >/dev/null; echo >>{machine.root}/calls; {script}")
    machine.put(CONFIG, {"credHelpers": {"ghcr.io": "h"}})
    machine.put(DOCKER, {"auths": {"ghcr.io": entry("ann")}})
    credentials = machine.credentials()
    found = [credentials.lookup("ghcr.io", f"acme/{number}") for number in range(3)]
    assert [credential.username for credential in found if credential] == ["ann"] * 3
    (warning,) = machine.warnings
    assert reason in warning
    assert "~/.config/containers/auth.json, credHelpers 'ghcr.io'" in warning  # what to repair
    if script is not None:
        assert (machine.root / "calls").read_text() == "\n"  # a helper that hangs is waited for once

    machine.put(NAMED, {"credHelpers": {"ghcr.io": "h"}})
    with pytest.raises(error) as caught:
        machine.who(named=True)
    assert reason in str(caught.value)


def test_the_same_failure_is_a_new_error_for_each_who_asks(machine: Machine) -> None:
    machine.put(NAMED, {"credHelpers": {"ghcr.io": "h"}})
    credentials = machine.credentials(named=True)
    errors = []
    for address in ("oci://ghcr.io/a", "oci://ghcr.io/b"):
        with pytest.raises(ToolMissingError) as caught:
            credentials.lookup("ghcr.io", "a")
        assert caught.value.code == "tool-missing"
        errors.append(caught.value.at(address))
    assert [error.address for error in errors] == ["oci://ghcr.io/a", "oci://ghcr.io/b"]
    assert len({(error.message, error.hint) for error in errors}) == 1


# ------------------------------------------------------------------------------------------------------ many asking


def test_many_threads_ask_a_helper_once(machine: Machine) -> None:
    machine.put(DOCKER, {"credsStore": "h"})
    machine.helpers.keychain("h")
    calls: list[tuple[Sequence[str], bytes]] = []
    together = threading.Barrier(8)

    def answer(command: Sequence[str], given: bytes, environ: Mapping[str, str]) -> HelperAnswer:
        calls.append((command[1:], given))
        return HelperAnswer(0, b'{"Username": "ann", "Secret": "pw"}', b"")

    credentials = machine.credentials(run=answer)

    def ask(number: int) -> str | None:
        together.wait()
        credential = credentials.lookup("ghcr.io", f"acme/{number}")
        return credential.username if credential else None

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == ["ann"] * 8
    assert calls == [(("get",), b"ghcr.io")]


def test_a_new_login_is_noticed_after_a_while(machine: Machine) -> None:
    machine.put(DOCKER, {"auths": {"ghcr.io": entry("old")}})
    credentials = machine.credentials()
    seen = []
    for now in (0.0, KEEP_SECONDS - 1, KEEP_SECONDS):
        machine.now = now
        credential = credentials.lookup("ghcr.io", "a")
        seen.append(credential.username if credential else None)
        machine.put(DOCKER, {"auths": {"ghcr.io": entry("new")}})
    assert seen == ["old", "old", "new"]
