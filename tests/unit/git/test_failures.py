"""git's own words, and what they are called here. Each line was said by a git, most by 2.39."""

from __future__ import annotations

import pytest

from getmodules import (
    AuthenticationError,
    ConfigError,
    CorruptArchiveError,
    FetchError,
    GetModulesError,
    InstallError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    UnsafeContentError,
)
from getmodules.git.failures import Story, detail, failure, knows_no_commit, refuses_commit

STORY = Story("git fetch from https://h/r", None, "GETMODULES_TOKEN_h")
UNABLE = "fatal: unable to access 'https://h/r/': "

ROWS = [
    (UNABLE + "Could not resolve host: h", NetworkError, "network"),
    ("ssh: Could not resolve hostname h: Name or service not known", NetworkError, "network"),
    ("fatal: unable to look up h (port 9418) (Name or service not known)", NetworkError, "network"),
    (UNABLE + "Failed to connect to h port 443 after 0 ms: Couldn't connect to server", NetworkError, "network"),
    ("ssh: connect to host h port 22: Connection refused", NetworkError, "network"),
    (UNABLE + "Operation too slow. Less than 1024 bytes/sec", NetworkError, "network/timeout"),
    ("ssh: connect to host h port 22: Connection timed out", NetworkError, "network/timeout"),
    (UNABLE + "server certificate verification failed. CAfile: none", NetworkError, "network/certificate"),
    (UNABLE + "SSL certificate problem: self-signed certificate", NetworkError, "network/certificate"),
    (UNABLE + "gnutls_handshake() failed: An unexpected TLS packet was received.", NetworkError, "network"),
    ("No ED25519 host key is known for h.\nHost key verification failed.", NetworkError, "network/certificate"),
    (UNABLE + "The requested URL returned error: 502", NetworkError, "network"),
    (UNABLE + "The requested URL returned error: 418", NetworkError, "network"),
    (UNABLE + "The requested URL returned error: 403", AuthenticationError, "authentication/forbidden"),
    (UNABLE + "The requested URL returned error: 401", AuthenticationError, "authentication"),
    (UNABLE + "The requested URL returned error: 429", RateLimitedError, "rate-limited"),
    (UNABLE + "The requested URL returned error: 410", NotFoundError, "not-found"),
    ("fatal: could not read Username for 'https://h': terminal", AuthenticationError, "authentication"),
    ("fatal: Authentication failed for 'https://h/r/'", AuthenticationError, "authentication"),
    ("git@h: Permission denied (publickey).\nfatal: Could not read", AuthenticationError, "authentication"),
    ("fatal: repository 'https://h/r/' not found", NotFoundError, "not-found"),
    ("ERROR: Repository not found.\nfatal: Could not read from remote repository.", NotFoundError, "not-found"),
    ("fatal: '/srv/r' does not appear to be a git repository", NotFoundError, "not-found"),
    ("fatal: remote error: access denied or repository not exported: /r", NotFoundError, "not-found"),
    ("fatal: https://h/r/info/refs not valid: is this a git repository?", NotFoundError, "not-found"),
    ("fatal: remote error: upload-pack: not our ref 1234", NotFoundError, "not-found"),
    ("fatal: detected dubious ownership in repository at '/srv/r'", ConfigError, "config"),
    ("fatal: write error: No space left on device", InstallError, "install/no-space"),
    (UNABLE + 'Protocol "http" not supported or disabled in libcurl', UnsafeContentError, "unsafe-content/elsewhere"),
    ("fatal: transport 'ext' not allowed", UnsafeContentError, "unsafe-content/elsewhere"),
    (UNABLE + "Maximum (20) redirects followed", NetworkError, "network"),
    ("error: object 1234: hasDotdot: contains '..'", UnsafeContentError, "unsafe-content/parent-path"),
    ("error: object 1234: gitmodulesUrl: disallowed submodule url: -x", UnsafeContentError, "unsafe-content/submodule"),
    ("error: object 1234: zeroPaddedFilemode: contains zero-padded modes", CorruptArchiveError, "corrupt-archive"),
    ("remote: aborting due to possible repository corruption on the remote side.\nfatal: protocol error: bad pack",
     CorruptArchiveError, "corrupt-archive"),
    ("error: https://h/r did not send all necessary objects", CorruptArchiveError, "corrupt-archive"),
    ("fatal: pack is corrupted (SHA1 mismatch)\nfatal: fetch-pack: invalid index-pack output", CorruptArchiveError,
     "corrupt-archive"),
    ("fatal: early EOF\nfatal: fetch-pack: invalid index-pack output", NetworkError, "network"),
    ("fatal: the remote end hung up unexpectedly", NetworkError, "network"),
    ("error: RPC failed; curl 56 Recv failure: Connection reset by peer", NetworkError, "network"),
    ("fatal: expected 'packfile'", NetworkError, "network"),
    ("fatal: remote error: the repository is asleep", NetworkError, "network"),
    ("fatal: something new", FetchError, "fetch/unreadable"),
    ("", FetchError, "fetch/unreadable"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "kind", "code"), ROWS, ids=[row[0][-60:] or "nothing" for row in ROWS])
def test_a_failure(said: str, kind: type[GetModulesError], code: str) -> None:
    error = failure(said, STORY)
    assert type(error) is kind, error
    assert error.code == code
    assert "https://h/r" in error.message
    if kind in (InstallError, NotFoundError, AuthenticationError, ConfigError, RateLimitedError):
        assert error.hint, "somebody can do something about these"


def test_whether_a_credential_was_sent_makes_the_difference() -> None:
    said = "fatal: could not read Username for 'https://h': terminal prompts disabled"
    without, refused = failure(said, STORY), failure(said, STORY._replace(offered="GETMODULES_TOKEN_h"))
    assert "GETMODULES_TOKEN_h" in (without.hint or "")
    assert "does not accept the credential from GETMODULES_TOKEN_h" in refused.message
    assert "ssh-add" in (failure(said, Story("git fetch from ssh://h/r")).hint or "")


def test_gits_words_are_escaped_redacted_and_short() -> None:
    shown = detail("Receiving objects: 10%\nremote: \x1b[31mred\nfatal: https://ada:s3cr3t@h/r\n" + "fatal: x" * 500)
    assert "\x1b" not in shown
    assert "s3cr3t" not in shown
    assert "Receiving" not in shown
    assert len(shown) < 500


def test_what_sends_us_to_the_next_way() -> None:
    assert refuses_commit("error: Server does not allow request for unadvertised object 12")
    assert refuses_commit("fatal: dumb http transport does not support shallow capabilities")
    assert not refuses_commit("fatal: remote error: upload-pack: not our ref 12")
    assert knows_no_commit("fatal: remote error: upload-pack: not our ref 12")
    assert not knows_no_commit("fatal: something else")
