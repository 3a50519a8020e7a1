"""The sockets and the threads: one for each connection, all of them gone when the server has stopped."""

from __future__ import annotations

import contextlib
import ipaddress
import selectors
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

from getmodules.errors import ConfigError
from getmodules.testing.registry.connection import Connection, ConnectionOverError

Serve = Callable[[Connection], None]
_BACKLOG = 128
_HANDSHAKE_SECONDS = 30
_FAREWELL_SECONDS = 2
_PIECE = 64 << 10
_TLS_HANDSHAKE = 0x16


class Server:
    """Listens on loopback from its making until :meth:`stop`; ``serve`` is run in a thread for each connection."""

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
        """``host:port`` as addresses write it."""
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def stop(self) -> None:
        """Ends every connection and every thread; a second call does nothing."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._waker.send(b"x")
        self._acceptor.join()
        with self._lock:
            threads = list(self._open)
            for sock in self._open.values():
                with contextlib.suppress(OSError):  # the other side was faster
                    # Not SSLSocket's own: that one takes the session away under its thread.
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
                    with contextlib.suppress(OSError):  # gone before it was taken
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
        """The socket to talk on; ``None`` (and closed) where the other side speaks something else."""
        try:
            if not _speaks_other_protocol(sock, tls=self._tls is not None):
                return sock if self._tls is None else self._handshake(sock)
        except OSError:
            pass  # it left before a word was said
        sock.close()
        return None

    def _handshake(self, sock: socket.socket) -> socket.socket:
        assert self._tls is not None
        sock.settimeout(_HANDSHAKE_SECONDS)
        secured = self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            self._open[threading.current_thread()] = secured
        try:
            if self._stopping.is_set():  # while wrap_socket worked, :meth:`stop` found but an empty socket to shut down
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
    """Whether the first byte is TLS's on a plain port, or anything else on a TLS port. Says so if it is."""
    first = sock.recv(1, socket.MSG_PEEK)
    if not first:
        return True
    if (first[0] == _TLS_HANDSHAKE) == tls:
        return False
    said = b"this port speaks TLS\n" if tls else b"this port does not speak TLS\n"
    sock.sendall(b"HTTP/1.0 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
    # What was sent is read away: closing over unread bytes resets, and a reset overtakes the answer.
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
    """What ``Registry(tls=…)`` takes, from a certificate and its key in PEM files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise ConfigError(f"{certificate} and {key} are no certificate and its key: {error}") from error
    return context
