from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from getmodules.errors import AuthenticationError, ConfigError, GetModulesError, ToolMissingError
from getmodules.getters.oci.docker_config import DockerCredentials
from getmodules.getters.oci.docker_login import DockerLogin
from getmodules.util.redact import Secret
from tests.support.credhelpers import Helpers, auth_entry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fakes are shell scripts")

SECRET = "hunter2:ü"


def entry(user: str, password: str = SECRET) -> dict[str, str]:
    return auth_entry(user, password)


class Home:
    def __init__(self, root: Path) -> None:
        self.helpers = Helpers(root)
        self.root = root / "home"
        self.root.mkdir()
        self.config = self.root / ".docker" / "config.json"
        self.environ = {"HOME": str(self.root), "PATH": self.helpers.path}

    def put(self, document: Any) -> None:
        self.config.parent.mkdir(exist_ok=True)
        self.config.write_text(json.dumps(document))

    @property
    def document(self) -> Any:
        return json.loads(self.config.read_text())

    @property
    def login(self) -> DockerLogin:
        return DockerLogin(self.environ)

    def store(self, registry: str, user: str = "ann") -> str:
        return self.login.store(registry, username=user, secret=Secret(SECRET))

    def found(self, registry: str) -> tuple[str | None, str, bool] | None:
        credential = DockerCredentials(self.environ, warn=pytest.fail).lookup(registry, "any/thing")
        return credential and (credential.username, credential.secret.reveal(), credential.identity)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


# --------------------------------------------------------------------------------------------------- into the file


@pytest.mark.parametrize(
    ("registry", "key"),
    [
        pytest.param("ghcr.io", "ghcr.io", id="host"),
        pytest.param("GHCR.io", "ghcr.io", id="case"),
        pytest.param("localhost:5000", "localhost:5000", id="port"),
        pytest.param("[::1]:5000", "[::1]:5000", id="ipv6"),
        pytest.param("docker.io", "https://index.docker.io/v1/", id="docker-hub"),
        pytest.param("registry-1.docker.io", "https://index.docker.io/v1/", id="docker-hub-registry"),
    ],
)
def test_in_and_out_again(home: Home, registry: str, key: str) -> None:
    assert home.store(registry) == "~/.docker/config.json"
    assert home.document == {"auths": {key: entry("ann")}}
    assert home.found(registry) == ("ann", SECRET, False)
    assert home.login.erase(registry) == ("~/.docker/config.json",)
    assert home.document == {"auths": {}}
    assert home.login.erase(registry) == ()
    assert os.listdir(home.config.parent) == ["config.json"]


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604])
def test_the_same_login_again_closes_a_file_that_was_open(home: Home, mode: int) -> None:
    home.store("ghcr.io")
    home.config.chmod(mode)
    assert home.login.erase("quay.io") == ()
    assert home.config.stat().st_mode & 0o777 == mode
    home.store("ghcr.io")
    assert home.config.stat().st_mode & 0o777 == 0o600
    assert home.document == {"auths": {"ghcr.io": entry("ann")}}
    written = home.config.stat().st_mtime_ns
    home.store("ghcr.io")
    assert home.config.stat().st_mtime_ns == written


def test_an_identity_token(home: Home) -> None:
    home.login.store("ghcr.io", username="", secret=Secret("tok"), identity=True)
    assert home.document == {"auths": {"ghcr.io": {"identitytoken": "tok"}}}
    assert home.found("ghcr.io") == (None, "tok", True)


SPELLINGS = {
    "HttpHeaders": {"X": "y"},
    "auths": {
        "https://GHCR.io/v2/": entry("old"),
        "ghcr.io": entry("older"),
        "http://ghcr.io": entry("oldest"),
        "ghcr.io/acme": entry("narrower"),
        "ghcr.io:443": entry("another port"),
        "x.ghcr.io": entry("another host"),
    },
    "detachKeys": "ctrl-e,e",
}
OTHERS = {key: SPELLINGS["auths"][key] for key in ("ghcr.io/acme", "ghcr.io:443", "x.ghcr.io")}  # type: ignore[index]


