"""Watch exchanges, and end those that are too slow or were cancelled, from outside the read.

A timeout for each read bounds nothing: one byte a second, slow headers and endless ``100 Continue`` all go on
for ever. So while an exchange runs, a guardian thread looks at it a few times a second, and shuts its socket
down when its time is over, when it is too slow, or when the operation was cancelled. The read that waits then
fails at once, and :attr:`Watch.ended` says why.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from enum import Enum

from getmodules.api.ports import Context
from getmodules.errors import GetModulesError, NetworkError
from getmodules.net.settings import NetSettings

_TICK_SECONDS = 0.2
#: The guardian's thread ends after so much time with nothing to watch.
_IDLE_SECONDS = 2.0


class _State(Enum):
    HEADERS = "headers"
    #: Of the answer, or of the request: bytes must go over the line.
    BODY = "body"
    AWAY = "away"


class Watch:
    """One exchange. The reading thread reports its progress; the guardian judges."""

    def __init__(self, context: Context, settings: NetSettings) -> None:
        self._context = context
        self._settings = settings
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._state = _State.HEADERS
        self._since = time.monotonic()
        #: Seconds of reading, and bytes, in the current window.
        self._spent = 0.0
        self._received = 0
        self.ended: GetModulesError | None = None

    def attach(self, connection: socket.socket | None) -> None:
        """Watch ``connection``, a descriptor of the watch's own.

        The library may close its own connection, and still read from it.
        """
        with self._lock:
            self._close()
            self._socket = connection
            if self.ended is not None:
                self._shut_down()

    def detach(self) -> None:
        """End the watch: the exchange is over, and the connection may serve another one."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def reading(self) -> None:
        """Report that the headers are here, or that the reader is back."""
        with self._lock:
            if self._state is _State.HEADERS:
                self._spent = 0.0
            self._since, self._state = time.monotonic(), _State.BODY

    def received(self, amount: int) -> None:
        with self._lock:
            self._received += amount

    def sent(self) -> None:
        """Report that the request's body was sent: from here on the server has its time for an answer."""
        with self._lock:
            self._begin_window()
            self._state = _State.HEADERS

    def away(self) -> None:
        """Report that the reader does something else: this time does not count as the server's silence."""
        with self._lock:
            self._spent += time.monotonic() - self._since
            self._state = _State.AWAY

    def _begin_window(self) -> None:
        self._received, self._spent, self._since = 0, 0.0, time.monotonic()

    def judge(self) -> None:
        """End the exchange if it must end. Called by the guardian, from its thread."""
        with self._lock:
            if self.ended is None:
                self.ended = self._verdict()
                if self.ended is not None:
                    self._shut_down()

    def _verdict(self) -> GetModulesError | None:
        try:
            self._context.checkpoint()
        except GetModulesError as error:
            return error
        settings, state = self._settings, self._state
        waited = self._spent + (0 if state is _State.AWAY else time.monotonic() - self._since)
        if state is _State.HEADERS and waited >= settings.connect_seconds + settings.silence_seconds:
            return timeout(f"no complete answer within {waited:.0f} seconds")
        if state is _State.BODY and waited >= settings.rate_window_seconds:
            if self._received < settings.rate_window_bytes:
                return timeout(f"only {self._received:,} bytes came in {waited:.0f} seconds")
            self._begin_window()
        return None

    def _shut_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # closed already: no read waits for it
                self._socket.shutdown(socket.SHUT_RDWR)


def timeout(what: str) -> NetworkError:
    return NetworkError(what, part="timeout", hint="the server, or the way to it, is overloaded: try again later")


class Guardian:
    """Look at all running exchanges of one client, in one thread."""

    def __init__(self) -> None:
        self._watches: set[Watch] = set()
        self._changed = threading.Condition()
        self._running = False

    def add(self, watch: Watch) -> None:
        with self._changed:
            self._watches.add(watch)
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="getmodules-guardian", daemon=True).start()
            self._changed.notify()

    def remove(self, watch: Watch) -> None:
        with self._changed:
            self._watches.discard(watch)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._watches:
                    self._changed.wait(_IDLE_SECONDS)
                if not self._watches:
                    self._running = False
                    return
                watches = tuple(self._watches)
            for watch in watches:
                watch.judge()
                if watch.ended is not None:
                    # Its reader may have been interrupted without a word: it is not watched for ever.
                    self.remove(watch)
            time.sleep(_TICK_SECONDS)
