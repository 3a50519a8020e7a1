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
    ToolMissingError,
    UnsafeContentError,
)
from getmodules.getters.git.errors import FailedCommand, git_error, knows_no_commit, refuses_commit

FETCH = FailedCommand("git fetch from https://h/r", None, "GETMODULES_TOKEN_h")
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
    ("error: cannot lock ref 'refs/x/1': Unable to create '/c/1.lock': No space left on device", InstallError,
     "install/no-space"),
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
    error = git_error(said, FETCH)
    assert type(error) is kind, error
    assert error.code == code
    assert "https://h/r" in error.message
    if kind in (InstallError, NotFoundError, AuthenticationError, ConfigError, RateLimitedError):
        assert error.hint, "somebody can do something about these"


# --------------------------------------------------------------------------------------------- over ssh

SSH = FailedCommand("git ls-remote of ssh://git@h/acme/vpc.git")
#: git ends with this whatever it was.
END = (
    "\nfatal: Could not read from remote repository.\n\n"
    "Please make sure you have the correct access rights\nand the repository exists.\n"
)
DENIED = "git@h: Permission denied (publickey)."
COMMAND = "-o BatchMode=yes -o StrictHostKeyChecking=yes -o ControlMaster=no -o ConnectTimeout=15"
TOO_MANY = "Too many authentication failures"
FORK = "\nfatal: unable to fork"
FRAME = "@" * 59
SENT = "SHA256:YvWagfKjZudhuT+FXjSkAzZ5LAl8Nt7MzmOBOVMs5OQ"
CHANGED = f"""{FRAME}
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
{FRAME}
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Someone could be eavesdropping on you right now (man-in-the-middle attack)!
It is also possible that a host key has just been changed.
The fingerprint for the ED25519 key sent by the remote host is
{SENT}.
Please contact your system administrator.
Add correct host key in /h/ada/.ssh/known_hosts to get rid of this message.
Offending ED25519 key in /h/ada/.ssh/known_hosts:1
  remove with:
  ssh-keygen -f "/h/ada/.ssh/known_hosts" -R "h"
Host key for h has changed and you have requested strict checking.
Host key verification failed."""
REVOKED = f"""{FRAME}
@       WARNING: REVOKED HOST KEY DETECTED!               @
{FRAME}
The ED25519 host key for h is marked as revoked.
This could mean that a stolen key is being used to
impersonate this host.
ED25519 host key for h was revoked and you have requested strict checking.
Host key verification failed."""
OPEN = f"""{FRAME}
@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @
{FRAME}
Permissions 0644 for '/h/ada/.ssh/id' are too open.
It is required that your private key files are NOT accessible by others.
This private key will be ignored.
Load key "/h/ada/.ssh/id": bad permissions"""
GITLAB = (
    "remote: \nremote: ======\nremote: \n"
    "remote: ERROR: The project you were looking for could not be found or you don't have permission to view it.\n"
    "remote: \nremote: ======\nremote: "
)
BITBUCKET = (
    "The requested repository either does not exist or you do not have access. "
    "If you believe this repository exists and you have access, make sure you're authenticated."
)
BITBUCKET_SERVER = (
    "Repository not found\nThe requested repository does not exist, or you do not have permission to access it."
)
GITOLITE = "FATAL: R any acme/vpc u DENIED by fallthru\n(or you mis-spelled the reponame)"
POST_QUANTUM = (
    "** WARNING: connection is not using a post-quantum key exchange algorithm.\n"
    '** This session may be vulnerable to "store now, decrypt later" attacks.\n'
    "** The server may need to be upgraded. See https://openssh.com/pq.html"
)
SAML = "ERROR: The `acme' organization has enabled or enforced SAML SSO.\nTo access this repository, you must use HTTPS"
AZURE = "remote: TF401019: The Git repository with name or identifier vpc does not exist or you do not have permissions"
UNKNOWN = "No ED25519 host key is known for h and you have requested strict checking.\nHost key verification failed."
BAD_OPTION = "/c: line 1: Bad configuration option: foo\n/c: terminating, 1 bad configuration options"
SSH_1 = (
    "Protocol major versions differ: 2 vs. 1\n"
    "banner exchange: Connection to 1.2.3.4 port 22: could not read protocol version"
)
NO_BANNER = "Connection timed out during banner exchange\nConnection to 1.2.3.4 port 22 timed out"
KEX = "kex_exchange_identification: "
NEGOTIATE = "Unable to negotiate with 1.2.3.4 port 22: no matching host key type found. Their offer: ssh-rsa"

