"""A plain client for the registry of ``getmodules.testing``: it sends what it is told and believes nothing."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from getmodules.testing import Package, Registry

SECONDS = 20
OCTETS = {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The one code of an error body."""
        (error,) = self.json()["errors"]
        assert error["message"]
        return str(error["code"])

    def header(self, name: str) -> str:
        value = self.headers[name]
        assert value is not None, f"there is no {name}"
        return str(value)


class Client:
    """One connection that is kept as long as the registry keeps it."""

    def __init__(self, registry: Registry, tls: ssl.SSLContext | None = None) -> None:
        if tls is None:
            self._connection = http.client.HTTPConnection(registry.host, timeout=SECONDS)
        else:
            self._connection = http.client.HTTPSConnection(registry.host, timeout=SECONDS, context=tls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def ask(
        self, method: str, target: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        self._connection.request(method, target, body, dict(headers or {}))
        answer = self._connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())


def ask(
    registry: Registry,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """One request on a connection of its own."""
    with Client(registry) as client:
        return client.ask(method, target, body, headers)


def talk(registry: Registry, request: bytes, *, most: int = 1 << 20, seconds: float = SECONDS) -> bytes:
    """What comes back on the bare wire until it ends, is long enough, or ``seconds`` pass without a byte.

    A reset is an error, as everywhere.
    """
    host, _, port = registry.host.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=seconds) as wire:
        wire.sendall(request)
        received = bytearray()
        try:
            while len(received) < most and (piece := wire.recv(1 << 16)):
                received += piece
        except TimeoutError:
            pass  # it is silent: what came so far is what there is
    return bytes(received)


def get(target: str) -> bytes:
    """A bare GET request."""
    return f"GET {target} HTTP/1.1\r\nHost: registry\r\n\r\n".encode()


def sha(data: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def push_blob(registry: Registry, name: str, data: bytes, algorithm: str = "sha256") -> str:
    digest = sha(data, algorithm)
    assert ask(registry, "POST", f"/v2/{name}/blobs/uploads/?digest={digest}", data, OCTETS).status == 201
    return digest


@dataclass(frozen=True)
class Stocked:
    """A registry with one module, ``acme/vpc`` in version 1.0."""

    registry: Registry
    package: Package

    manifest = "/v2/acme/vpc/manifests/1.0"
    tags = "/v2/acme/vpc/tags/list"

    @property
    def content(self) -> bytes:
        return self.package.blobs[1]

    @property
    def blob(self) -> str:
        return f"/v2/acme/vpc/blobs/{sha(self.content)}"


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for loopback and its key."""
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost",
            "-days", "2", "-keyout", str(key), "-out", str(certificate),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key
