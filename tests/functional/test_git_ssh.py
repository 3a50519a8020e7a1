"""A real ``sshd``: with a key, an agent, a key in the address; an unknown host, an unknown key; nothing ever asks."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from getmodules import AuthenticationError, ConfigError, NetworkError, NotFoundError, ToolMissingError
from tests.support.gitplaces import Place
from tests.support.gitrepos import Gitlink, modules
from tests.support.gitservers import SecureShell, ssh_agent, sshd
from tests.support.refusals import words_of
from tests.support.tools import need

pytestmark = pytest.mark.slow

FILES = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureShell]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def source(place: Place, server: SecureShell) -> str:
    place.repository().commit_files(FILES)
    return f"git::{server.url}{place.root}/a.git"


def in_the_address(key: Path) -> str:
    return base64.b64encode(key.read_bytes()).decode().replace("+", "%2B")


def test_with_the_users_key(source: str, server: SecureShell, place: Place) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command()
    installed = place.get(source)
    assert place.files() == FILES
    assert installed.pinned == f"{source}?ref={installed.id}"


def test_the_scp_form(server: SecureShell, place: Place) -> None:
    """It cannot name a port, so the user's configuration does, as with any host that has one of its own."""
    commit = place.repository().commit_files(FILES)
    configuration = place.home / "ssh_config"
    user = server.url.removeprefix("ssh://").partition("@")[0]
    configuration.write_text(
        f"Host forge.example\n  HostName 127.0.0.1\n  Port {server.port}\n  IdentityFile {server.key}\n"
        f"  UserKnownHostsFile {server.known_hosts}\n"
    )
    place.environ["GIT_SSH_COMMAND"] = f"ssh -F {configuration}"
    installed = place.get(f"git::{user}@forge.example:{place.root}/a.git?ref={commit}")
    assert place.files() == FILES
    assert installed.id == commit


def test_with_an_agent(source: str, server: SecureShell, place: Place, tmp_path: Path) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    with ssh_agent(tmp_path, server.key) as agent:
        place.environ["SSH_AUTH_SOCK"] = agent
        place.get(source)
    assert place.files() == FILES


@pytest.mark.parametrize("kind", ["openssh", "pem"])
@pytest.mark.parametrize("suffix", ["", "//sub"], ids=["whole", "subdirectory"])
def test_with_a_key_in_the_address(
    kind: str, suffix: str, source: str, server: SecureShell, place: Place, tmp_path: Path
) -> None:
    key = server.key
    if kind == "pem":
        key = tmp_path / "rsa"
        keygen = need("ssh-keygen")
        subprocess.run([keygen, "-q", "-t", "rsa", "-m", "PEM", "-N", "", "-f", key], check=True)
        authorized = server.key.with_suffix(".pub")
        authorized.write_text(authorized.read_text() + key.with_suffix(".pub").read_text())
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    installed = place.get(f"{source}{suffix}?sshkey={in_the_address(key)}")
    assert len(place.files()) == (1 if suffix else 2)
    assert installed.pinned is not None
    assert "sshkey" not in installed.pinned
    everywhere = [path.read_bytes() for path in place.top.rglob("*") if path.is_file()]
    secret = key.read_bytes().splitlines()[1]
    assert not any(secret in content for content in everywhere)


def test_the_key_in_the_address_stands_before_the_agent(
    source: str, server: SecureShell, place: Place, tmp_path: Path
) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    with ssh_agent(tmp_path, server.other_key) as agent:
        place.environ["SSH_AUTH_SOCK"] = agent
        place.get(f"{source}?sshkey={in_the_address(server.key)}")
    assert place.files() == FILES


def test_a_key_that_nobody_knows(source: str, server: SecureShell, place: Place) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    key = in_the_address(server.other_key)
    error = place.refused(f"{source}?sshkey={key}", AuthenticationError, "authentication")
    assert key not in words_of(error)
    assert error.hint


def test_without_any_key(source: str, server: SecureShell, place: Place) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    place.refused(source, AuthenticationError, "authentication")


def test_a_key_with_a_passphrase_does_not_ask_for_it(
    source: str, server: SecureShell, place: Place, tmp_path: Path
) -> None:
    key = tmp_path / "locked"
    subprocess.run([need("ssh-keygen"), "-q", "-t", "ed25519", "-N", "a passphrase", "-f", key], check=True)
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    place.environ["DISPLAY"] = ":0"
    place.environ["SSH_ASKPASS"] = str(evil(place))
    place.refused(f"{source}?sshkey={in_the_address(key)}", AuthenticationError, "authentication")
    assert not (place.home / "executed").exists()


@pytest.mark.parametrize("what", ["garbage", "the public half", "a key cut short"])
def test_what_is_no_key(what: str, source: str, server: SecureShell, place: Place, tmp_path: Path) -> None:
    lines = server.key.read_text().splitlines()
    key = tmp_path / "none"
    key.write_text(
        {
            "garbage": "xx\n",
            "the public half": server.key.with_suffix(".pub").read_text(),
            "a key cut short": "\n".join((*lines[:2], lines[-1], "")),
        }[what]
    )
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    error = place.refused(f"{source}?sshkey={in_the_address(key)}", ConfigError, "config")
    assert "Load key" in error.message
    assert error.hint


