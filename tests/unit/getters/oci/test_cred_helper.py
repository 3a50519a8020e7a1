from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from getmodules.errors import AuthenticationError, ConfigError, GetModulesError, ToolMissingError
from getmodules.getters.oci.cred_helper import CredentialHelper, Login
from getmodules.util.redact import Secret
from tests.support.credhelpers import Helpers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fakes are shell scripts")

SERVERS = ("ghcr.io", "https://ghcr.io")
SETTING = "~/.docker/config.json, credsStore"
SECRET = 'hunter2 "quoted"/'


@pytest.fixture
def helpers(tmp_path: Path) -> Helpers:
    return Helpers(tmp_path)


def helper(helpers: Helpers, name: str = "x") -> CredentialHelper:
    return CredentialHelper(name, SETTING, {"PATH": helpers.path})


def shown(error: GetModulesError) -> str:
    text = json.dumps(error.as_json(), ensure_ascii=False)
    for form in (
        SECRET,
        quote(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        json.dumps(SECRET)[1:-1],
        "hunter2",
    ):
        assert form not in text
    return text


# ------------------------------------------------------------------------------------------------------- get


def test_get(helpers: Helpers) -> None:
    keychain = helpers.keychain("x")
    keychain.set({"ghcr.io": ("ann", SECRET)})
    assert helper(helpers).get(SERVERS) == Login("ann", Secret(SECRET))
    assert keychain.calls == [("get", "ghcr.io")]


def test_get_asks_for_the_url_where_the_host_is_not_known(helpers: Helpers) -> None:
    keychain = helpers.keychain("x")
    keychain.set({"https://ghcr.io": ("ann", SECRET)})
    assert helper(helpers).get(SERVERS) == Login("ann", Secret(SECRET))
    assert keychain.calls == [("get", "ghcr.io"), ("get", "https://ghcr.io")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("echo credentials not found in native keychain; exit 1", None, id="not-found"),
        pytest.param("echo credentials not found in native keychain >&2; exit 1", None, id="not-found-on-stderr"),
        pytest.param("""echo '{"ServerURL":"","Username":"","Secret":""}'""", None, id="empty"),
        pytest.param("""echo '{"Username":"ann"}'""", None, id="no-secret"),
        pytest.param("""echo '{"Username":null,"Secret":"s"}'""", Login("", Secret("s")), id="no-user"),
        pytest.param(
            """echo '{"Username":"<token>","Secret":"s","More":[]}'""", Login("<token>", Secret("s")), id="token"
        ),
        pytest.param("""echo noise >&2; echo '{"Username":"a","Secret":"s"}'""", Login("a", Secret("s")), id="noise"),
    ],
)
def test_answers(helpers: Helpers, body: str, expected: Login | None) -> None:
    helpers.script("x", f"cat >/dev/null; {body}")
    login = helper(helpers).get(SERVERS)
    assert login == expected
    assert login is None or login.is_identity == (login.username == "<token>")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param("echo locked >&2; exit 2", "get failed with code 2: locked", id="complaint"),
        pytest.param("echo 'keychain is locked'; exit 1", "code 1: keychain is locked", id="by-the-protocol"),
        pytest.param("exit 7", "code 7: it does not say why", id="silent"),
        pytest.param(r"printf 'a\033[2Jb\nc' >&2; exit 1", r"a\\x1b[2Jb c", id="escape-sequences"),
        pytest.param("echo 'see https://u:hunter2@host/' >&2; exit 1", "see https://u:****@host/", id="address"),
        pytest.param("echo hello", "is not usable JSON", id="no-json"),
        pytest.param("echo hunter2", "is not usable JSON", id="a-bare-secret"),
        pytest.param("echo '[]'", "must be an object", id="array"),
        pytest.param("""echo '{"Secret":"hunter2","Secret":"x"}'""", "stands twice", id="duplicate"),
        pytest.param("""echo '{"Secret":["hunter2"]}'""", "'Secret' must be a string", id="wrong-type"),
        pytest.param(
            """echo '{"Secret":"hunter2"}'; echo 'was hunter2' >&2; exit 1""", "was ****", id="prints-it-and-fails"
        ),
        pytest.param("yes hunter2", "wrote more than", id="babble"),
    ],
)
def test_failures_say_why_and_never_what(helpers: Helpers, body: str, reason: str) -> None:
    helpers.script("x", f"cat >/dev/null; {body}")
    with pytest.raises(AuthenticationError) as caught:
        helper(helpers).get(SERVERS)
    assert caught.value.code == "authentication"
    assert "docker-credential-x" in caught.value.message
    assert reason in shown(caught.value)
    assert caught.value.message.isprintable()


