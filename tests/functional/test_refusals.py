"""401 and 403: the error says which credential was sent, or where one was looked for, and what to type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules.testing import Access, Registry, User
from tests.support.commandline import Result, run
from tests.support.gitservers import git_http
from tests.support.servers import replying, serving
from tests.support.tools import need

PASSWORD = "s3cr3t-p4ss"
WRONG = "wr0ng-p4ss"
USERS = {"ada": User(PASSWORD), "bob": User(PASSWORD, {"*": frozenset({"pull"})})}


class Place:
    """A directory with a home of its own; no secret comes out of any command, and no failure leaves anything."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        (self.home / ".docker").mkdir(parents=True)
        (root / "module").mkdir()
        (root / "module" / "main.tf").write_text("# main\n")

    def run(self, *argv: str, **env: str) -> Result:
        result = run(*argv, "-v", cwd=self.root, HOME=str(self.home), **env)
        for secret in (PASSWORD, WRONG):
            assert secret not in result.out + result.err
        assert not (self.root / "dest").exists()
        return result

    def refused(self, *argv: str, **env: str) -> dict[str, Any]:
        """The error of a command that ends with exit code 4, as JSON has it; people are told the same."""
        result = self.run(*argv, "--json", **env)
        assert result.code == 4, result.err
        error: dict[str, Any] = result.object["error"]
        assert error["message"] in result.err
        assert error["hint"] in result.err
        return error

    def store(self, host: str, user: str, password: str) -> None:
        entry = {"username": user, "password": password}
        (self.home / ".docker" / "config.json").write_text(json.dumps({"auths": {host: entry}}))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=["basic", "bearer"])
def registry(request: pytest.FixtureRequest) -> Iterator[Registry]:
    with Registry(access=Access(scheme=request.param, users=USERS)) as running:
        running.push_module("acme/vpc", "1", {"main.tf": ""})
        yield running


def _variable(prefix: str, host: str) -> str:
    return f"{prefix}_{host.replace('.', '_').replace(':', '_')}"


def _types(host: str) -> tuple[str, str]:
    return f"getmodules login {host}", f"getmodules auth check {host}/acme/vpc"


def test_no_login_at_a_registry(registry: Registry, place: Place) -> None:
    error = place.refused("get", f"oci://{registry.host}/acme/vpc?tag=1", "dest")
    variable = _variable("GETMODULES_TOKEN", registry.host)
    assert (error["code"], error["credential"]) == ("authentication", None)
    assert error["looked_in"][0] == variable
    assert "~/.docker/config.json" in error["looked_in"]
    assert all(each in error["hint"] for each in ("none were found", variable, *_types(registry.host)))


def test_a_wrong_password_of_a_file(registry: Registry, place: Place) -> None:
    place.store(registry.host, "ada", WRONG)
    error = place.refused("get", f"oci://{registry.host}/acme/vpc?tag=1", "dest")
    found_in = f"~/.docker/config.json, auths '{registry.host}'"
    assert error["credential"] == {"found_in": found_in, "username": "ada"}
    assert error["looked_in"] == []
    assert f"answered 401 to the credential of {found_in} (user name ada)" in error["message"]
    assert all(each in error["hint"] for each in ("were refused", *_types(registry.host)))


@pytest.mark.parametrize("upper", [False, True])
def test_a_wrong_password_of_a_variable(upper: bool, registry: Registry, place: Place) -> None:
    names = [_variable(f"GETMODULES_{kind}", registry.host) for kind in ("TOKEN", "USERNAME")]
    token, user = (name.upper() for name in names) if upper else names
    error = place.refused("tags", f"oci://{registry.host}/acme/vpc", **{token: WRONG, user: "ada"})
    assert error["credential"] == {"found_in": token, "username": "ada"}
    assert all(each in error["hint"] for each in (f"set {token} to another", *_types(registry.host)))


