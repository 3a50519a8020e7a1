"""What people are told to do about it, which depends on what they had done before."""

from __future__ import annotations

import pytest

from getmodules import AuthenticationError, ConfigError, GetModulesError, NetworkError, NotFoundError
from getmodules.getters.git.errors import SSHKEY, FailedCommand, git_error

TOKEN = "GETMODULES_TOKEN_h"
WEB = FailedCommand("git fetch from https://h/r", None, TOKEN)
SSH = FailedCommand("git fetch from ssh://h/r")
FILE = FailedCommand("git fetch from file:///srv/r")

NO_USER = "fatal: could not read Username for 'https://h': terminal prompts disabled"
NO_KEY = "git@h: Permission denied (publickey)."
NOT_FOUND = "fatal: repository 'https://h/r/' not found"
HTTP_403 = "fatal: unable to access 'https://h/r/': The requested URL returned error: 403"


@pytest.mark.parametrize(
    ("said", "command", "kind", "message", "hint"),
    [
        pytest.param(NO_USER, WEB, AuthenticationError, "none were found", TOKEN, id="no credential"),
        pytest.param(NO_USER, WEB._replace(offered=TOKEN), AuthenticationError,
                     f"does not accept the credential from {TOKEN}", "expired", id="a credential"),
        pytest.param(NO_KEY, SSH, AuthenticationError, "no key of ours", "sshkey= brings one", id="no key"),
        pytest.param(NO_KEY, SSH._replace(offered=SSHKEY), AuthenticationError, "does not accept the key of sshkey=",
                     "public half", id="a key in the address"),
        pytest.param(f'Load key "/w/key-1": error in libcrypto\n{NO_KEY}', SSH._replace(offered=SSHKEY), ConfigError,
                     "sshkey= is no key that ssh can use", "base64", id="no key in the address"),
        pytest.param(f'Load key "/w/key-1": invalid format\n{NO_KEY}', SSH._replace(offered=SSHKEY), ConfigError,
                     "sshkey= is no key that ssh can use", "base64", id="an odd key in the address"),
        pytest.param(f'Load key "/home/k": invalid format\n{NO_KEY}', SSH, ConfigError, "/home/k", "private key",
                     id="an odd key of the user's"),
        pytest.param(NOT_FOUND, WEB, NotFoundError, "no repository", "who has no credentials", id="perhaps hidden"),
        pytest.param(NOT_FOUND, WEB._replace(offered=TOKEN), NotFoundError, "no repository", "the address right",
                     id="not there"),
        pytest.param(HTTP_403, WEB, AuthenticationError, "without a credential", "this account", id="forbidden to all"),
        pytest.param(HTTP_403, WEB._replace(offered=TOKEN), AuthenticationError, f"with the credential from {TOKEN}",
                     "this account", id="forbidden"),
    ],
)  # fmt: skip
def test_who_is_at_the_door(
    said: str, command: FailedCommand, kind: type[GetModulesError], message: str, hint: str
) -> None:
    error = git_error(said, command)
    assert type(error) is kind, error
    assert message in error.message
    assert hint in (error.hint or "")


def test_whoever_gave_a_key_is_not_told_to_give_one() -> None:
    assert "brings one" not in (git_error(NO_KEY, SSH._replace(offered=SSHKEY)).hint or "")


DUBIOUS = "fatal: detected dubious ownership in repository at '{}'\nTo add an exception for this directory, call:"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        pytest.param(DUBIOUS.format("/srv/r"), "safe.directory /srv/r", id="plain"),
        pytest.param(DUBIOUS.format("/srv/a b"), "safe.directory '/srv/a b'", id="with a blank"),
        pytest.param(DUBIOUS.format("/srv/it's; id"), "safe.directory '/srv/it'\"'\"'s; id'", id="with a quote"),
        pytest.param(DUBIOUS.format("/srv/\x1b[31m"), "safe.directory PATH", id="that cannot be shown"),
        pytest.param("fatal: unsafe repository ('/srv/r' is owned by someone else)", "safe.directory /srv/r", id="old"),
        pytest.param("fatal: detected dubious ownership", "safe.directory PATH", id="not named"),
    ],
)
def test_the_directory_to_trust_is_named_as_a_shell_reads_it(said: str, told: str) -> None:
    here, there = git_error(said, FILE), git_error(said, SSH)
    assert type(here) is ConfigError
    assert (here.hint or "").endswith(told)
    assert type(there) is NetworkError, "it is the server's git that said so"
    assert "on the server" in (there.hint or "")
    assert (there.hint or "").endswith(told)


def test_only_what_is_slow_is_helped_by_time() -> None:
    slow = git_error("fatal: unable to access 'https://h/r/': Operation too slow. Less than 1024 bytes/sec", WEB)
    assert slow.code == "network/timeout"
    assert "--timeout" in (slow.typed_hint or "")


@pytest.mark.parametrize(
    "said",
    [
        "fatal: unable to access 'https://h/r/': Failed to connect to h port 443 after 130000 ms: Connection timed out",
        "fatal: unable to access 'https://h/r/': Operation timed out after 300000 milliseconds with 0 bytes received",
        "fatal: unable to connect to h:\nh[0: 192.0.2.1]: errno=Connection timed out",
        "ssh: connect to host h port 22: Connection timed out",
        "Timeout, server h not responding.",
    ],
)
def test_silence_is_about_the_network(said: str) -> None:
    error = git_error(said, WEB)
    assert error.code == "network/timeout", error
    assert "firewall" in (error.hint or "")
    assert "--limit" not in (error.hint or "")