def test_a_long_complaint_is_cut(helpers: Helpers) -> None:
    helpers.script("x", "cat >/dev/null; head -c 20000 /dev/zero | tr '\\0' x >&2; exit 1")
    with pytest.raises(AuthenticationError) as caught:
        helper(helpers).get(SERVERS)
    assert len(caught.value.message) < 300


# ------------------------------------------------------------------------------------------------ store, erase


def test_store(helpers: Helpers) -> None:
    keychain = helpers.keychain("x")
    helper(helpers).store("ghcr.io", Login("änn", Secret(SECRET)))
    assert keychain.kept == {"ghcr.io": ["änn", SECRET]}


def test_erase_takes_every_name_that_is_known(helpers: Helpers) -> None:
    keychain = helpers.keychain("x")
    keychain.set({"https://ghcr.io": ("a", "s"), "other.io": ("a", "s")})
    assert helper(helpers).erase(SERVERS)
    assert keychain.kept == {"other.io": ["a", "s"]}
    assert not helper(helpers).erase(SERVERS)
    assert [verb for verb, _ in keychain.calls].count("erase") == 1


def test_a_helper_that_quotes_what_it_was_given(helpers: Helpers) -> None:
    """As ``set -x`` does; in all the forms in which the secret may come back."""
    encoded = base64.b64encode(SECRET.encode()).decode()
    (helpers.directory / "forms").write_text(f"{SECRET} {encoded} {quote(SECRET)}")
    helpers.script("x", f"cat >&2; cat {helpers.directory}/forms; exit 1")
    with pytest.raises(AuthenticationError) as caught:
        helper(helpers).store("ghcr.io", Login("ann", Secret(SECRET)))
    assert caught.value.code == "authentication"
    assert "****" in shown(caught.value)
    assert "store failed with code 1" in caught.value.message


def test_erase_that_fails_is_an_error(helpers: Helpers) -> None:
    helpers.script(
        "x", """[ $1 = get ] && echo '{"Username":"a","Secret":"hunter2"}' && exit; echo not implemented; exit 1"""
    )
    with pytest.raises(AuthenticationError) as caught:
        helper(helpers).erase(SERVERS)
    assert caught.value.code == "authentication"
    assert "erase failed with code 1: not implemented" in shown(caught.value)


# -------------------------------------------------------------------------------------------- finding the program


@pytest.mark.parametrize(
    "name",
    ["", "../x", "a/b", "a\\b", "x y", "x\0", "x\n", "x;id", "$(id)", "ä", "x" * 200],
    ids=ascii,
)
def test_names_that_are_no_helper(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CredentialHelper(name, SETTING, {})
    assert caught.value.code == "config"
    assert caught.value.message.startswith(SETTING)
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("path", ["", ".", "bin", ":", "/nowhere", None], ids=repr)
def test_a_helper_that_is_not_there(helpers: Helpers, monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    """Nor is one in the working directory, which nobody chose for its programs."""
    program = helpers.script("x", "touch started")
    monkeypatch.chdir(helpers.directory)
    (helpers.directory / "bin").mkdir()
    (helpers.directory / "bin" / program.name).symlink_to(program)
    with pytest.raises(ToolMissingError) as caught:
        CredentialHelper("x", SETTING, {} if path is None else {"PATH": path}).get(SERVERS)
    assert caught.value.code == "tool-missing"
    assert caught.value.message == f"docker-credential-x is not on PATH, and {SETTING} asks for it"
    assert caught.value.hint
    assert sorted(os.listdir(helpers.directory)) == ["bin", program.name]


def test_a_relative_directory_on_path_is_passed_over(helpers: Helpers, monkeypatch: pytest.MonkeyPatch) -> None:
    helpers.script("x", 'cat >/dev/null; echo \'{"Username": "right", "Secret": "s"}\'')
    (helpers.directory / "near").mkdir()
    wrong = helpers.directory / "near" / "docker-credential-x"
    wrong.write_text("#!/bin/sh\nexit 9\n")
    wrong.chmod(0o755)
    monkeypatch.chdir(wrong.parent)
    login = CredentialHelper("x", SETTING, {"PATH": f".::{helpers.path}"}).get(SERVERS)
    assert login == Login("right", Secret("s"))