def test_a_login_replaces_all_spellings_of_the_host_and_nothing_else(home: Home) -> None:
    home.put(SPELLINGS)
    home.store("ghcr.io")
    assert home.document == {**SPELLINGS, "auths": {"ghcr.io": entry("ann"), **OTHERS}}
    assert list(home.document) == list(SPELLINGS)


def test_a_logout_removes_all_spellings_of_the_host_and_nothing_else(home: Home) -> None:
    home.put(SPELLINGS)
    assert home.login.erase("ghcr.io") == ("~/.docker/config.json",)
    assert home.document == {**SPELLINGS, "auths": OTHERS}


def test_the_same_login_again_writes_nothing(home: Home) -> None:
    home.store("ghcr.io")
    before = home.config.stat()
    home.store("ghcr.io")
    assert (home.config.stat().st_ino, home.config.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_logout_without_any_file_makes_none(home: Home) -> None:
    assert home.login.erase("ghcr.io") == ()
    assert os.listdir(home.root) == []


@pytest.mark.parametrize(
    ("registry", "user", "secret"),
    [
        pytest.param("", "ann", "x", id="no-registry"),
        pytest.param("https://ghcr.io", "ann", "x", id="url"),
        pytest.param("ghcr.io/acme", "ann", "x", id="path"),
        pytest.param("ann@ghcr.io", "ann", "x", id="user-in-host"),
        pytest.param("ghcr.io\n", "ann", "x", id="line-end"),
        pytest.param("ghcr io", "ann", "x", id="blank"),
        pytest.param("ghcr.io\x1b[2J", "ann", "x", id="escape"),
        pytest.param("ghcr.io", "", "x", id="no-user"),
        pytest.param("ghcr.io", "ann", "", id="no-password"),
        pytest.param("ghcr.io", "an:n", "x", id="colon-in-the-user"),
        pytest.param("ghcr.io", "ann\n", "x", id="line-end-in-the-user"),
    ],
)
def test_what_is_no_login(home: Home, registry: str, user: str, secret: str) -> None:
    with pytest.raises(ConfigError) as caught:
        home.login.store(registry, username=user, secret=Secret(secret))
    assert caught.value.code == "config"
    assert caught.value.message.isprintable()
    assert (caught.value.hint == "is a variable not set?") is (secret == "")
    assert os.listdir(home.root) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="cut"),
        pytest.param('{"auths": []}', id="auths-is-no-object"),
        pytest.param('{"credsStore": 1}', id="store-is-no-name"),
        pytest.param('{"credsStore": "../evil"}', id="store-is-a-path"),
    ],
)
def test_a_malformed_file_is_refused_untouched(home: Home, text: str) -> None:
    home.config.parent.mkdir()
    home.config.write_text(text)
    for refused in (lambda: home.store("ghcr.io"), lambda: home.login.erase("ghcr.io")):
        with pytest.raises(ConfigError) as caught:
            refused()
        assert caught.value.code == "config"
        assert "~/.docker/config.json" in caught.value.message
    assert home.config.read_text() == text
    assert os.listdir(home.config.parent) == ["config.json"]


# --------------------------------------------------------------------------------------------------- into a helper


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"credsStore": "h"}, id="store"),
        pytest.param({"credsStore": "missing", "credHelpers": {"https://GHCR.io": "h"}}, id="helper-of-the-host"),
    ],
)
def test_in_and_out_again_through_a_helper(home: Home, settings: dict[str, Any]) -> None:
    keychain = home.helpers.keychain("h")
    home.put({**settings, "auths": {"https://ghcr.io": entry("in the clear"), "other": {}}})
    place = "docker-credential-h, as ~/.docker/config.json says"
    assert home.store("ghcr.io") == place
    assert keychain.kept == {"ghcr.io": ["ann", SECRET]}
    assert home.document == {**settings, "auths": {"other": {}, "ghcr.io": {}}}
    assert home.found("ghcr.io") == ("ann", SECRET, False)
    assert home.login.erase("ghcr.io") == ("~/.docker/config.json", place)
    assert keychain.kept == {}
    assert home.document == {**settings, "auths": {"other": {}}}


