"""The registry that tests use: it listens, remembers the requests, and misbehaves on demand.

:class:`Application` answers requests without any socket, and :class:`Arsenal` has the fault that is on.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self, final

from getmodules.errors import ConfigError
from getmodules.testing.faults.fault import Fault
from getmodules.testing.faults.table import FAULTS
from getmodules.testing.packages import Package, module_package
from getmodules.testing.registry import blobs, manifests, uploads
from getmodules.testing.registry.access import Access, Tokens, authorize, handle_token
from getmodules.testing.registry.call import Behaviour, Call
from getmodules.testing.registry.layout_store import LayoutStore
from getmodules.testing.registry.names import KINDS, Kind, Route, checked_name, route
from getmodules.testing.registry.server import Connection, Exchange, Server
from getmodules.testing.registry.store import Manifest, MemoryStore, Repository, Store
from getmodules.testing.registry.wire import Answer, RefusalError, Request
from getmodules.util.digest import Digest
from getmodules.util.values import field, replace, valueclass

_HANDLERS = MappingProxyType(
    {
        "blob": blobs.handle,
        "upload": uploads.handle,
        "manifest": manifests.handle,
        "tags": manifests.tags,
        "referrers": manifests.referrers,
    }
)


@final
class Registry:
    """A registry that listens between ``start`` and ``stop``, or inside ``with``.

    :param layout: keep repositories below this directory, each as an OCI image layout; in memory without.
    :param tls: what ``tls_context`` makes of a certificate and its key; plain http without.
    :param access: who may do what; everybody everything without.
    :param behaviour: the choices that the specification leaves to a registry.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        layout: Path | None = None,
        tls: ssl.SSLContext | None = None,
        access: Access | None = None,
        behaviour: Behaviour | None = None,
    ) -> None:
        self._bind, self._tls = (host, port), tls
        store: Store = MemoryStore() if layout is None else LayoutStore(layout)
        self._application = Application(store, access or Access(), behaviour or Behaviour())
        self._arsenal = Arsenal()
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._server: Server | None = None

    # ----------------------------------------------------------------------------------------- its life

    def start(self) -> Self:
        assert self._server is None, "the registry has been started already"
        self._server = Server(self._serve, *self._bind, tls=self._tls)
        return self

    def stop(self) -> None:
        """End every connection, thread and upload. What was pushed stays; ``start`` serves it again."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        for repository in self._application.store.repositories():
            repository.drop_uploads()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def host(self) -> str:
        """``127.0.0.1:PORT``, as ``oci://`` addresses name it."""
        assert self._server is not None, "the registry has not been started"
        return self._server.authority

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, or ``https://…``."""
        return f"{'http' if self._tls is None else 'https'}://{self.host}"

    def _serve(self, connection: Connection) -> None:
        origin = self.url
        while (incoming := connection.next_request()) is not None:
            request = incoming.request
            where = route(request.path)
            with self._lock:
                self._requests.append(replace(request, body=_NO_BODY))
            right = partial(self._application.answer, route=where, realm=f"{origin}/token")
            exchange = Exchange(incoming, where, origin, connection, right)
            self._arsenal.perform(exchange)
            if exchange.is_over:
                return

    # ----------------------------------------------------------------------------------------- what it saw

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests so far, with their headers as they came, ``Authorization`` included."""
        with self._lock:
            return tuple(self._requests)

    def forget_requests(self) -> None:
        with self._lock:
            self._requests.clear()

    # ----------------------------------------------------------------------------------------- misbehaving

    def fault(self, name: str, *, times: int | None = None, on: Kind | None = None, to: str | None = None) -> Armed:
        """Misbehave from now on as ``name`` says (a key of ``getmodules.testing.FAULTS``), one fault at a time.

        :param times: only for the next so many requests that it is about; without, until it is ended.
        :param on: only for requests of this kind, instead of those that the fault is made for.
        :param to: the origin that hostile answers point to (``https://elsewhere.invalid`` without).
        """
        return self._arsenal.arm(name, times=times, on=on, to=to)

    def behave(self) -> None:
        """End the fault that is on, if there is one."""
        self._arsenal.disarm()

    # ----------------------------------------------------------------------------------------- its contents

    def push(self, repository: str, package: Package, *tags: str) -> Digest:
        """Store a package, without any request, and return the digest of its manifest."""
        for child in package.children:
            self.push(repository, child)
        for blob in package.blobs:
            self.put_blob(repository, blob)
        return self.put_manifest(repository, package.manifest, package.media_type, *tags)

    def push_module(
        self,
        repository: str,
        tag: str,
        files: Mapping[str, str | bytes],
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> Digest:
        """Store a module package of these files under a tag, and return the digest of its manifest."""
        return self.push(repository, module_package(files, annotations=annotations), tag)

    def put_blob(self, repository: str, data: bytes, algorithm: str = "sha256") -> Digest:
        return self.repository(repository).add_blob(data, algorithm)

    def put_manifest(self, repository: str, data: bytes, media_type: str, *tags: str) -> Digest:
        """Store any bytes under any media type, unchecked, so that tests can store what clients must refuse."""
        target = self.repository(repository)
        manifest = Manifest.of(data, media_type)
        target.add_manifest(data, manifest, *tags)
        self._application.store.save(target)
        return manifest.digest

    def repository(self, name: str) -> Repository:
        """Return the repository of this name, which is made if it does not exist."""
        return self._application.store.create(checked_name(name))

    # ----------------------------------------------------------------------------------------- tokens

    def identity_token(self, user: str) -> str:
        """Return a refresh token, as ``docker login`` stores it for registries that give them out."""
        return self._application.tokens.identity(user)

    def expire_tokens(self) -> None:
        """End every bearer token that was given out."""
        self._application.tokens.expire()


class _NoBody:
    def read(self, size: int) -> bytes:
        return b""


_NO_BODY = _NoBody()


# ------------------------------------------------------------------------------------------------------------- answers


@valueclass(kw_only=False)
class Application:
    """The right answers of the registry."""

    store: Store
    access: Access
    behaviour: Behaviour
    tokens: Tokens = field(default_factory=Tokens)

    def answer(self, request: Request, route: Route, realm: str) -> Answer:
        try:
            answer = self._answer(request, route, realm)
        except RefusalError as refusal:
            answer = refusal.answer()
        return answer.with_header("Docker-Distribution-Api-Version", "registry/2.0")

    def _answer(self, request: Request, route: Route, realm: str) -> Answer:
        if route.name:
            checked_name(route.name)
        grant = authorize(self.access, self.tokens, request, route, realm)
        if route.kind == "token":
            return handle_token(self.access, self.tokens, request)
        if route.kind == "ping":
            return self._ping(request)
        handler = _HANDLERS.get(route.kind)
        if handler is None:
            raise RefusalError(404, "NOT_FOUND", "page not found")
        return handler(Call(request, route, self.store, grant, self.behaviour))

    def _ping(self, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            raise RefusalError(405, "UNSUPPORTED", f"{request.method} is not supported here")
        return Answer.of_json(200, {})


# -------------------------------------------------------------------------------------------------------------- faults


class Arsenal:
    """The fault that is on, if there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: Armed | None = None

    def arm(self, name: str, *, times: int | None, on: Kind | None, to: str | None) -> Armed:
        fault = FAULTS.get(name)
        if fault is None:
            raise ConfigError(f"there is no fault named {name!r}", hint="they are listed by --list-faults")
        if on is not None and on not in KINDS:
            raise ConfigError(f"there are no requests of the kind {on!r}", hint=f"kinds: {', '.join(KINDS)}")
        if times is not None and times < 1:
            raise ConfigError(f"a fault happens at least once, not {times} times")
        armed = Armed(self, fault, times, on, to)
        with self._lock:
            self._armed = armed
        return armed

    def disarm(self, armed: Armed | None = None) -> None:
        """End this fault if it is on; or any fault, without one."""
        with self._lock:
            if armed is None or self._armed is armed:
                self._armed = None

    def perform(self, exchange: Exchange) -> None:
        """Answer a request, correctly or as the fault that is on does it."""
        with self._lock:
            armed = self._armed
            if armed is None or not armed.meets(exchange):
                armed = None
            else:
                armed.used += 1
                exchange.number = armed.used
        if armed is None:
            exchange.send(exchange.answer())
            return
        if armed.to is not None:
            exchange.elsewhere = armed.to.rstrip("/")
        armed.fault.perform(exchange)


class Armed:
    """A fault that is on. ``used`` counts the requests that met it; the end of ``with`` ends it."""

    def __init__(self, arsenal: Arsenal, fault: Fault, times: int | None, on: Kind | None, to: str | None) -> None:
        self._arsenal = arsenal
        self.fault = fault
        self.times, self.on, self.to = times, on, to
        self.used = 0

    def meets(self, exchange: Exchange) -> bool:
        if self.times is not None and self.used >= self.times:
            return False
        if self.on is not None:
            return exchange.route.kind == self.on
        return self.fault.is_about(exchange)

    def end(self) -> None:
        self._arsenal.disarm(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
