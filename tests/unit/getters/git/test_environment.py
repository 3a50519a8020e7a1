"""What a git process is told."""

from __future__ import annotations

from pathlib import Path

from getmodules.getters.git.environment import REMOTE, connecting, environment
from tests.support.gitstores import settings

HOSTILE = {
    "GIT_DIR": "/evil", "GIT_CONFIG_PARAMETERS": "'core.fsmonitor=evil'", "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "evil", "GIT_SSH_COMMAND": "evil",
    "GIT_ASKPASS": "evil", "SSH_ASKPASS": "evil", "GIT_TRACE": "/evil", "GIT_SSL_NO_VERIFY": "1",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/evil", "GIT_ALLOW_PROTOCOL": "ext", "GIT_EXEC_PATH": "/evil",
}  # fmt: skip
KEPT = {"HOME": "/home/ada", "PATH": "/bin", "SSH_AUTH_SOCK": "/run/agent", "https_proxy": "http://proxy:8080"}


def test_nothing_of_the_callers_git_gets_through() -> None:
    found = environment(HOSTILE | KEPT, Path("/store"))
    assert not [name for name, value in found.items() if "evil" in value]
    assert found["GIT_DIR"] == "/store"
    assert "GIT_SSL_NO_VERIFY" not in found
    assert found.items() >= KEPT.items()


def test_no_token_of_ours_gets_through() -> None:
    ours = {"GETMODULES_TOKEN_ghcr_io": "s3cr3t", "GETMODULES_USERNAME_ghcr_io": "ada-s3cr3t", "TF_TOKEN_h": "s3cr3t"}
    ours |= {"GETMODULES_ACME_2_TOKEN_ghcr_io": "s3cr3t", "GETMODULES_TOKEN_GHCR_IO": "s3cr3t"}
    found = environment(ours | KEPT, Path("/store"))
    assert not [name for name, value in found.items() if "s3cr3t" in value]
    given = environment(ours, Path("/store"), more={"GETMODULES_GIT_PASSWORD": "for this remote"})
    assert given["GETMODULES_GIT_PASSWORD"] == "for this remote"


def test_nobody_is_asked_and_nothing_is_run() -> None:
    found = environment({}, Path("/store"))
    assert (found["GIT_ASKPASS"], found["SSH_ASKPASS"], found["GIT_TERMINAL_PROMPT"]) == ("", "", "0")
    told = settings(found)
    assert told["core.fsmonitor"] == "false"
    assert told["core.hooksPath"] in ("/dev/null", "nul")
    assert told["fetch.fsckObjects"] == "true"
    assert told["http.sslVerify"] == "true"


def test_no_transport_unless_it_is_to_connect() -> None:
    found = environment({"GIT_ALLOW_PROTOCOL": "ext"}, Path("/store"))
    assert found["GIT_ALLOW_PROTOCOL"] == ""
    assert "GIT_ALLOW_PROTOCOL" not in connecting(found)


def test_what_is_added_stands_behind_what_is_always_there() -> None:
    found = environment({}, Path("/store"), settings=[("http.sslVerify", "x")], more={"GIT_SSL_CAINFO": "/ca"})
    assert settings(found)["http.sslVerify"] == "x"
    assert found["GIT_SSL_CAINFO"] == "/ca"


def test_the_remotes_name_is_nobody_elses() -> None:
    assert len(REMOTE) > len("getmodules-") + 8
