"""A registry of modules on loopback, with TLS as the protocol wants it, that a test can make say anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.archives import Z, zip_bytes
from tests.support.certificates import Authority
from tests.support.servers import Connection, Received, Server, serving

DESCRIPTION = "/.well-known/terraform.json"
JSON = "application/json"
MODULE = "acme/vpc/aws"
PACKAGE = zip_bytes(Z(name=b"main.tf", data=b"# main\n"), Z(name=b"net/a.tf", data=b"# a\n"))

Reply = tuple[str, bytes, Mapping[str, str]]


def document(value: Any, status: str = "200 OK", **headers: str) -> Reply:
    return status, json.dumps(value).encode(), {"Content_Type": JSON, **headers}


def page(status: str = "200 OK") -> Reply:
    return status, b"<!doctype html><title>Sign in</title>", {"Content_Type": "text/html; charset=utf-8"}


def versions(*texts: str) -> Reply:
    return document({"modules": [{"versions": [{"version": text} for text in texts]}]})


@dataclass
class ModuleRegistry:
    """What it says by path; what is not there is 404. ``token``: only with that."""

    replies: dict[str, Reply] = field(default_factory=dict)
    token: str | None = None
    #: The file with the authority that its certificate is by.
    ca: str | None = None
    server: Server = field(init=False)

    @property
    def host(self) -> str:
        return f"{self.server.host}:{self.server.port}"

    @property
    def paths(self) -> list[str]:
        return [received.target for received in self.server.received]

    @property
    def tokens(self) -> list[str | None]:
        return [received.headers.get("Authorization") for received in self.server.received]

    def publish(self, *texts: str, module: str = MODULE, location: str = "/packages/vpc.zip") -> None:
        """``module`` in these versions, each of which is at ``location``."""
        self.replies[DESCRIPTION] = document({"modules.v1": "/v1/modules/"})
        self.replies[f"/v1/modules/{module}/versions"] = versions(*texts)
        for text in texts:
            where: Reply = ("204 No Content", b"", {"X_Terraform_Get": location})
            self.replies[f"/v1/modules/{module}/{text.removeprefix('v')}/download"] = where
        self.replies["/packages/vpc.zip"] = ("200 OK", PACKAGE, {"Content_Type": "application/zip"})

    def answer(self, connection: Connection, received: Received) -> bool:
        if self.token is not None and received.headers.get("Authorization") != f"Bearer {self.token}":
            return connection.reply("401 Unauthorized", b"who are you?", Content_Type="text/plain")
        missing: Reply = ("404 Not Found", b"nothing here", {"Content_Type": "text/plain"})
        status, body, headers = self.replies.get(received.target.partition("?")[0], missing)
        return connection.reply(status, body, **headers)


@contextmanager
def a_registry(authority: Authority | None, host: str = "127.0.0.1", **more: Any) -> Iterator[ModuleRegistry]:
    registry = ModuleRegistry(ca=str(authority.ca) if authority else None, **more)
    answer: Callable[[Connection, Received], bool] = registry.answer
    with serving(answer, host=host, tls=authority.server_context() if authority else None) as server:
        registry.server = server
        yield registry
