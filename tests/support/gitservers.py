"""Git servers on loopback: smart and dumb HTTP in every dress, ``git daemon``, ``sshd``. Each ends with its block."""

from __future__ import annotations

import base64
import gzip
import os
import pwd
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.certificates import Authority
from tests.support.servers import Connection, Received, Server, free_port, listens, serving
from tests.support.tools import need
from tests.support.waiting import wait_until

_PIECE = 1 << 16
#: What servers see of this machine: nothing but where programs are.
_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def upload_settings(*, filters: bool = True, any_sha: bool = True) -> dict[str, str]:
    """What a server lets clients ask for, as an environment; ``any_sha`` also decides about reachable ones."""
    settings = {
        "safe.directory": "*",
        "uploadpack.allowFilter": str(filters).lower(),
        "uploadpack.allowAnySHA1InWant": str(any_sha).lower(),
        "uploadpack.allowReachableSHA1InWant": str(any_sha).lower(),
        "uploadpack.allowTipSHA1InWant": str(any_sha).lower(),
    }
    pairs = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        pairs |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return pairs


# --------------------------------------------------------------------------------------------- HTTP


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """How a server behaves; the default is a well-behaved one that everybody may read from."""

    #: 0 ignores that clients offer version 2.
    protocol: int = 2
    filters: bool = True
    any_sha: bool = True
    #: Files as they lie there, for clients that are content with that.
    dumb: bool = False
    #: Only this pair is let in.
    basic: tuple[str, str] | None = None
    #: Only whoever has this token is let in.
    bearer: str | None = None
    #: The answer to everything, as ``503 Service Unavailable``, with these headers.
    status: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: The answer to requests for a pack alone.
    pack_status: str | None = None
    #: Everything is sent on to this URL.
    redirect: str | None = None
    #: A pack ends after so many bytes, with the connection.
    cut: int | None = None
    #: A pack comes byte by byte, with so many seconds between them.
    drip: float | None = None
    #: Requests are read and never answered.
    silent: bool = False


@dataclass(frozen=True)
class Exchange:
    method: str
    target: str
    headers: Mapping[str, str]
    status: str
    #: Whether objects were asked for, and not only what there is.
    is_for_a_pack: bool


@dataclass
class GitServer:
    """A running HTTP server; ``behaviour`` may be changed between requests."""

    server: Server
    root: Path
    behaviour: Behaviour
    exchanges: list[Exchange] = field(default_factory=list)
    bytes_sent: int = 0

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def packs(self) -> int:
        return sum(exchange.is_for_a_pack for exchange in self.exchanges)

    def behave(self, **changes: object) -> None:
        self.behaviour = replace(self.behaviour, **changes)  # type: ignore[arg-type]

    def forget(self) -> None:
        self.exchanges.clear()
        self.bytes_sent = 0


@contextmanager
def git_http(
    root: Path, *, host: str = "127.0.0.1", tls: Authority | None = None, **behaviour: object
) -> Iterator[GitServer]:
    """The repositories below ``root``, by their names there."""
    git = need("git")
    running: list[GitServer] = []

    def answer(connection: Connection, request: Received) -> bool | None:
        return _Reply(git, running[0], connection, request).give()

    with serving(answer, host=host, tls=tls.server_context() if tls else None) as server:
        running.append(GitServer(server, root, Behaviour(**behaviour)))  # type: ignore[arg-type]
        yield running[0]


