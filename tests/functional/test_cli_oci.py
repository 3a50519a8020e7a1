"""The installed command in a child, against registries on loopback: publish, look, log in and out."""

from __future__ import annotations

import base64
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules.testing import Access, Registry, User, tls_context
from tests.support.certificates import Authority, make_authority
from tests.support.commandline import COMMAND, PATIENCE, Result, environment, run
from tests.support.snapshots import snapshot

PASSWORD = "s3cr3t-p4ss"
AUTH = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
ACCESS = {
    scheme: Access(scheme=scheme, users={"ada": User(PASSWORD), "bob": User(PASSWORD, {"*": frozenset({"pull"})})})
    for scheme in ("basic", "bearer")
}


class Place:
    """A directory with a module and a home of its own."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.home.mkdir()
        (root / "module" / "sub").mkdir(parents=True)
        (root / "module" / "main.tf").write_text("# main\n")
        (root / "module" / "sub" / "a.tf").write_text("# a\n")

    def run(self, *argv: str | Path, stdin: bytes = b"", **env: str) -> Result:
        """No secret comes out of any command."""
        result = run(*argv, stdin=stdin, cwd=self.root, HOME=str(self.home), **env)
        for secret in (PASSWORD, AUTH):
            assert secret not in result.out + result.err
        return result

    def log_in(self, registry: Registry, user: str = "ada", *more: str | Path) -> Result:
        words = ("login", registry.host, "-u", user, "--password-stdin", *more)
        return self.run(*words, stdin=f"{PASSWORD}\n".encode())

    @property
    def config(self) -> Path:
        return self.home / ".docker" / "config.json"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=sorted(ACCESS))
def registry(request: pytest.FixtureRequest) -> Iterator[Registry]:
    with Registry(access=ACCESS[request.param]) as running:
        yield running


# ----------------------------------------------------------------------------------------- the whole way round


@pytest.mark.slow
def test_log_in_publish_look_install_log_out(registry: Registry, place: Place) -> None:
    address = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    refused = place.run("push", "module", address)
    assert (refused.code, refused.out) == (4, "")

    assert place.log_in(registry).code == 0
    assert place.config.stat().st_mode & 0o777 == 0o600
    pushed = place.run("push", "module", address)
    assert (pushed.code, pushed.err) == (0, "")
    again = place.run("push", "module", address, "--json").object
    assert (again["pinned"], again["sent"]) == (pushed.out.strip(), 0)
    assert place.run("tags", f"oci://{registry.host}/acme/vpc").out == "1.0.0\n"
    assert place.run("tags", f"oci://{registry.host}/acme/vpc", "--json").object == {"tags": ["1.0.0"]}
    assert place.run("resolve", address).out == pushed.out
    assert place.run("inspect", address, "--json").object["digest"] == again["id"]
    assert place.run("get", pushed.out.strip(), "dest").code == 0
    assert snapshot(place.root / "dest") == snapshot(place.root / "module")
    assert place.run("auth", "check", f"{registry.host}/acme/vpc").code == 0

    assert place.run("logout", registry.host).out.startswith(f"logged out of {registry.host}; ")
    assert place.run("tags", f"oci://{registry.host}/acme/vpc").code == 4
    assert place.run("auth", "check", f"{registry.host}/acme/vpc").code == 4
    assert json.loads(place.config.read_text()) == {"auths": {}}


@pytest.mark.slow
def test_a_dry_run_sends_no_writing_request(registry: Registry, place: Place) -> None:
    place.log_in(registry)
    registry.forget_requests()
    address = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    tried = place.run("push", "module", address, "--dry-run", "--json")
    assert (tried.code, tried.object["sent"], tried.object["dry_run"]) == (0, 0, True)
    assert {request.method for request in registry.requests} <= {"GET", "HEAD"}
    assert place.run("push", "module", address).out.strip() == tried.object["pinned"]


@pytest.mark.slow
def test_who_may_only_pull_cannot_publish(registry: Registry, place: Place) -> None:
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
    assert place.log_in(registry, "bob").code == 0
    assert place.run("auth", "check", f"{registry.host}/acme/vpc").code == 0
    refused = place.run("push", "module", f"oci://{registry.host}/acme/vpc?tag=2.0.0", "--json")
    assert refused.code == 4
    assert refused.object["error"]["code"] in ("authentication", "authentication/forbidden")
    assert place.run("tags", f"oci://{registry.host}/acme/vpc").out == "1.0.0\n"


def test_a_wrong_password_ends_with_4_and_nothing_is_written(registry: Registry, place: Place) -> None:
    words = ("login", registry.host, "-u", "ada", "--password-stdin")
    refused = place.run(*words, stdin=b"wrong-passw0rd\n")
    assert (refused.code, refused.out) == (4, "")
    assert "wrong-passw0rd" not in refused.err
    told = place.run(*words, "--json", stdin=b"wrong-passw0rd\n")
    assert (told.code, told.object["error"]["code"]) == (4, "authentication")
    assert list(place.home.iterdir()) == []


def test_a_password_that_is_not_utf_8(registry: Registry, place: Place) -> None:
    refused = place.run("login", registry.host, "-u", "ada", "--password-stdin", stdin=b"\xff\xfe\n")
    assert (refused.code, refused.out) == (2, "")
    assert registry.requests == ()


# ------------------------------------------------------------------------------------------------------- prompts


ON_TERMINAL = """
import os, sys
terminal, *command = sys.argv[1:]
fd = os.open(terminal, os.O_RDWR)  # the first terminal that a session's leader opens becomes its own
os.dup2(fd, 0)
os.dup2(fd, 2)
os.execv(command[0], command)
"""


def converse(place: Place, talk: list[tuple[str, bytes]], *argv: str, typed_ahead: bytes = b"") -> Result:
    """The command on a terminal of its own: wait for each question, then type its answer."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, os.ttyname(theirs), COMMAND, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=place.root,
        env=environment(HOME=str(place.home), TERM="xterm"),
        start_new_session=True,
    )
    seen = b""
    try:
        for question, answer in talk:
            while question.encode() not in seen.replace(b"\r", b""):
                piece = os.read(ours, 1 << 12)
                assert piece, seen
                seen += piece
            os.write(ours, answer)
        out, _ = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
        child.wait()
        os.close(theirs)
        seen += _rest(ours)
        os.close(ours)
    return Result(child.returncode, out.decode(), seen.decode())