def test_docker_hub_is_stored_as_docker_does(home: Home) -> None:
    keychain = home.helpers.keychain("h")
    home.put({"credsStore": "h"})
    home.store("docker.io")
    assert list(keychain.kept) == ["https://index.docker.io/v1/"]
    assert home.document["auths"] == {"https://index.docker.io/v1/": {}}


def test_an_identity_token_through_a_helper(home: Home) -> None:
    keychain = home.helpers.keychain("h")
    home.put({"credsStore": "h"})
    home.login.store("ghcr.io", username="ann", secret=Secret("tok"), identity=True)
    assert keychain.kept == {"ghcr.io": ["<token>", "tok"]}
    assert home.found("ghcr.io") == (None, "tok", True)


def test_an_empty_helper_means_the_file(home: Home) -> None:
    home.put({"credsStore": "missing", "credHelpers": {"ghcr.io": ""}})
    assert home.store("ghcr.io") == "~/.docker/config.json"
    assert home.document["auths"] == {"ghcr.io": entry("ann")}


@pytest.mark.parametrize(
    ("script", "error", "code"),
    [
        pytest.param(None, ToolMissingError, "tool-missing", id="missing"),
        pytest.param("cat >&2; exit 1", AuthenticationError, "authentication", id="fails-and-tells-all"),
    ],
)
def test_a_helper_that_fails_never_means_in_the_clear(
    home: Home, script: str | None, error: type[GetModulesError], code: str
) -> None:
    if script is not None:
        home.helpers.script("h", script)
    home.put({"credsStore": "h"})
    with pytest.raises(error) as caught:
        home.store("ghcr.io")
    assert caught.value.code == code
    assert "hunter2" not in json.dumps(caught.value.as_json())
    assert home.document == {"credsStore": "h"}
    assert os.listdir(home.config.parent) == ["config.json"]


# ---------------------------------------------------------------------------------------------------------- peers


@pytest.mark.parametrize("variable", ["REGISTRY_AUTH_FILE", "DOCKER_CONFIG"])
def test_skopeo_reads_what_we_write_and_we_what_it_rewrites(home: Home, tmp_path: Path, variable: str) -> None:
    skopeo = shutil.which("skopeo")
    if skopeo is None:
        pytest.skip("no skopeo here")
    path = tmp_path / "shared" / "config.json"
    home.environ[variable] = str(path if variable == "REGISTRY_AUTH_FILE" else path.parent)
    environ = {**home.environ, "XDG_RUNTIME_DIR": str(tmp_path)}

    def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = (skopeo, *arguments)
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)

    for registry in ("localhost:5000", "docker.io"):
        home.store(registry, "ann")
        assert ask("login", "--get-login", registry).stdout == "ann\n"
    if variable == "REGISTRY_AUTH_FILE":  # skopeo's own file: what it rewrites we still read
        assert ask("logout", "localhost:5000").returncode == 0
        assert home.found("localhost:5000") is None
        assert home.found("docker.io") == ("ann", SECRET, False)
        home.store("localhost:5000", "ann")
    assert home.login.erase("localhost:5000")
    assert ask("login", "--get-login", "localhost:5000").returncode != 0


@pytest.mark.parametrize("program", ["docker", "oras"])
@pytest.mark.parametrize("registry", ["localhost:5000", "docker.io"])
def test_others_log_out_of_what_we_wrote(home: Home, program: str, registry: str) -> None:
    """So they know our key for theirs; nothing is asked of any registry for it."""
    tool = shutil.which(program)
    if tool is None:
        pytest.skip(f"no {program} here")
    home.store("ghcr.io")
    home.store(registry)
    server = () if (program, registry) == ("docker", "docker.io") else (registry,)  # docker's name for it is none
    command = (tool, "logout", *server)
    ended = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert home.document == {"auths": {"ghcr.io": entry("ann")}}