class _Reply:
    def __init__(self, git: str, server: GitServer, connection: Connection, request: Received) -> None:
        self._git, self._server, self._connection, self._request = git, server, connection, request
        self._behaviour = server.behaviour
        target = urlsplit(request.target)
        self._path, self._query = unquote(target.path), target.query
        self._is_for_a_pack = _asks_for_a_pack(request)

    def give(self) -> bool | None:
        behaviour = self._behaviour
        if behaviour.silent:
            self._connection.sleep(600)
            return False
        if behaviour.redirect is not None:
            return self._refuse("302 Found", {"Location": behaviour.redirect + self._request.target})
        if behaviour.status is not None:
            return self._refuse(behaviour.status, behaviour.headers)
        if not self._is_let_in():
            scheme = "Bearer" if behaviour.bearer else "Basic"
            return self._refuse("401 Unauthorized", {"WWW-Authenticate": f'{scheme} realm="tests"'})
        if behaviour.pack_status is not None and self._is_for_a_pack:
            return self._refuse(behaviour.pack_status, {})
        return self._file() if behaviour.dumb else self._smart()

    def _is_let_in(self) -> bool:
        given = self._request.headers.get("Authorization")
        if self._behaviour.basic is not None:
            return given == "Basic " + base64.b64encode(":".join(self._behaviour.basic).encode()).decode()
        return self._behaviour.bearer is None or given == f"Bearer {self._behaviour.bearer}"

    def _note(self, status: str) -> None:
        request = self._request
        self._server.exchanges.append(
            Exchange(request.method, request.target, request.headers, status, self._is_for_a_pack)
        )

    def _refuse(self, status: str, headers: Mapping[str, str]) -> bool:
        self._note(status)
        body = b"" if status.startswith("204") else b"no \x1b[31mcolour\x1b[0m for you\n"
        return self._connection.reply(status, body, Content_Type="text/plain", **headers)

    def _file(self) -> bool:
        file = self._server.root / self._path.lstrip("/")
        if self._request.method != "GET" or not file.is_file():
            return self._refuse("404 Not Found", {})
        self._note("200 OK")
        body = file.read_bytes()
        self._server.bytes_sent += len(body)
        return self._connection.reply("200 OK", body, Content_Type="text/plain")

    # ---------------------------------------------------------------------------------------- git's own program

    def _smart(self) -> bool:
        with tempfile.TemporaryFile() as body:
            body.write(self._request.body)
            body.seek(0)
            process = subprocess.Popen(
                [self._git, "http-backend"],
                stdin=body, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environment(),
                start_new_session=True,
            )  # fmt: skip
        try:
            return self._pass_on(process)
        finally:
            _end_group(process)

    def _environment(self) -> dict[str, str]:
        headers, behaviour = self._request.headers, self._behaviour
        environment = {
            **_ENVIRONMENT,
            **upload_settings(filters=behaviour.filters, any_sha=behaviour.any_sha),
            "GIT_PROJECT_ROOT": str(self._server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self._request.method,
            "PATH_INFO": self._path,
            "QUERY_STRING": self._query,
            "CONTENT_TYPE": headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": headers.get("Content-Encoding", ""),
        }
        if behaviour.protocol == 2:
            environment["GIT_PROTOCOL"] = headers.get("Git-Protocol", "")
        return environment

    def _pass_on(self, process: subprocess.Popen[bytes]) -> bool:
        output = process.stdout
        assert output is not None
        headers: dict[str, str] = {}
        while line := output.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name] = value.strip()
        status = headers.pop("Status", "200 OK" if headers else "500 Internal Server Error")
        self._note(status)
        lines = [f"HTTP/1.1 {status}", *(f"{n}: {v}" for n, v in headers.items()), "Transfer-Encoding: chunked"]
        self._connection.send("\r\n".join([*lines, "", ""]))
        sent = 0
        spoiled = self._behaviour if self._is_for_a_pack else Behaviour()
        while piece := output.read1(_PIECE):  # type: ignore[attr-defined]
            if spoiled.drip is not None:
                self._drip(piece, spoiled.drip)
            elif spoiled.cut is not None and sent + len(piece) > spoiled.cut:
                self._chunk(piece[: spoiled.cut - sent])
                return False
            else:
                self._chunk(piece)
            sent += len(piece)
            self._server.bytes_sent += len(piece)
        self._connection.send("0\r\n\r\n")
        return True

    def _chunk(self, piece: bytes) -> None:
        self._connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _drip(self, piece: bytes, seconds: float) -> None:
        for number in range(len(piece)):
            if self._connection.stopping.is_set():
                return
            self._chunk(piece[number : number + 1])
            self._connection.sleep(seconds)


def _asks_for_a_pack(request: Received) -> bool:
    body = request.body
    if request.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    return body[4:].startswith((b"command=fetch", b"want "))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


# --------------------------------------------------------------------------------------------- git daemon, sshd


