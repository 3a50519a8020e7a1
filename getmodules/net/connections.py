"""Make connections that can be watched and go to allowed addresses only, and read the framing of answers strictly.

http.client takes more than the standard allows. A proxy, or another program that downloads the same file, could then
see other bytes than those that we hash and install.
"""

from __future__ import annotations

import io
import re
import socket
import ssl
import threading
from http.client import HTTPMessage, HTTPResponse, IncompleteRead, parse_headers
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HeaderParsingError
from urllib3.util.response import assert_header_parsing
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs

from getmodules.errors import NetworkError
from getmodules.net.connecting import connect
from getmodules.net.proxies import authorization
from getmodules.net.route import Step
from getmodules.net.watch import Watch

#: Early hints and the like, before an answer: one is usual.
_MOST_HINTS = 16
_OPTIONAL_BLANKS = " \t"
#: The size of a chunk, blanks that old servers fill it up with, and extensions, which are not used.
_CHUNK = re.compile(rb"(?P<size>[0-9A-Fa-f]{1,16})[ \t]*+(?:;[^\r\n]*+)?\r\n")
_LONGEST_LINE = 65_536
#: Idle connections for each host: as many as run side by side.
POOL_SIZE = 32


class Response(HTTPResponse):
    """An answer with strict framing: it refuses what can be read in two ways, and headers that are cut off.

    urllib3 does not refuse those, and warns with the whole URL instead, whose query may be a signature.
    """

    def __init__(self, sock: Any, *args: Any, watch: Watch, **kwargs: Any) -> None:
        self._connection = sock
        super().__init__(sock, *args, **kwargs)
        self.fp: Any = io.BufferedReader(_SilenceReader(self.fp.detach(), sock, watch))

    @property
    def headers(self) -> Any:
        return self._headers

    @headers.setter
    def headers(self, read: HTTPMessage | None) -> None:
        """Store the headers that were read, without the blanks behind values, before anything uses them."""
        if read is not None:
            _strip(read)
        self._headers = read

    def _read_status(self) -> tuple[str, int, str]:
        """Read the status of the final answer. The standard library skips only one kind of interim answers (100)."""
        for _ in range(_MOST_HINTS):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 102 <= status <= 199:
                return version, status, reason
            parse_headers(self.fp)
        raise NetworkError(f"the server announces its answer {_MOST_HINTS} times, and gives none", retryable=False)

    def begin(self) -> None:
        super().begin()
        try:
            assert_header_parsing(self.msg)
        except HeaderParsingError:
            raise NetworkError("the headers of the answer are broken, or end in the middle") from None
        if self.length is None and not self.chunked and hasattr(self._connection, "suppress_ragged_eofs"):
            # Only the end of the connection says that this body is complete, and anybody on the way can end it: over
            # TLS it must be the server itself who did.
            self._connection.suppress_ragged_eofs = False

    def _get_chunk_left(self) -> int | None:
        if self.chunk_left == 0:
            if self._safe_read(2) != b"\r\n":  # type: ignore[attr-defined]
                raise _broken_chunk()
            self.chunk_left = None
        left: int | None = super()._get_chunk_left()  # type: ignore[misc]
        return left

    def _read_next_chunk_size(self) -> int:
        line = self.fp.readline(_LONGEST_LINE)
        if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
            raise IncompleteRead(b"")
        match = _CHUNK.fullmatch(line)
        if match is None:
            raise _broken_chunk()
        return int(match["size"], 16)


class _SilenceReader(io.RawIOBase):
    """The bytes of a socket. A read that waits long tells the watch of the silence, in the thread that reads."""

    def __init__(self, raw: io.RawIOBase, connection: Any, watch: Watch) -> None:
        self._raw = raw
        self._connection = connection
        self._watch = watch

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any) -> int:
        limit, note = self._connection.gettimeout(), self._watch.note_seconds
        if limit is None or limit <= note:
            received: int = self._connection.recv_into(buffer)
            return received
        try:
            self._connection.settimeout(note)
            received = self._connection.recv_into(buffer)
        except TimeoutError:
            self._watch.tell_silence()
            self._connection.settimeout(limit - note)
            received = self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(limit)
        return received

    def close(self) -> None:
        self._raw.close()
        super().close()


def _strip(headers: HTTPMessage) -> None:
    lines = headers.items()
    if any(value[-1:] in _OPTIONAL_BLANKS for _, value in lines if value):
        for name, _ in lines:
            del headers[name]
        for name, value in lines:
            headers[name] = value.strip(_OPTIONAL_BLANKS)


