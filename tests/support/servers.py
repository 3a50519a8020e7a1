"""A server on loopback that answers with whatever bytes a test wants, as slowly or as wrongly as it wants."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader

#: Answers one request, on an open connection; returns whether the connection goes on.
Answer = Callable[["Connection", "Received"], bool | None]


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]


@dataclass
class Connection:
    socket: socket.socket
    stopping: threading.Event

    def send(self, data: bytes | str) -> None:
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def reply(self, status: str, body: bytes = b"", **headers: str) -> bool:
        """A proper answer; header names with ``_`` for ``-``."""
        lines = [
            f"{name.replace('_', '-')}: {value}"
            for name, value in {"Content_Length": str(len(body)), **headers}.items()
        ]
        self.send("\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1") + body)
        return True

    def reset(self) -> bool:
        """End with RST, as a crashed server does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()
        return False

    def sleep(self, seconds: float) -> None:
        self.stopping.wait(seconds)


@dataclass
class Server:
    host: str
    port: int
    tls: bool
    received: list[Received] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


def replying(status: str, body: bytes = b"", **headers: str) -> Answer:
    """Always the same answer."""
    return lambda connection, _: connection.reply(status, body, **headers)


def silent(connection: Connection, _: Received) -> bool:
    """Nothing at all, until the test is over or the client has had enough."""
    connection.sleep(60)
    return False


def free_port() -> int:
    """One that nobody listens on, for a program that wants to be told."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether a program takes connections there by now."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextmanager
def serving(answer: Answer, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Each request goes to ``answer``; everything ends with the block."""
    listener = socket.create_server((host, 0))
    server = Server(host, listener.getsockname()[1], tls is not None)
    stopping = threading.Event()
    threads: list[threading.Thread] = []
    open_sockets: list[socket.socket] = []

    def accept() -> None:
        while not stopping.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.connections += 1
            open_sockets.append(client)
            thread = threading.Thread(target=serve, args=(client,))
            threads.append(thread)
            thread.start()

    def serve(client: socket.socket) -> None:
        with suppress(OSError):
            if tls is not None:
                client = tls.wrap_socket(client, server_side=True, do_handshake_on_connect=False)
                open_sockets.append(client)
            with client:
                if stopping.is_set():  # the end may have found the empty socket that wrap_socket leaves
                    return
                if isinstance(client, ssl.SSLSocket):
                    client.do_handshake()
                answer_all(client)

    def answer_all(client: socket.socket) -> None:
        with client.makefile("rb") as stream:
            connection = Connection(client, stopping)
            while (request := _read_request(stream)) is not None:
                server.received.append(request)
                if not answer(connection, request):
                    return

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield server
    finally:
        stopping.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for each in open_sockets:
            with suppress(OSError):
                # Not SSLSocket's own: that one takes the session away under its thread.
                socket.socket.shutdown(each, socket.SHUT_RDWR)
        acceptor.join()
        for thread in threads:
            thread.join()


def _read_request(stream: BufferedReader) -> Received | None:
    """The next request; ``None`` where the other side went, be it in the middle of one."""
    line, *fields = _read_head(stream) or [""]
    if not line:
        return None
    headers: dict[str, str] = {}
    for header in fields:
        name, _, value = header.partition(":")
        headers[name.strip().title()] = value.strip()
    length = int(headers.get("Content-Length", "0"))
    body = stream.read(length)
    return Received(line, headers, body) if len(body) == length else None


def _read_head(stream: BufferedReader) -> list[str] | None:
    """The lines before the empty one, without their ends."""
    lines: list[str] = []
    while (line := stream.readline()).strip():
        if not line.endswith(b"\n"):
            return None
        lines.append(line.decode("latin-1").strip())
    return lines if line else None