#: What was said before git's own end, and what people must find in the message and in the hint.
OVER_SSH = {
    # Nobody is there to connect.
    (ToolMissingError, "tool-missing"): {
        "dash": (f"ssh {COMMAND}: 1: ssh: not found", "ssh is needed", "openssh-client"),
        "bash": (f"ssh {COMMAND}: line 1: ssh: command not found", "ssh is needed", "https"),
        "busybox": (f"ssh {COMMAND}: line 0: ssh: not found", "ssh is needed", "https"),
        "zsh": (f"ssh {COMMAND}:1: command not found: ssh", "ssh is needed", "https"),
        "mksh": (f"ssh {COMMAND}: ssh: inaccessible or not found", "ssh is needed", "https"),
        "a shell's name": ("sh: 1: ssh: not found", "ssh is needed", "https"),
        "no shell's name": ("ssh: command not found", "ssh is needed", "https"),
        "no shell": (f"error: cannot run ssh {COMMAND}: No such file or directory{FORK}", "ssh is needed", "https"),
        "cannot run": (f"error: cannot run ssh: No such file or directory{FORK}", "ssh is needed", "https"),
        "cannot spawn": ("error: cannot spawn ssh: No such file or directory", "ssh is needed", "https"),
        "ssh of the user": (f"/opt/ssh {COMMAND}: 1: /opt/ssh: not found", "'/opt/ssh'", "GIT_SSH_COMMAND"),
        "the user's program": (f"nossh {COMMAND}: 1: nossh: not found", "'nossh'", "core.sshCommand"),
        "the user's path": (f"'/opt/no ssh' {COMMAND} -i k: 1: /opt/no ssh: not found", "'/opt/no ssh'", "installed"),
        "a timeout of the user": (f"nossh {COMMAND} -o ConnectTimeout=5: 1: nossh: not found", "'nossh'", "installed"),
        "no program": (f"/opt {COMMAND}: 1: /opt: Permission denied", "'/opt'", "GIT_SSH_COMMAND"),
        "env": ("env: 'nossh': No such file or directory", "'nossh'", "GIT_SSH_COMMAND"),
        "plink": ("plink -batch: 1: plink: not found", "'plink'", "GIT_SSH_COMMAND"),
        "a port": ("fatal: ssh variant 'simple' does not support setting port", "setting port", "ssh.variant"),
    },
    (FetchError, "fetch/unreadable"): {
        "the server's shell": ("bash: line 1: git-upload-pack: command not found", "failed: bash: line 1: git", ""),
        "another complaint": (f"ssh 'a {COMMAND}: 1: Syntax error: Unterminated quoted string", "Unterminated", ""),
        "something unknown": ("This account is asleep.", "failed: This account is asleep.", ""),
    },
    # There is no such repository, or so it is said.
    (NotFoundError, "not-found"): {
        "github": ("ERROR: Repository not found.", "(ERROR: Repository not found.)", "address"),
        "gitlab": (GITLAB, "(remote: ERROR: The project you were looking for", "address"),
        "bitbucket cloud": (BITBUCKET, "(The requested repository either does", "address"),
        "bitbucket cloud, a warning": (f"{POST_QUANTUM}\n{BITBUCKET}", "(The requested repository", "address"),
        "bitbucket cloud, before": ("repository does not exist.", "(repository does not exist.)", "address"),
        "bitbucket cloud, long before": ("conq: repository does not exist.", "(conq: repository", "address"),
        "bitbucket server": (BITBUCKET_SERVER, "(Repository not found; The requested repository", "address"),
        "gitea": ("Gitea: Repository does not exist or you do not have access", "(Gitea: Repository", "address"),
        "gitea, newer": ("Gitea: Cannot find repository: acme/vpc", "repository: acme/vpc)", "address"),
        "forgejo": ("Forgejo: Cannot find repository: acme/vpc", "(Forgejo: Cannot", "address"),
        "gitolite": (GITOLITE, "DENIED by fallthru", "address"),
        "azure": (AZURE, "TF401019", "address"),
        "gerrit": ("fatal: Project not found: acme/vpc", "(fatal: Project not found", "address"),
        "with another key": ('Load key "/k": invalid format\nERROR: Repository not found.', "not found.)", "address"),
    },
    # Somebody known may not.
    (AuthenticationError, "authentication/forbidden"): {
        "github, an account": ("ERROR: You are not allowed to access this repository", "(ERROR: You are", "may this"),
        "github, a deploy key": ("ERROR: Permission to acme/vpc.git denied to deploy key", "(ERROR: Perm", "may this"),
        "github, single sign-on": (SAML, "SAML SSO", "authorized"),
        "gitlab, an account": ("remote: ERROR: You are not allowed to download code", "download code", "may this"),
    },
    (RateLimitedError, "rate-limited"): {
        "gitlab, often": ("remote: This endpoint has been requested too many times.", "too many times", "wait"),
        "github, often": ("remote: This request was rate-limited due to too many requests.", "rate-limited", "wait"),
    },
    # Our own keys and settings.
    (AuthenticationError, "authentication"): {
        "an unknown key": (DENIED, "accepts no key", "ssh-add"),
        "too many keys": (f"Received disconnect from 1.2.3.4 port 22:2: {TOO_MANY}", TOO_MANY, "ssh-add"),
    },
    (ConfigError, "config"): {
        "a key of an odd kind": (f'Load key "/k": invalid format\n{DENIED}', '(Load key "/k": invalid', "private key"),
        "no key": (f'Load key "/k": error in libcrypto\n{DENIED}', "error in libcrypto", "private key"),
        "a key for all to read": (f"{OPEN}\n{DENIED}", "Permissions 0644 for '/h/ada/.ssh/id'", "chmod 600"),
        "settings for all to write": ("Bad owner or permissions on /h/ada/.ssh/config", "/h/ada/.ssh/config", "chmod"),
        "settings that are none": (BAD_OPTION, "Bad configuration option: foo", "correct"),
    },
    # The server's key.
    (NetworkError, "network/certificate"): {
        "an unknown host": (UNKNOWN, "is not known (No ED25519 host key", "then add it to ~/.ssh/known_hosts"),
        "another host": (CHANGED, f"(it is {SENT}): somebody may be in the middle", "before you touch known_hosts"),
        "a revoked host": (REVOKED, "was revoked and", "before you touch known_hosts"),
    },
    # The connection.
    (NetworkError, "network"): {
        "no name": ("ssh: Could not resolve hostname h: Name or service not known", "is not known (ssh: ", "spelled"),
        "refused": ("ssh: connect to host h port 22: Connection refused", "(ssh: connect to host h", "spelled"),
        "no common way": (NEGOTIATE, "no way in common (Unable to negotiate", "~/.ssh/config"),
        "reset": ("Connection reset by 1.2.3.4 port 22", "(Connection reset by 1.2.3.4", "try again"),
        "closed": ("Connection closed by 1.2.3.4 port 22", "(Connection closed by 1.2.3.4", "try again"),
        "closed at once": (f"{KEX}Connection closed by remote host", "closed the connection (kex", "port"),
        "reset at once": (f"{KEX}read: Connection reset by peer", "closed the connection (kex", "port"),
        "garbage": (f"{KEX}banner line contains invalid characters", "does not speak ssh (kex", "port"),
        "garbage, later": ("Bad packet length 1213486160.", "does not speak ssh (Bad packet", "port"),
        "an old ssh": (SSH_1, "does not speak ssh (Proto", "port"),
        "its owner": ("fatal: detected dubious ownership in repository at '/r'", "the server's git", "directory /r"),
    },
    (NetworkError, "network/timeout"): {
        "no answer": ("ssh: connect to host h port 22: Connection timed out", "no answer (ssh: conn", "firewall"),
        "no banner": (NO_BANNER, "during banner exchange", "firewall"),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "kind", "code", "message", "hint"),
    [
        pytest.param(said, kind, code, message, hint, id=name)
        for (kind, code), rows in OVER_SSH.items()
        for name, (said, message, hint) in rows.items()
    ],
)
def test_a_failure_over_ssh(said: str, kind: type[GetModulesError], code: str, message: str, hint: str) -> None:
    error = git_error(said + END, SSH)
    assert type(error) is kind, error
    assert error.code == code
    assert message in error.message
    assert hint in (error.hint or "")
    for noise in ("ssh-keygen", "Could not read from", "correct access rights", "and the repository exists"):
        assert noise not in error.message, "there is something better"


def test_where_nothing_else_is_said_gits_end_is_better_than_nothing() -> None:
    error = git_error(END, SSH)
    assert error.message.endswith("failed: fatal: Could not read from remote repository.")
    assert error.code == "fetch/unreadable"


def test_what_was_said_stands_in_the_message_without_its_secrets() -> None:
    error = git_error("fatal: https://ada:s3cr3t@h/\x1b[31m is new", FETCH)
    assert "is new" in error.message
    assert "s3cr3t" not in error.message
    assert "\x1b" not in error.message


def test_what_sends_us_to_the_next_way() -> None:
    assert refuses_commit("error: Server does not allow request for unadvertised object 12")
    assert refuses_commit("fatal: dumb http transport does not support shallow capabilities")
    assert not refuses_commit("fatal: remote error: upload-pack: not our ref 12")
    assert knows_no_commit("fatal: remote error: upload-pack: not our ref 12")
    assert not knows_no_commit("fatal: something else")
