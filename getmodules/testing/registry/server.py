"""The HTTP server: a thread for each connection, all of which end when it stops.

It is not http.server, which would add headers and lengths of its own: faults need the bare connection. An
:class:`Exchange` is one request with its answer, which faults may change.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import ipaddress
import re
import selectors
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from getmodules.errors import ConfigError
from getmodules.testing.registry.names import Route
from getmodules.testing.registry.wire import PIECE, Answer, Request
from getmodules.util.values import replace, valueclass

_LONGEST_LINE = 64 << 10
_REQUEST_LINE = re.compile(r"([A-Z]+) (\S+) HTTP/1\.([01])", re.ASCII)
_LINGER_NOT = struct.pack("ii", 1, 0)


class ConnectionOverError(Exception):
    """The connection is over: the other side left it, or we stop."""


class IncomingBody:
    """A request's body, with a length or in chunks. ``100 Continue`` is sent at the first read, not before."""

    def __init__(self, reader: io.BufferedReader, headers: http.client.HTTPMessage, go_on: Callable[[], None]) -> None:
        self._reader = reader
        self._chunked = "chunked" in (headers.get("Transfer-Encoding") or "").lower()
        try:
            self._left = 0 if self._chunked else int(headers.get("Content-Length") or 0)
        except ValueError as error:
            raise ConnectionOverError from error
        self._go_on: Callable[[], None] | None = None
        if (headers.get("Expect") or "").lower() == "100-continue":
            self._go_on = go_on

    def read(self, size: int) -> bytes:
        if self._go_on is not None:
            announce, self._go_on = self._go_on, None
            announce()
        if self._chunked and not self._left and not self._next_chunk():
            return b""
        if not self._left:
            return b""
        piece = self._reader.read1(min(size, self._left))
        if not piece:
            raise ConnectionOverError
        self._left -= len(piece)
        if self._chunked and not self._left:
            self._reader.readline(_LONGEST_LINE)
        return piece

    def _next_chunk(self) -> bool:
        try:
            self._left = int(self._reader.readline(_LONGEST_LINE).partition(b";")[0], 16)
        except ValueError as error:
            raise ConnectionOverError from error
        if not self._left:
            self._chunked = False
            while self._reader.readline(_LONGEST_LINE) not in (b"\r\n", b"\n", b""):
                pass  # trailers
        return bool(self._left)

    def drained(self) -> bool:
        """Read to the end, for the next request; return False if the sender still waits for ``100 Continue``."""
        if self._go_on is not None:
            return False
        while self.read(PIECE):
            pass
        return True


@valueclass(kw_only=False)
class Incoming:
    """A request as it came in; True if the connection ends with its answer."""

    request: Request
    body: IncomingBody
    is_last: bool


