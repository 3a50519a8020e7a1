"""Connections that say which socket they are, and that go to no address which was not allowed."""

from __future__ import annotations

import io
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs
from urllib3.util.wait import wait_for_read

from getmodules.net.framing import Response
from getmodules.net.proxies import authorization
from getmodules.turns import Turns

#: Connections kept for each host: as many as run side by side.
POOL_SIZE = 32

#: So much is read before the others have their turn, however fast it comes: a server may send for ever.
_IN_TURN_BYTES = 256 << 10

#: Judges an address before it is connected to; raises to refuse it.
AddressCheck = Callable[[str], None]


class Adapter(HTTPAdapter):
    """Makes connections that tell the current thread's watch which socket they are."""

    def __init__(self, local: threading.local) -> None:
        self._pool_classes = _pool_classes(local)
        super().__init__(pool_connections=POOL_SIZE, pool_maxsize=POOL_SIZE, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pool_classes

    def close(self) -> None:
        """Closes connections now. Else a pool would keep them as long as an error that nobody has let go of."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in manager.pools.keys():  # noqa: SIM118 -- it is no dict, and a copy
                pool = manager.pools.get(key)
                if pool is not None:
                    pool.close()
        super().close()

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """By the connection. requests goes by the address, and believes any proxy that is asked for a plain one."""
        super().cert_verify(conn, "https:" if conn.scheme == "https" else url, verify, cert)  # type: ignore[no-untyped-call]

    def proxy_headers(self, proxy: str) -> dict[str, str]:
        return authorization(proxy)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = self._pool_classes
        return manager


class _Arriving(io.RawIOBase):
    """The bytes of a connection. Who has to wait for them leaves its turn meanwhile (:mod:`getmodules.turns`)."""

    def __init__(self, raw: io.RawIOBase, connection: Any, turns: Turns) -> None:
        self._raw = raw
        self._connection = connection
        self._turns = turns
        self._read_in_turn = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        if self._read_in_turn < _IN_TURN_BYTES and self._are_here():
            count = self._raw.readinto(buffer)
            self._read_in_turn += count or 0
            return count
        self._read_in_turn = 0
        with self._turns.left():
            return self._raw.readinto(buffer)

    def _are_here(self) -> bool:
        if type(self._connection) is socket.socket:
            return wait_for_read(self._connection, 0)
        # Of TLS a part of a record may have arrived, which is nothing yet; and within TLS to a proxy nobody can tell.
        pending = getattr(self._connection, "pending", None)
        return bool(pending and pending())

    def close(self) -> None:
        self._raw.close()
        super().close()


def _pool_classes(local: threading.local) -> dict[str, Any]:
    class Unhurried(Response):
        def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(sock, *args, **kwargs)
            self.fp = io.BufferedReader(_Arriving(self.fp.detach(), sock, local.turns))

    class Watched:
        """Mixed into both kinds of connections."""

        response_class: Any = Unhurried
        #: The same connection under a descriptor of its own: TLS takes the first one away from its object.
        duplicate: socket.socket | None = None
        address = ""

        def connect(self) -> None:
            with local.turns.left():
                super().connect()  # type: ignore[misc]

        def _new_conn(self) -> socket.socket:
            check = local.check_address
            connected: socket.socket = _connect_checked(self, check) if check else super()._new_conn()  # type: ignore[misc]
            self.address = local.address = str(connected.getpeername()[0])
            self.duplicate = connected.dup()
            local.watch.attach(self.duplicate.dup())
            return connected

        @property
        def is_connected(self) -> bool:
            """Whether a request may be sent: what TLS holds already would be taken for its answer."""
            pending = getattr(self.sock, "pending", None)  # type: ignore[attr-defined]
            return bool(super().is_connected) and not (pending and pending())  # type: ignore[misc]

        def request(self, *args: Any, **kwargs: Any) -> None:
            if self.duplicate is not None:
                if local.check_address is not None:
                    # A connection that is kept was made for somebody else, who may have gone where this one may not.
                    local.check_address(self.address)
                local.address = self.address
                local.watch.attach(self.duplicate.dup())
            super().request(*args, **kwargs)  # type: ignore[misc]

        def close(self) -> None:
            super().close()  # type: ignore[misc]
            if self.duplicate is not None:
                self.duplicate.close()
                self.duplicate = None

    class PlainConnection(Watched, HTTPConnection):
        pass

    class TlsConnection(Watched, HTTPSConnection):
        def connect(self) -> None:
            if self.ssl_context is None:
                self.ssl_context = _context(self.cert_reqs)
            super().connect()

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = PlainConnection

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = TlsConnection

    return {"http": PlainPool, "https": TlsPool}


def _context(cert_reqs: int | str | None) -> ssl.SSLContext:
    """Return a context as urllib3 makes it, but one that reports how TLS ended.

    Some builds of Python take any end for the end of TLS, and whoever judges a body's framing has to know.
    """
    context = create_urllib3_context(cert_reqs=resolve_cert_reqs(cert_reqs))
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context


def _connect_checked(connection: Any, check_address: AddressCheck) -> socket.socket:
    """Connect to an address that passed the check, not to whatever the name means a moment later."""
    failed: OSError | None = None
    host = connection._dns_host.strip("[]")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, connection.port, type=socket.SOCK_STREAM):
        check_address(str(address[0]))
        connected = socket.socket(family, kind, protocol)
        try:
            connected.settimeout(connection.timeout)
            connected.connect(address)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connected
        except OSError as error:
            connected.close()
            failed = error
    raise failed or OSError(f"no address for {host}")