def _broken_chunk() -> NetworkError:
    return NetworkError(
        "the answer comes in chunks, one of which does not begin or end as a chunk does",
        hint="the server or a proxy on the way is at fault",
    )


class Adapter(HTTPAdapter):
    """Make connections that tell their socket to the current thread's watch."""

    def __init__(self, local: threading.local) -> None:
        self._pool_classes = _pool_classes(local)
        super().__init__(pool_connections=POOL_SIZE, pool_maxsize=POOL_SIZE, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pool_classes

    def close(self) -> None:
        """Close connections now. A pool would keep them as long as an error exists that refers to it."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in manager.pools.keys():  # noqa: SIM118 -- it is not a dict, and a copy
                pool = manager.pools.get(key)
                if pool is not None:
                    pool.close()
        super().close()

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Verify by the kind of connection. requests decides by the URL, and trusts any proxy for a plain one."""
        super().cert_verify(conn, "https:" if conn.scheme == "https" else url, verify, cert)  # type: ignore[no-untyped-call]

    def proxy_headers(self, proxy: str) -> dict[str, str]:
        return authorization(proxy)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = self._pool_classes
        return manager


def _pool_classes(local: threading.local) -> dict[str, Any]:
    class WatchedConnection:
        """A mixin for both kinds of connections: check the address, and tell the watch the socket."""

        #: The same connection under a descriptor of its own: TLS takes the first one away from its object.
        duplicate: socket.socket | None = None
        address = ""

        def response_class(self, sock: Any, *args: Any, **kwargs: Any) -> Response:
            return Response(sock, *args, watch=local.watch, **kwargs)

        def _new_conn(self) -> socket.socket:
            watch: Watch = local.watch
            watch.connecting(to_proxy=self.proxy is not None)  # type: ignore[attr-defined]
            host, port = self._dns_host.strip("[]"), self.port  # type: ignore[attr-defined]
            connected = connect(host, port, watch.connecting_left, watch.checkpoint, local.check_address)
            self.address = local.address = str(connected.getpeername()[0])
            self.duplicate = connected.dup()
            watch.attach(self.duplicate.dup())
            connected.settimeout(max(0.001, watch.connecting_left()))
            return connected

        def _tunnel(self) -> None:
            local.watch.at(Step.CONNECT)
            super()._tunnel()  # type: ignore[misc]
            local.watch.at(Step.HANDSHAKE)

        def _connected(self) -> None:
            """Report that the request goes out: from here on the server's silence counts, also as it takes a body."""
            local.watch.connected()
            self.sock.settimeout(local.watch.timeout)  # type: ignore[attr-defined]

        @property
        def is_connected(self) -> bool:
            """Return whether a request may be sent: data that TLS has buffered would be taken for its answer."""
            pending = getattr(self.sock, "pending", None)  # type: ignore[attr-defined]
            return bool(super().is_connected) and not (pending and pending())  # type: ignore[misc]

        def request(self, *args: Any, **kwargs: Any) -> None:
            if self.duplicate is not None:
                if local.check_address is not None:
                    # An idle connection may have been made by a request that was allowed more than this one.
                    local.check_address(self.address)
                local.address = self.address
                local.watch.attach(self.duplicate.dup())
                local.watch.connected()
            self.timeout = local.watch.timeout
            super().request(*args, **kwargs)  # type: ignore[misc]
            local.watch.at(Step.WAIT)

        def close(self) -> None:
            super().close()  # type: ignore[misc]
            if self.duplicate is not None:
                self.duplicate.close()
                self.duplicate = None

    class PlainConnection(WatchedConnection, HTTPConnection):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            self._connected()

    class TlsConnection(WatchedConnection, HTTPSConnection):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            connected = super()._new_conn()
            local.watch.at(Step.HANDSHAKE)  # of a proxy, there is more before it
            return connected

        def _connect_tls_proxy(self, *args: Any, **kwargs: Any) -> Any:
            local.watch.at(Step.HANDSHAKE, to_proxy=True)
            return super()._connect_tls_proxy(*args, **kwargs)

        def connect(self) -> None:
            if self.ssl_context is None:
                self.ssl_context = _context(self.cert_reqs)
            super().connect()
            self._connected()

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = PlainConnection

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = TlsConnection

    return {"http": PlainPool, "https": TlsPool}


def _context(cert_reqs: int | str | None) -> ssl.SSLContext:
    """Return a context as urllib3 makes it, but one that reports how TLS ended.

    Some builds of Python take any end for the end of TLS, which the check of a body's framing must know.
    """
    context = create_urllib3_context(cert_reqs=resolve_cert_reqs(cert_reqs))
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context
