"""Debian's docker-registry as a child, in every dress that it has: plain, TLS, htpasswd, tokens."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.certificates import Authority
from tests.support.servers import Connection, Received, Server, free_port, listens, serving
from tests.support.tools import need
from tests.support.waiting import wait_until

USER, PASSWORD = "ada", "s3cr3t-p4ss"
#: bcrypt of PASSWORD: nothing that makes one is everywhere.
HTPASSWD = f"{USER}:$2b$05$abcdefghijklmnopqrstuuw5aQk7mGFz24sJeGQKeOwzXGqVFZMHG\n"
SERVICE = "docker-registry"


@contextmanager
def docker_registry(
    directory: Path, *, tls: Authority | None = None, htpasswd: bool = False, token: tuple[str, Path] | None = None
) -> Iterator[str]:
    """Where it listens. ``token`` is a realm and the certificate that its tokens are signed with."""
    program = need("docker-registry")
    port = free_port()
    host = f"127.0.0.1:{port}"
    http: dict[str, Any] = {"addr": host}
    if tls is not None:
        http["tls"] = {"certificate": str(tls.certificate), "key": str(tls.key)}
    configuration: dict[str, Any] = {
        "version": 0.1,
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(directory / "storage")}, "delete": {"enabled": True}},
        "http": http,
    }
    if htpasswd:
        (directory / "htpasswd").write_text(HTPASSWD)
        configuration["auth"] = {"htpasswd": {"realm": "tests", "path": str(directory / "htpasswd")}}
    if token is not None:
        realm, certificate = token
        configuration["auth"] = {
            "token": {"realm": realm, "service": SERVICE, "issuer": "tests", "rootcertbundle": str(certificate)}
        }
    path = directory / "registry.yml"
    path.write_text(json.dumps(configuration))
    with (directory / "registry.log").open("wb") as log:
        process = subprocess.Popen([program, "serve", path], stdout=log, stderr=log, env={"PATH": os.defpath})
    try:
        wait_until(lambda: listens(port), "docker-registry does not listen")
        yield host
    finally:
        process.terminate()
        process.wait()


@contextmanager
def token_service(directory: Path) -> Iterator[tuple[Server, Path]]:
    """A realm that gives whoever knows the password what they ask for, signed as docker-registry wants it."""
    openssl = need("openssl")
    key, certificate = directory / "token.key", directory / "token.crt"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tokens",
         "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    chain = "".join(certificate.read_text().split("-----")[2].split())
    expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    def answer(connection: Connection, request: Received) -> bool:
        if request.headers.get("Authorization") != expected:
            return connection.reply("401 Unauthorized", b"{}")
        scopes = parse_qs(urlsplit(request.target).query).get("scope", [])
        now = int(time.time())
        claims = {
            "iss": "tests", "sub": USER, "aud": SERVICE, "exp": now + 300, "nbf": now - 10, "iat": now,
            "jti": uuid.uuid4().hex, "access": [_access(scope) for scope in scopes],
        }  # fmt: skip
        signed = f"{_part({'typ': 'JWT', 'alg': 'RS256', 'x5c': [chain]})}.{_part(claims)}"
        made = subprocess.run(
            [openssl, "dgst", "-sha256", "-sign", str(key)], input=signed.encode(), check=True, capture_output=True
        )
        token = f"{signed}.{_encoded(made.stdout)}"
        return connection.reply("200 OK", json.dumps({"token": token, "expires_in": 300}).encode())

    with serving(answer) as server:
        yield server, certificate


def _access(scope: str) -> dict[str, Any]:
    kind, name, actions = scope.split(":")
    return {"type": kind, "name": name, "actions": actions.split(",")}


def _part(value: object) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
