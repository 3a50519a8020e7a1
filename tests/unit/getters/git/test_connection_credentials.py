"""How git gets a credential: by variables, for one origin."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from getmodules import AuthenticationError, Credential, Secret
from getmodules.addresses.url import check_url
from getmodules.api.ports import Origin
from getmodules.getters.git.connection import GitLogin, knows_no_password, login_for
from getmodules.getters.git.remote import Remote
from tests.support.contexts import a_context
from tests.support.refusals import refusal, words_of
from tests.support.tools import need

ODD = "a'b\"c $(id) `id` \\n %s"


def lookup(url: str, credential: Credential | None = None) -> GitLogin:
    def credentials(origin: Origin, path: str) -> Credential | None:
        return credential if origin == Origin("https", "h", 443) else None

    more: dict[str, Any] = {"credentials": credentials}
    return login_for(Remote(check_url(url)), a_context(**more))


def token(secret: str = "t0ken", username: str | None = None, identity: bool = False) -> Credential:
    return Credential(secret=Secret(secret), username=username, found_in="GETMODULES_TOKEN_h", identity=identity)


def filled(found: GitLogin, url: str) -> dict[str, str]:
    """What git would send to ``url``."""
    need("git")
    settings = [part for name, value in found.settings for part in ("-c", f"{name}={value}")]
    done = subprocess.run(
        ["git", *settings, "credential", "fill"], input=f"url={url}\n\n", capture_output=True, text=True, timeout=60,
        env={"PATH": os.environ["PATH"], "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", **found.variables}, check=False,
    )  # fmt: skip
    pairs = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    return {name: pairs[name] for name in ("username", "password") if name in pairs}


@pytest.mark.parametrize(
    ("url", "credential", "user", "password"),
    [
        pytest.param("https://ada:p%40ss@h/r", None, "ada", "p@ss", id="address"),
        pytest.param("https://ada:p@h/r", token(), "ada", "p", id="address before environment"),
        pytest.param("https://h/r", token(username="bob"), "bob", "t0ken", id="pair"),
        pytest.param("https://h/r", token(), "x-access-token", "t0ken", id="lone token"),
        pytest.param("https://ada@h/r", token(), "ada", "t0ken", id="user of the address, token"),
        pytest.param("https://h/r", token(secret=ODD), "x-access-token", ODD, id="what a shell could take for more"),
    ],
)  # fmt: skip
def test_what_git_sends(url: str, credential: Credential | None, user: str, password: str) -> None:
    found = lookup(url, credential)
    assert filled(found, "https://h/r") == {"username": user, "password": password}
    assert filled(found, "https://other/r") == {}
    assert filled(found, "http://h/r") == {}
    assert filled(found, "https://h:8443/r") == {}


def test_a_lone_user_may_be_a_token_where_no_helper_knows_a_password() -> None:
    first = lookup("https://t0ken@h/r")
    assert filled(first, "https://h/r") == {}
    assert knows_no_password("fatal: could not read Password for 'https://t0ken@h': terminal prompts disabled")
    assert not knows_no_password("fatal: could not read Username for 'https://h': terminal prompts disabled")
    assert first.otherwise is not None
    assert filled(first.otherwise, "https://h/r") == {"username": "t0ken", "password": ""}
    assert filled(first.otherwise, "https://other/r") == {}
    # The empty one comes first: no helper of the user's hears of it, and writes it down.
    assert next(value for name, value in first.otherwise.settings if name.endswith(".helper")) == ""


@pytest.mark.parametrize(
    ("url", "credential", "sent"),
    [
        pytest.param("https://rule:pw@h/r", None, {"username": "rule", "password": "pw"}, id="a rule alone"),
        pytest.param("https://rule:pw@h/r", token(username="bob"), {"username": "bob", "password": "t0ken"}, id="pair"),
        pytest.param("https://rule@h/r", token(), {"username": "x-access-token", "password": "t0ken"}, id="lone token"),
        pytest.param("https://rule@h/r", None, {}, id="a token in a rule, first the helpers"),
    ],
)
def test_a_rule_of_gits_configuration_stands_below_a_credential_of_ours(
    url: str, credential: Credential | None, sent: dict[str, str]
) -> None:
    more: dict[str, Any] = {"credentials": lambda origin, path: credential}
    found = login_for(Remote(check_url(url)), a_context(**more), is_typed=False)
    assert filled(found, "https://h/r") == sent
    assert "the address" not in str(found)


def test_no_setting_holds_a_secret() -> None:
    found = lookup("https://ada:s3cr3t@h/r")
    assert "s3cr3t" not in str(found.settings)
    assert "s3cr3t" not in repr(found)
    assert found.offered == "the address"


@pytest.mark.parametrize("url", ["ssh://git@h/r", "git://h/r", "file:///r", "https://other/r"])
def test_nothing_to_give(url: str) -> None:
    assert lookup(url, token()) == GitLogin()


def test_an_identity_token_opens_nothing_here() -> None:
    assert lookup("https://h/r", token(identity=True)) == GitLogin()


def test_a_secret_of_two_lines_would_be_two_answers() -> None:
    error = refusal(AuthenticationError, "authentication", lookup, "https://h/r", token(secret="a\nhost=evil"))
    assert "evil" not in words_of(error)


def test_the_users_own_helpers_stay_where_there_is_nothing_of_ours() -> None:
    assert ("credential.https://h.helper", "") in lookup("https://h/r", token()).settings
    assert ("credential.https://h.helper", "") not in lookup("https://t0ken@h/r").settings


@pytest.mark.parametrize(
    ("home", "sent"),
    [
        pytest.param("", True, id="typed"),
        pytest.param("http://h/r", True, id="as it was typed"),
        pytest.param("http://h:80/other", True, id="the same origin"),
        pytest.param("https://h/r", False, id="down from https"),
        pytest.param("http://other/r", False, id="by another server"),
        pytest.param("ssh://git@h/r", False, id="by a repository over ssh"),
    ],
)
def test_in_the_clear_nothing_is_shown_to_whom_a_server_names(home: str, sent: bool) -> None:
    """The variable of a host is for both: ``http://h`` and ``https://h``."""
    context = a_context(credentials=lambda origin, path: token(), home=home)
    found = login_for(Remote(check_url("http://h/r")), context)
    assert (filled(found, "http://h/r") != {}) is sent
    assert ("credential.http://h.helper", "") in found.settings
    assert login_for(Remote(check_url("https://h/r")), context).offered == "GETMODULES_TOKEN_h"


def test_the_same_as_a_header() -> None:
    assert lookup("https://ada:p@h/r").authorization == "Basic YWRhOnA="
    assert GitLogin().authorization is None