def _rest(terminal: int) -> bytes:
    os.set_blocking(terminal, False)
    rest = b""
    try:
        while piece := os.read(terminal, 1 << 12):
            rest += piece
    except OSError:  # nothing more, or nobody there any more
        pass
    return rest


def test_what_is_missing_is_asked_for(registry: Registry, place: Place) -> None:
    talk = [("User name: ", b"ada\n"), ("Password: ", f"{PASSWORD}\n".encode())]
    result = converse(place, talk, "login", registry.host)
    assert (result.code, result.out) == (
        0, f"logged in to {registry.host} as ada; stored in ~/.docker/config.json\n",
    )  # fmt: skip
    assert "User name: ada" in result.err
    assert PASSWORD not in result.err, "the terminal shows what is typed"
    assert json.loads(place.config.read_text()) == {"auths": {registry.host: {"auth": AUTH}}}


def test_a_user_name_that_was_given_is_not_asked_for(registry: Registry, place: Place) -> None:
    result = converse(place, [("Password: ", b"wrong-passw0rd\n")], "login", registry.host, "-u", "ada")
    assert (result.code, result.out) == (4, "")
    assert "User name" not in result.err
    assert "wrong-passw0rd" not in result.err
    assert list(place.home.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "code"), [pytest.param(b"\x03", 130, id="ctrl-c"), pytest.param(b"\x04", 2, id="ctrl-d")]
)
def test_who_does_not_answer(key: bytes, code: int, registry: Registry, place: Place) -> None:
    result = converse(place, [("Password: ", key)], "login", registry.host, "-u", "ada")
    assert (result.code, result.out) == (code, "")
    assert registry.requests == ()
    assert list(place.home.iterdir()) == []


def test_a_password_is_not_read_from_a_terminal_as_if_it_were_a_file(registry: Registry, place: Place) -> None:
    result = converse(place, [], "login", registry.host, "-u", "ada", "--password-stdin")
    assert (result.code, result.out) == (2, "")
    assert "standard input is a terminal" in result.err