def evil(place: Place) -> Path:
    program = place.home / "evil"
    program.write_text(f"#!/bin/sh\ntouch {place.home}/executed\necho secret\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("strict", ["", " -o StrictHostKeyChecking=no", " -o StrictHostKeyChecking=accept-new"])
def test_an_unknown_host_key_fails_and_is_not_learnt(
    strict: str, source: str, server: SecureShell, place: Place
) -> None:
    hosts = place.home / "known_hosts"
    hosts.touch()
    command = server.command().replace(str(server.known_hosts), str(hosts))
    place.environ["GIT_SSH_COMMAND"] = command + strict
    error = place.refused(source, NetworkError, "network/certificate")
    assert "host key" in words_of(error).lower()
    assert hosts.read_text() == ""


def test_a_changed_host_key_fails(source: str, server: SecureShell, place: Place) -> None:
    hosts = place.home / "known_hosts"
    other = server.other_key.with_suffix(".pub").read_text()
    hosts.write_text(f"[127.0.0.1]:{server.port} {other}")
    place.environ["GIT_SSH_COMMAND"] = server.command().replace(str(server.known_hosts), str(hosts))
    error = place.refused(source, NetworkError, "network/certificate")
    assert "somebody may be in the middle" in error.message
    assert "SHA256:" in error.message
    assert "ssh-keygen" not in words_of(error), "the way to trust it is not what is said first"


def test_a_repository_that_is_not_there(server: SecureShell, place: Place) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command()
    place.refused(f"git::{server.url}{place.root}/absent.git", NotFoundError, "not-found")


@pytest.mark.parametrize("name", ["terraform-aws-acm-certificate", "lambda-timeout", "No space left on device"])
def test_the_name_of_what_is_not_there_says_nothing(name: str, server: SecureShell, place: Place) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command()
    place.refused(f"git::{server.url}{place.root}/{quote(name)}.git", NotFoundError, "not-found")


@pytest.mark.parametrize("command", [None, "nossh", "'/opt/no such/ssh'", "env A=1 nossh"])
def test_without_ssh(command: str | None, place: Place) -> None:
    """As in a small container, where git may be without it."""
    programs = place.home / "bin"
    programs.mkdir()
    for name in ("git", "sh", "env"):
        (programs / name).symlink_to(shutil.which(name) or "")
    place.environ["PATH"] = str(programs)
    if command is not None:
        place.environ["GIT_SSH_COMMAND"] = command
    error = place.refused("git::ssh://git@127.0.0.1/acme/vpc.git", ToolMissingError, "tool-missing")
    assert ("GIT_SSH_COMMAND" if command else "openssh-client") in (error.hint or "")


def test_a_forge_that_says_why(place: Place) -> None:
    """What it says over ssh has no mark, and git adds its own end to it."""
    forge = place.home / "ssh"
    forge.write_text("#!/bin/sh\necho 'Gitea: Cannot find repository: acme/vpc' >&2\nexit 1\n")
    forge.chmod(0o755)
    place.environ["GIT_SSH_COMMAND"] = str(forge)
    error = place.refused("git::ssh://git@127.0.0.1/acme/vpc.git", NotFoundError, "not-found")
    assert error.message.endswith("(Gitea: Cannot find repository: acme/vpc)")


def test_a_ref_that_is_not_there(source: str, server: SecureShell, place: Place) -> None:
    place.environ["GIT_SSH_COMMAND"] = server.command()
    place.refused(f"{source}?ref=absent", NotFoundError, "not-found")


@pytest.mark.parametrize("name", ["a b", "a'b", "a;touch executed", "a$(touch executed)", "a%b", "ä"])
def test_names_that_a_shell_would_read_otherwise(name: str, server: SecureShell, place: Place) -> None:
    place.repository(name).commit_files(FILES)
    place.environ["GIT_SSH_COMMAND"] = server.command()
    place.get(f"git::{server.url}{place.root}/{quote(name)}.git")
    assert place.files() == FILES
    assert not any(path.name == "executed" for path in place.top.rglob("*"))


def test_submodules_beside_it_are_fetched_the_same_way(source: str, server: SecureShell, place: Place) -> None:
    commit = place.repository("lib").commit_files({"lib.tf": b"# lib\n"})
    place.repository("user").commit_files(
        {".gitmodules": modules(lib={"path": "lib", "url": "../lib.git"}), "lib": Gitlink(commit)}
    )
    place.environ["GIT_SSH_COMMAND"] = server.command(key=False)
    place.get(f"{source.replace('a.git', 'user.git')}?sshkey={in_the_address(server.key)}")
    assert place.files()["lib/lib.tf"] == b"# lib\n"


def test_a_key_in_the_address_is_for_its_own_host_alone(source: str, server: SecureShell, place: Place) -> None:
    """A submodule on another host (here, another name of it) is not offered the key."""
    commit = place.repository("lib").commit_files({"lib.tf": b"# lib\n"})
    elsewhere = f"{server.url.replace('127.0.0.1', '127.0.0.1.nip.invalid')}{place.root}/lib.git"
    place.repository("user").commit_files(
        {".gitmodules": modules(lib={"path": "lib", "url": elsewhere}), "lib": Gitlink(commit)}
    )
    wrapper, log = place.home / "wrapper", place.home / "log"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{log}\nexec {server.command(key=False)} "$@"\n')
    wrapper.chmod(0o755)
    place.environ["GIT_SSH_COMMAND"] = str(wrapper)
    place.refused(f"{source.replace('a.git', 'user.git')}?sshkey={in_the_address(server.key)}", NetworkError, "network")
    ours, theirs = [line for line in log.read_text().splitlines() if "upload-pack" in line][-2:]
    assert " -i " in ours
    assert "nip.invalid" in theirs
    assert " -i " not in theirs
    assert os.listdir(place.temporary) == []
