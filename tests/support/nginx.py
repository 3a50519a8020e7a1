"""nginx on loopback as the current user: a web server that nobody here wrote, with a log of what it was asked."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import Authority
from tests.support.tools import need
from tests.support.waiting import PATIENCE, wait_until

#: Nobody waits longer for it to start, to end, or to write its log.
#: What is logged of a request, by its name in :class:`Asked`.
_LOGGED = {
    "target": "request_uri",
    "status": "status",
    "sent": "body_bytes_sent",
    "range": "http_range",
    "if_range": "http_if_range",
    "if_none_match": "http_if_none_match",
    "authorization": "http_authorization",
    "private_token": "http_private_token",
    "client": "ssl_client_s_dn",
}
_MARK = "/mark"


@dataclass(frozen=True)
class Asked:
    """A request as nginx logged it; what was not in it is empty. ``sent`` counts the body that went out."""

    target: str
    status: str
    sent: str
    range: str
    if_range: str
    if_none_match: str
    authorization: str
    private_token: str
    client: str

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@dataclass(frozen=True)
class Nginx:
    """``root`` is what ``/`` serves; ``marker`` is where our own requests go that are to stand in the log."""

    url: str
    port: int
    root: Path
    log: Path
    marker: str

    def asked(self) -> list[Asked]:
        """All requests until now: the log is complete when a request that comes after them stands in it."""
        number = time.monotonic_ns()
        with urllib.request.urlopen(f"{self.marker}{_MARK}?{number}", timeout=PATIENCE):
            pass
        wait_until(lambda: str(number) in self.log.read_text(), "nginx does not write its log")
        found = [Asked(**json.loads(line)) for line in self.log.read_text().splitlines()]
        return [each for each in found if each.path != _MARK]


@contextmanager
def nginx(
    directory: Path,
    locations: str = "",
    *,
    host: str = "127.0.0.1",
    authority: Authority | None = None,
    wants_client_certificate: bool = False,
) -> Iterator[Nginx]:
    """A server with ``locations`` besides ``/``, with TLS where there is an ``authority``.

    The sockets are made here and handed over: nobody can take the port in between, and who connects before nginx
    is ready waits.
    """
    program = need("nginx")
    root = directory / "root"
    root.mkdir(parents=True, exist_ok=True)
    log = directory / "access.log"
    log.touch()
    with socket.create_server((host, 0), backlog=512) as listener, socket.create_server((host, 0)) as marker:
        port, marked = listener.getsockname()[1], marker.getsockname()[1]
        configuration = directory / "own.conf"
        configuration.write_text(
            _configuration(f"{host}:{port}", f"{host}:{marked}", locations, authority, wants_client_certificate)
        )
        handed = (listener.fileno(), marker.fileno())
        process = subprocess.Popen(
            [program, "-p", f"{directory}/", "-c", configuration, "-e", directory / "error.log"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=handed,
            env={"PATH": os.environ["PATH"], "NGINX": "".join(f"{descriptor};" for descriptor in handed)},
        )
    scheme = "https" if authority else "http"
    server = Nginx(f"{scheme}://{host}:{port}", port, root, log, f"http://{host}:{marked}")
    try:
        _wait_for(process, host, marked)
        yield server
    finally:
        process.terminate()
        assert process.stderr is not None
        with process.stderr:
            process.wait(PATIENCE)


def _wait_for(process: subprocess.Popen[bytes], host: str, port: int) -> None:
    """An answer, or what nginx has to say about its configuration."""
    request = b"GET %s HTTP/1.0\r\n\r\n" % _MARK.encode()
    try:
        with socket.create_connection((host, port), timeout=PATIENCE) as probe:
            probe.sendall(request)
            if probe.recv(64):
                return
    except OSError:
        pass  # it ended, and its socket with it
    process.kill()
    assert process.stderr is not None
    raise AssertionError(f"nginx does not run: {process.stderr.read().decode()}")


def _configuration(
    address: str, marker: str, locations: str, authority: Authority | None, wants_client_certificate: bool
) -> str:
    """Everything that it writes is below its prefix."""
    logged = ",".join(f'"{name}":"${variable}"' for name, variable in _LOGGED.items())
    temporary = "\n".join(
        f"    {module}_temp_path temporary_{module};" for module in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    tls = ""
    if authority is not None:
        tls = f"ssl_certificate {authority.certificate}; ssl_certificate_key {authority.key};"
        if wants_client_certificate:
            tls += f" ssl_client_certificate {authority.ca}; ssl_verify_client on;"
    return f"""
{"user root;" if os.geteuid() == 0 else ""}
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events {{ worker_connections 512; }}
http {{
    log_format seen escape=json '{{{logged}}}';
    access_log access.log seen;
{temporary}
    default_type application/octet-stream;
    types {{ application/zip zip; application/gzip gz tgz; text/html html; text/plain txt; }}
    sendfile on;
    tcp_nodelay on;
    keepalive_requests 100000;
    # Not used for anybody who did not ask for it.
    gzip on;
    gzip_types application/zip application/octet-stream text/plain;
    server {{
        listen {address}{" ssl" if authority else ""};
        {tls}
        root root;
        {locations}
    }}
    server {{
        listen {marker};
        location {_MARK} {{ return 200 "here"; }}
    }}
}}
"""


def passwords(file: Path, **users: str) -> Path:
    """A file for ``auth_basic_user_file``."""
    lines = []
    for user, password in users.items():
        digest = base64.b64encode(hashlib.sha1(password.encode(), usedforsecurity=False).digest()).decode()
        lines.append(f"{user}:{{SHA}}{digest}\n")
    file.write_text("".join(lines))
    return file