@contextmanager
def git_daemon(root: Path, *, filters: bool = True, any_sha: bool = True) -> Iterator[str]:
    """``git://HOST:PORT`` in front of the repositories below ``root``."""
    port = free_port()
    command = [
        need("git"), "daemon", "--listen=127.0.0.1", f"--port={port}", f"--base-path={root}", "--export-all",
        "--reuseaddr", "--informative-errors",
    ]  # fmt: skip
    environment = {**_ENVIRONMENT, **upload_settings(filters=filters, any_sha=any_sha)}
    with _background(command, environment, port):
        yield f"git://127.0.0.1:{port}"


@dataclass(frozen=True)
class SecureShell:
    """A running ``sshd``, and what its users hold."""

    url: str
    host: str
    port: int
    #: The user's private key, of which the server knows the public one, and one that it does not know.
    key: Path
    other_key: Path
    known_hosts: Path
    log: Path

    def command(self, *, known: bool = True, key: bool = True) -> str:
        """A ``GIT_SSH_COMMAND`` with nothing of this machine's own settings: OpenSSH does not look at ``HOME``."""
        hosts = self.known_hosts if known else os.devnull
        options = [f"-o UserKnownHostsFile={hosts}", "-o GlobalKnownHostsFile=/dev/null", "-o IdentitiesOnly=no"]
        identity = [f"-i {self.key}"] if key else ["-o IdentityFile=none"]
        return " ".join(["ssh", "-F", os.devnull, *options, *identity])


@contextmanager
def sshd(directory: Path) -> Iterator[SecureShell]:
    """Serves whatever the user of the tests may read, by absolute paths; only keys are let in."""
    program, keygen = need("sshd"), need("ssh-keygen")
    if pwd.getpwuid(os.geteuid()).pw_shell.endswith(("/nologin", "/false")):
        # sshd hands every command to it. The gate's other run, as root, has a shell.
        pytest.skip("the login shell of this user runs no commands")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # in a container nothing has made it at boot
    for name in ("host", "user", "stranger"):
        subprocess.run(
            [keygen, "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", directory / name], check=True, env=_ENVIRONMENT
        )
    port = free_port()
    (directory / "known_hosts").write_text(f"[127.0.0.1]:{port} {(directory / 'host.pub').read_text()}")
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": directory / "host",
        "PidFile": "none",
        "AuthorizedKeysFile": directory / "user.pub",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
        "AcceptEnv": "GIT_PROTOCOL",
        "SetEnv": f"GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL={os.devnull}",
        "PrintMotd": "no",
        "PerSourceMaxStartups": "none",
        "MaxStartups": "100",
    }
    configuration = directory / "sshd_config"
    configuration.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    log = directory / "sshd.log"
    with _background([program, "-D", "-f", str(configuration), "-E", str(log)], _ENVIRONMENT, port):
        user = _user()
        yield SecureShell(
            url=f"ssh://{user}@127.0.0.1:{port}",
            host="127.0.0.1",
            port=port,
            key=directory / "user",
            other_key=directory / "stranger",
            known_hosts=directory / "known_hosts",
            log=log,
        )


@contextmanager
def ssh_agent(directory: Path, key: Path) -> Iterator[str]:
    """The socket of an agent that holds ``key``."""
    address = directory / "agent"
    process = subprocess.Popen(
        [need("ssh-agent"), "-D", "-a", address], stdout=subprocess.DEVNULL, env=_ENVIRONMENT, start_new_session=True
    )
    try:
        wait_until(address.exists, "ssh-agent does not listen")
        environment = {**_ENVIRONMENT, "SSH_AUTH_SOCK": str(address)}
        subprocess.run([need("ssh-add"), "-q", key], check=True, env=environment, stdin=subprocess.DEVNULL)
        yield str(address)
    finally:
        _end_group(process)


@contextmanager
def _background(command: list[str], environment: Mapping[str, str], port: int) -> Iterator[None]:
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(environment),
        start_new_session=True,
    )  # fmt: skip

    def runs_and_listens() -> bool:
        assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
        return listens(port)

    try:
        wait_until(runs_and_listens, f"{command[0]} does not listen")
        yield
    finally:
        _end_group(process)


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name