@pytest.mark.parametrize("user", ["ghp_0123456789", "github_pat_x", "x" * 65, WRONG])
def test_a_user_name_that_may_be_a_secret(user: str, registry: Registry, place: Place) -> None:
    place.store(registry.host, user, WRONG)
    error = place.refused("get", f"oci://{registry.host}/acme/vpc?tag=1", "dest")
    assert error["credential"]["username"] == "****"
    assert user not in json.dumps(error)


def test_a_helper_that_is_not_there(registry: Registry, place: Place) -> None:
    (place.home / ".docker" / "config.json").write_text('{"credsStore": "gone"}')
    error = place.refused("get", f"oci://{registry.host}/acme/vpc?tag=1", "dest")
    assert error["credential"] is None
    assert any("helper 'gone' (unusable: docker-credential-gone is not on PATH" in each for each in error["looked_in"])


def test_a_push_that_is_not_allowed(registry: Registry, place: Place) -> None:
    place.store(registry.host, "bob", PASSWORD)
    error = place.refused("push", "module", f"oci://{registry.host}/acme/vpc?tag=2")
    assert error["credential"]["username"] == "bob"
    what = f"may bob push to {registry.host}/acme/vpc?"
    assert all(each in error["hint"] for each in (what, *_types(registry.host)))


def test_a_mirror_is_asked_with_its_own_credential(registry: Registry, place: Place) -> None:
    place.store(registry.host, "ada", WRONG)
    mirror = f"oci://ghcr.io/acme=oci://{registry.host}/acme"
    error = place.refused("get", "oci://ghcr.io/acme/vpc?tag=1", "dest", "--mirror", mirror)
    assert error["credential"]["found_in"] == f"~/.docker/config.json, auths '{registry.host}'"
    assert all(each in error["hint"] for each in _types(registry.host))


@pytest.mark.parametrize(("status", "code"), [("401 No", "authentication"), ("403 No", "authentication/forbidden")])
def test_a_web_server(status: str, code: str, place: Place) -> None:
    with serving(replying(status, f"you said {WRONG}".encode())) as server:
        variable = f"GETMODULES_TOKEN_127_0_0_1_{server.port}"
        error = place.refused("get", f"{server.url}/a.zip?archive=zip", "dest", **{variable: WRONG})
        assert (error["code"], error["credential"]) == (code, {"found_in": variable, "username": None})
        assert variable in error["hint"]
        (place.home / ".netrc").write_text(f"machine 127.0.0.1 login ada password {WRONG}\n")
        (place.home / ".netrc").chmod(0o600)
        error = place.refused("get", f"{server.url}/a.zip", "dest")
        assert error["credential"] == {"found_in": "~/.netrc", "username": "ada"}


def test_a_web_server_without_any(place: Place) -> None:
    with serving(replying("401 No")) as server:
        error = place.refused("get", f"{server.url}/a.zip", "dest")
    variable = f"GETMODULES_TOKEN_127_0_0_1_{server.port}"
    assert (error["credential"], error["looked_in"]) == (None, ["--header", variable, "~/.netrc"])
    assert all(each in error["hint"] for each in (variable, "~/.netrc", f"--header 127.0.0.1:{server.port} NAME="))


def test_a_git_server(place: Place) -> None:
    need("git")
    with git_http(place.root, basic=("ada", PASSWORD)) as server:
        variable = f"GETMODULES_TOKEN_127_0_0_1_{server.port}"
        error = place.refused("get", f"git::{server.url}/a.git", "dest")
        assert error["credential"] is None
        assert error["looked_in"] == [variable, "git's credential helpers", "~/.netrc"]
        assert variable in error["hint"]
        user = variable.replace("TOKEN", "USERNAME")
        error = place.refused("get", f"git::{server.url}/a.git", "dest", **{variable: WRONG, user: "ada"})
        assert error["credential"] == {"found_in": variable, "username": "ada"}
        assert f"the credential from {variable} (user name ada)" in error["message"]
        assert variable in error["hint"]
        server.behave(status="403 Forbidden")
        error = place.refused("get", f"git::{server.url}/a.git", "dest", **{variable: WRONG, user: "ada"})
        assert (error["code"], error["credential"]["username"]) == ("authentication/forbidden", "ada")