class Connection:
    """One connection, without HTTP's rules for answers. Its failures are :class:`ConnectionOverError`."""

    def __init__(self, sock: socket.socket, stopping: threading.Event) -> None:
        self._socket = sock
        self._stopping = stopping
        self._reader = sock.makefile("rb")

    def next_request(self) -> Incoming | None:
        """Read the next request; return None if the other side has closed the connection."""
        try:
            line = self._reader.readline(_LONGEST_LINE)
            if not line:
                return None
            found = _REQUEST_LINE.fullmatch(line.decode("latin-1").rstrip("\r\n"))
            headers = http.client.parse_headers(self._reader)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ConnectionOverError from error
        if found is None:
            self.send(Answer(400, (("Connection", "close"),)).head())
            return None
        body = IncomingBody(self._reader, headers, lambda: self.send(b"HTTP/1.1 100 Continue\r\n\r\n"))
        is_last = found[3] == "0" or (headers.get("Connection") or "").lower() == "close"
        return Incoming(Request(found[1], found[2], dict(headers.items()), body), body, is_last)

    def send(self, data: bytes | memoryview) -> None:
        try:
            self._socket.sendall(data)
        except (OSError, ValueError) as error:
            raise ConnectionOverError from error

    def send_answer(self, answer: Answer, *, bodiless: bool = False) -> None:
        """Send the head with the first piece of the body, so that a small answer is one segment."""
        head: bytes = answer.head()
        for piece in () if bodiless else answer.body.pieces():
            if len(piece) <= _LONGEST_LINE:
                piece = head + bytes(piece)
            elif head:
                self.send(head)
            self.send(piece)
            head = b""
        if head:
            self.send(head)

    def pause(self, seconds: float | None = None) -> None:
        """Wait, for ever with None, until the registry stops."""
        if self._stopping.wait(seconds):
            raise ConnectionOverError

    def reset(self) -> None:
        """End the connection as a crash would: the other side reads ``ECONNRESET``."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        raise ConnectionOverError

    def close(self) -> None:
        self._reader.close()
        self._socket.close()


class Exchange:
    """One request and its answer: :meth:`answer` makes the right one, and :meth:`send` sends that or a wrong one."""

    def __init__(
        self, incoming: Incoming, route: Route, origin: str, connection: Connection, right: Callable[[Request], Answer]
    ) -> None:
        self.request: Request = incoming.request
        self.route = route
        self.origin = origin
        self.wire = connection
        self._incoming = incoming
        self._right = right
        self.is_over = incoming.is_last
        #: The number of requests that have met the fault, this one included.
        self.number = 0
        #: The origin that hostile answers point to; a fault's ``to`` sets it.
        self.elsewhere = "https://elsewhere.invalid"

    def answer(self) -> Answer:
        """Make the right answer, with all its effects on the registry."""
        return self._right(self.request)

    def whole_answer(self) -> Answer:
        """Make the right answer to the same request without its ``Range``."""
        headers = {name: value for name, value in self.request.headers.items() if name != "range"}
        return self._right(replace(self.request, headers=headers))

    def send(self, answer: Answer) -> None:
        self.finish_request()
        if self.is_over:
            answer = answer.with_header("Connection", "close")
        self.wire.send_answer(answer, bodiless=self.request.method == "HEAD")

    def finish_request(self) -> None:
        """Read the rest of the request: an answer sent before the end of a body may get lost with the connection."""
        if not self._incoming.body.drained():
            self.is_over = True

    def end(self) -> NoReturn:
        """Close the connection in the ordinary way."""
        raise ConnectionOverError


Serve = Callable[[Connection], None]
_BACKLOG = 128
_HANDSHAKE_SECONDS = 30
_FAREWELL_SECONDS = 2
_PIECE = 64 << 10
_TLS_HANDSHAKE = 0x16


class Server:
    """A server on loopback that listens until :meth:`stop`, and runs ``serve`` in a thread for each connection."""

    def __init__(self, serve: Serve, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self._serve, self._tls = serve, tls
        self._listener = _listen(host, port)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._waker, self._woken = socket.socketpair()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._open: dict[threading.Thread, socket.socket] = {}
        self._acceptor = threading.Thread(target=self._accept, name="registry", daemon=True)
        self._acceptor.start()

    @property
    def authority(self) -> str:
        """The host and port as in addresses."""
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def stop(self) -> None:
        """End every connection and thread; a second call does nothing."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._waker.send(b"x")
        self._acceptor.join()
        with self._lock:
            threads = list(self._open)
            for sock in self._open.values():
                with contextlib.suppress(OSError):  # the other side has closed it
                    # Not SSLSocket.shutdown, which drops the TLS session while its thread uses it.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for sock in (self._listener, self._waker, self._woken):
            sock.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._stopping.is_set():
                if any(key.fileobj is self._listener for key, _ in selector.select()):
                    with contextlib.suppress(OSError):  # closed before it was accepted
                        self._begin(self._listener.accept()[0])

    def _begin(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=self._run, args=(sock,), name="registry connection", daemon=True)
        with self._lock:
            self._open[thread] = sock
        thread.start()

    def _run(self, sock: socket.socket) -> None:
        try:
            secured = self._secured(sock)
            if secured is not None:
                self._serve_on(secured)
        finally:
            with self._lock:
                self._open.pop(threading.current_thread())

    def _secured(self, sock: socket.socket) -> socket.socket | None:
        """Return the socket to use; close it and return None if the other side speaks another protocol."""
        try:
            if not _speaks_other_protocol(sock, tls=self._tls is not None):
                return sock if self._tls is None else self._handshake(sock)
        except OSError:
            pass  # it left without sending anything
        sock.close()
        return None

    def _handshake(self, sock: socket.socket) -> socket.socket:
        assert self._tls is not None
        sock.settimeout(_HANDSHAKE_SECONDS)
        secured = self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            self._open[threading.current_thread()] = secured
        try:
            if self._stopping.is_set():  # :meth:`stop` cannot shut down a socket inside wrap_socket
                raise ConnectionAbortedError
            secured.do_handshake()
            secured.settimeout(None)
        except OSError:
            secured.close()
            raise
        return secured

    def _serve_on(self, sock: socket.socket) -> None:
        connection = Connection(sock, self._stopping)
        try:
            self._serve(connection)
        except ConnectionOverError:
            pass
        finally:
            connection.close()


def _speaks_other_protocol(sock: socket.socket, *, tls: bool) -> bool:
    """Return whether the first byte is TLS's on a plain port, or another one on a TLS port; answer so if it is."""
    first = sock.recv(1, socket.MSG_PEEK)
    if not first:
        return True
    if (first[0] == _TLS_HANDSHAKE) == tls:
        return False
    said = b"this port speaks TLS\n" if tls else b"this port does not speak TLS\n"
    sock.sendall(b"HTTP/1.0 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
    # Reads what was sent: closing with unread bytes resets the connection, and the answer gets lost.
    sock.shutdown(socket.SHUT_WR)
    sock.settimeout(_FAREWELL_SECONDS)
    while sock.recv(_PIECE):
        pass
    return True


def _listen(host: str, port: int) -> socket.socket:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise ConfigError(
            f"{host}: a registry for tests listens on a loopback address only", hint="127.0.0.1, another 127.x, or ::1"
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(f"port {port} of {host} cannot be listened on: {error}") from error
    return listener


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the context for ``Registry(tls=…)``, from a certificate and its key in PEM files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise ConfigError(f"{certificate} and {key} are no certificate and its key: {error}") from error
    return context