def test_without_a_terminal_nothing_is_asked(registry: Registry, place: Place) -> None:
    result = place.run("login", registry.host, "-u", "ada", stdin=b"answer\n")
    assert (result.code, result.out) == (2, "")
    assert "there is no terminal to ask for the password on" in result.err
    assert "--password-stdin" in result.err


# ----------------------------------------------------------------------------------------------------- the network


@pytest.mark.slow
@pytest.mark.parametrize("client_certificate", [False, True], ids=["server", "client-too"])
def test_tls(authority: Authority, place: Place, client_certificate: bool) -> None:
    context = authority.server_context(wants_client_certificate=client_certificate)
    with Registry(tls=context, access=ACCESS["bearer"]) as registry:
        address = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
        untrusted = place.log_in(registry)
        assert (untrusted.code, untrusted.err.splitlines()[-1].strip()) == (1, "code: network/certificate")
        assert list(place.home.iterdir()) == []

        options = ["--ca-file", f"{registry.host}={authority.ca}"]
        if client_certificate:
            options += ["--client-cert", f"{registry.host}={authority.client}"]
        assert place.log_in(registry, "ada", *options).code == 0
        pushed = place.run("push", "module", address, *options)
        assert pushed.code == 0
        assert place.run("tags", f"oci://{registry.host}/acme/vpc", *options).out == "1.0.0\n"
        assert place.run("inspect", address, *options).code == 0
        assert place.run("resolve", address, *options).out == pushed.out
        assert place.run("auth", "check", f"{registry.host}/acme/vpc", *options).code == 0
        assert place.run("get", address, "dest", *options).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_authorities_of_the_environment_and_the_option_over_them(
    authority: Authority, place: Place, tmp_path: Path, variable: str
) -> None:
    context = tls_context(authority.certificate, authority.key)
    with Registry(tls=context) as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
        address = f"oci://{registry.host}/acme/vpc"
        assert place.run("tags", address).code == 1
        assert place.run("tags", address, **{variable: str(authority.ca)}).out == "1.0.0\n"
        (tmp_path / "other").mkdir()
        other = make_authority(tmp_path / "other").ca
        assert place.run("tags", address, "--ca-file", other, **{variable: str(authority.ca)}).code == 1
        assert place.run("tags", address, "--ca-file", authority.ca, **{variable: str(other)}).code == 0


@pytest.mark.slow
def test_plain_http_by_choice_alone_where_the_port_is_not_loopback(place: Place) -> None:
    """No packet leaves: the proxy that all go to does not listen."""
    proxy = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    result = place.run(
        "auth", "check", "registry.example/acme/vpc", "--plain-http", "registry.example", "--json", **proxy
    )
    assert (result.code, result.object["works"]) == (1, None)
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
        plain = {"http_proxy": registry.url, "https_proxy": "http://127.0.0.1:9"}
        refused = place.run("tags", "oci://registry.example/acme/vpc", **plain)
        assert refused.code == 1
        assert registry.requests == ()
        place.run("tags", "oci://registry.example/acme/vpc", "--plain-http", "registry.example", **plain)
        assert registry.requests != ()


def test_a_missing_file_is_told_before_anybody_is_asked(registry: Registry, place: Place) -> None:
    commands: list[list[Any]] = [
        ["get", f"oci://{registry.host}/acme/vpc", "dest"],
        ["push", "module", f"oci://{registry.host}/acme/vpc?tag=1.0.0"],
        ["auth", "check", f"{registry.host}/acme/vpc"],
        ["login", registry.host, "-u", "ada", "--password-stdin"],
    ]
    for command in commands:
        result = place.run(*command, "--ca-file", "missing.pem", stdin=b"x\n")
        assert (result.code, result.out) == (2, "")
        assert "'missing.pem': No such file or directory" in result.err
    assert registry.requests == ()


# ----------------------------------------------------------------------------------------------------- start-up


@pytest.mark.parametrize("argv", [["--help"], ["login", "--help"], ["push", "--help"], ["detect", "./a"]], ids=" ".join)
def test_nothing_of_the_network_is_imported_where_nobody_is_asked(argv: list[str], place: Place) -> None:
    code = (
        "import sys; from getmodules.cli.main import entry; code = entry();"
        "heavy = {'requests', 'urllib3', 'oras', 'getpass'};"
        "sys.exit(' '.join(heavy & set(sys.modules)) or code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, text=True, env=environment(), timeout=PATIENCE,
        cwd=place.root, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
