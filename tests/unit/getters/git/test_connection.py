"""What a git process is told about one remote."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from getmodules import OfflineError
from getmodules.addresses.url import check_url
from getmodules.getters.git.connection import connected, sweep_keys
from getmodules.getters.git.environment import REMOTE
from getmodules.getters.git.remote import Remote
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.gitstores import a_git, settings
from tests.support.refusals import refusal

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\r\nc2VjcmV0\r\n-----END OPENSSH PRIVATE KEY-----"


def told(
    url: str, tmp_path: Path, *, sshkey: str | None = None, network: NetSettings | None = None, **environ: str
) -> dict[str, str]:
    more: dict[str, Any] = {"network": ClientNetwork(network or NetSettings())}
    git = a_git(environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environ}, **more)
    with connected(Remote(check_url(url), sshkey), git, tmp_path) as connection:
        return connection.environment(tmp_path / "store")


def test_the_url_comes_without_its_password_and_by_no_command_line(tmp_path: Path) -> None:
    environ = told("https://ada:s3cr3t@h/r.git", tmp_path)
    alias = settings(environ)[f"remote.{REMOTE}.url"]
    assert settings(environ)["url.https://h/r.git.insteadOf"] == alias
    assert settings(told("https://h/r.git", tmp_path))[f"remote.{REMOTE}.url"] == "https://h/r.git"
    assert [name for name, value in environ.items() if "s3cr3t" in value] == ["GETMODULES_GIT_PASSWORD"]


@pytest.mark.parametrize(
    ("url", "always"),
    [
        ("https://h/r", {"https"}),
        ("http://h/r", {"http", "https"}),
        ("ssh://h/r", set()),
        ("git://h/r", set()),
        ("file:///r", set()),
    ],
)
def test_where_a_redirect_may_lead(url: str, always: set[str], tmp_path: Path) -> None:
    """``user``: what the address says or the user's own ``insteadOf``, and no server."""
    found = settings(told(url, tmp_path))
    allowed = {name.split(".")[1]: value for name, value in found.items() if name.endswith(".allow")}
    assert allowed.pop("allow", None) or found["protocol.allow"] == "never"
    allowed = {name: value for name, value in allowed.items() if name in ("https", "http", "ssh", "git", "file")}
    assert {name for name, value in allowed.items() if value == "always"} == always
    assert set(allowed.values()) <= {"always", "user"}
    assert len(allowed) == 5


@pytest.mark.parametrize(
    ("own", "start", "end"),
    [
        ("", "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes", ""),
        ("ssh -o StrictHostKeyChecking=no", "ssh -o BatchMode=yes", " -o StrictHostKeyChecking=no"),
        ("/opt/my/ssh -v", "/opt/my/ssh -o BatchMode=yes", " -v"),
        ("'/opt/my own/ssh' -v", "'/opt/my own/ssh' -o BatchMode=yes", " -v"),
        ("wrapper -v", "wrapper -v -o BatchMode=yes", ""),
        ("plink -P 7", "plink -P 7", " -batch"),
    ],
)
def test_ssh_asks_nobody_and_learns_no_key(own: str, start: str, end: str, tmp_path: Path) -> None:
    """Of each option ssh takes what it reads first."""
    command = told("ssh://git@h/r", tmp_path, **({"GIT_SSH_COMMAND": own} if own else {}))["GIT_SSH_COMMAND"]
    assert command.startswith(start)
    assert command.endswith(end)


def test_the_users_own_ssh_is_used(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n\tsshCommand = /opt/ssh -F mine\n", encoding="ascii")
    command = told("ssh://git@h/r", tmp_path)["GIT_SSH_COMMAND"]
    assert command.startswith("/opt/ssh -o BatchMode=yes")
    assert command.endswith(" -F mine")


@pytest.mark.skipif(os.name == "nt", reason="modes mean nothing there")
def test_a_key_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    git = a_git(network=ClientNetwork(NetSettings()))
    remote = Remote(check_url("ssh://git@h/r"), base64.b64encode(KEY.encode()).decode())
    with connected(remote, git, tmp_path) as connection:
        (file,) = tmp_path.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_bytes() == KEY.replace("\r", "").encode() + b"\n"
        environ = connection.environment(tmp_path)
        assert f"-i {file} -o IdentitiesOnly=yes" in environ["GIT_SSH_COMMAND"]
        assert not [value for value in environ.values() if "c2VjcmV0" in value]
    assert list(tmp_path.iterdir()) == []


def test_a_key_of_a_process_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "key-0123").write_bytes(b"secret")
    sweep_keys(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_certificates(tmp_path: Path) -> None:
    network = NetSettings(ca_file="/ours", client_certificates={"h": "/cert,/key"})
    environ = told("https://h/r", tmp_path, network=network, GIT_SSL_CAINFO="/theirs")
    assert environ["GIT_SSL_CAINFO"] == "/ours"
    assert settings(environ)["http.https://h/.sslCert"] == "/cert"
    assert settings(environ)["http.https://h/.sslKey"] == "/key"
    assert told("https://h/r", tmp_path, GIT_SSL_CAINFO="/theirs")["GIT_SSL_CAINFO"] == "/theirs"
    assert "/cert" not in str(told("https://other/r", tmp_path, network=network))


@pytest.mark.parametrize("url", ["https://h/r", "ssh://git@h/r", "git://h/r"])
def test_offline(url: str, tmp_path: Path) -> None:
    git = a_git(offline=True, network=ClientNetwork(NetSettings()))
    error = refusal(OfflineError, "offline", connected(Remote(check_url(url)), git, tmp_path).__enter__)
    assert "--offline" in (error.typed_hint or "")


def test_what_is_on_this_machine_is_there_offline(tmp_path: Path) -> None:
    git = a_git(offline=True, network=ClientNetwork(NetSettings()))
    with connected(Remote(check_url("file:///r")), git, tmp_path) as connection:
        assert connection.remote.location == "file:///r"


def test_what_failed(tmp_path: Path) -> None:
    git = a_git(network=ClientNetwork(NetSettings()))
    with connected(Remote(check_url("https://ada:s3cr3t@h:8443/r")), git, tmp_path) as connection:
        failed = connection.failed_command("git fetch from")
    assert failed[:4] == ("git fetch from https://h:8443/r", "the address", "GETMODULES_TOKEN_h_8443", "ada")
    assert failed.place == "h:8443"
    key = base64.b64encode(KEY.encode()).decode()
    with connected(Remote(check_url("ssh://git@h/r"), key), git, tmp_path) as connection:
        failed = connection.failed_command("git fetch from")
    assert failed[:3] == ("git fetch from ssh://git@h/r", "sshkey=", None)
    assert failed.place == "h:22"
