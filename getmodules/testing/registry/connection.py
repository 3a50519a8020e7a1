"""One connection: requests are read from it one after the other, answers are written to it.

The reading is ours, because a fault needs the bare wire: http.server would add headers and lengths of its own.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
import struct
import threading
from collections.abc import Callable

from getmodules.testing.registry.wire import PIECE, Answer, Request
from getmodules.util.values import valueclass

_LONGEST_LINE = 64 << 10
_REQUEST_LINE = re.compile(r"([A-Z]+) (\S+) HTTP/1\.([01])", re.ASCII)
_LINGER_NOT = struct.pack("ii", 1, 0)


class ConnectionOverError(Exception):
    """Nothing more is read from or written to this connection."""


class IncomingBody:
    """A request's body, counted or chunked. ``100 Continue`` is sent when somebody begins to read, not before."""

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
        """Read to the end, so that the connection can be used again; a sender that waits for leave sent nothing."""
        if self._go_on is not None:
            return False
        while self.read(PIECE):
            pass
        return True


@valueclass(kw_only=False)
class Incoming:
    """A request, and whether the connection ends with its answer."""

    request: Request
    body: IncomingBody
    is_last: bool


class Connection:
    """The bare wire. What goes wrong on it, because the other side left or we stop, is :class:`ConnectionOverError`."""

    def __init__(self, sock: socket.socket, stopping: threading.Event) -> None:
        self._socket = sock
        self._stopping = stopping
        self._reader = sock.makefile("rb")

    def next_request(self) -> Incoming | None:
        """``None``: the other side is done."""
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
        """Head and first piece together, so that a small answer is one segment."""
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
        """Wait, for ever with ``None``; ends at once when the registry stops."""
        if self._stopping.wait(seconds):
            raise ConnectionOverError

    def reset(self) -> None:
        """End the connection as a crash would: the other side reads ``ECONNRESET``."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        raise ConnectionOverError

    def close(self) -> None:
        self._reader.close()
        self._socket.close()
