"""Watch exchanges, and end those that are too slow or were cancelled, from outside the read.

A timeout for each read bounds nothing: one byte a second, slow headers and endless ``100 Continue`` all go on
for ever. So while an exchange runs, a guardian thread looks at it a few times a second, and shuts its socket
down when its time is over, when it is too slow, or when the operation was cancelled. The read that waits then
fails at once, and :attr:`Watch.ended` says why.

A watch also knows the step of its exchange, which messages name, and tells the user once that a server is silent.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from enum import Enum
from weakref import WeakSet

from getmodules.api.ports import Context
from getmodules.errors import FetchError, GetModulesError, NetworkError
from getmodules.net.route import Route, Step
from getmodules.net.settings import NetSettings

#: The advice where the time for an answer was too short.
OPTION_HINT = "the server, or the way to it, is overloaded: try again later, or give it more time: --timeout SECONDS"
#: A server that has sent nothing for so long is worth a note.
NOTE_SECONDS = 15.0
_log = logging.getLogger("getmodules")
_TICK_SECONDS = 0.2
#: The guardian's thread ends after so much time with nothing to watch.
_IDLE_SECONDS = 2.0


class _State(Enum):
    CONNECTING = "connecting"
    HEADERS = "headers"
    #: Of the answer, or of the request: bytes must go over the line.
    BODY = "body"
    AWAY = "away"


class Watch:
    """One exchange. The reading thread reports its progress; the guardian judges."""

    def __init__(
        self, context: Context, settings: NetSettings, route: Route, *, note_seconds: float = NOTE_SECONDS
    ) -> None:
        self._context = context
        self._settings = settings
        self._route = route
        self._step, self._to_proxy = Step.SEND, False
        self.note_seconds = note_seconds
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._state = _State.HEADERS
        self._since = time.monotonic()
        #: Seconds of reading, and bytes, in the current window.
        self._spent = 0.0
        self._received = 0
        self.ended: GetModulesError | None = None

    @property
    def timeout(self) -> float:
        """The seconds that one wait for the server may take."""
        return self._settings.timeout

    @property
    def place(self) -> str:
        """The step of the exchange, and its host and port."""
        return self._route.at(self._step, to_proxy=self._to_proxy)

    @property
    def late(self) -> str:
        """The words for a time that is over: of connecting, of the headers, or of a read."""
        if self._state is _State.CONNECTING:
            return f"not done within {in_seconds(self._settings.connecting)}"
        # Since the exchange began: one byte now and then makes no answer.
        headers = self._state is _State.HEADERS
        return f"{'no complete answer within' if headers else 'nothing came for'} {in_seconds(self.timeout)}"

    def located(self, error: FetchError) -> FetchError:
        """Return the error of the current step, which its message names."""
        error.within(self.place).failing_at(self._route.reached(to_proxy=self._to_proxy))
        return error

    def connecting(self, *, to_proxy: bool) -> None:
        """Report that a connection is being made. For the name, the connection and TLS there is one time."""
        with self._lock:
            self._state = _State.CONNECTING
        self.at(Step.CONNECT, to_proxy=to_proxy)
        _log.debug("%s", self.place)

    def at(self, step: Step, *, to_proxy: bool = False) -> None:
        """Report the step that begins."""
        self._step, self._to_proxy = step, to_proxy

    def connected(self) -> None:
        """Report that the request goes out, over a new connection or an idle one."""
        with self._lock:
            if self._state is _State.CONNECTING:
                self._state = _State.HEADERS
        self.at(Step.SEND)

    def connecting_left(self) -> float:
        """Return the seconds that are left for connecting."""
        return max(0.0, self._settings.connecting - (time.monotonic() - self._since))

    def checkpoint(self) -> None:
        """Raise if the exchange must end."""
        self.judge()
        if self.ended is not None:
            raise self.ended

    def tell_silence(self) -> None:
        """Tell the user that the server is silent; once for each server in an operation."""
        tell_silence(self._context, self._route.server, self.note_seconds, self.timeout)

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
        """Report that a body goes over the line: of the request, or of the answer, whose reader is back."""
        with self._lock:
            if self._state is _State.HEADERS:
                self._spent = 0.0
            self._since, self._state = time.monotonic(), _State.BODY

    def answered(self) -> None:
        """Report that the headers are here; the body has its own time, once somebody reads it."""
        with self._lock:
            self._spent = 0.0
            self._state = _State.AWAY
            self._step = Step.RECEIVE

    def received(self, amount: int) -> None:
        with self._lock:
            self._received += amount

    def sent(self) -> None:
        """Report that the request's body was sent: from here on the server has its time for an answer."""
        with self._lock:
            self._begin_window()
            self._state = _State.HEADERS
            self._step = Step.WAIT

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
        if state is _State.CONNECTING and waited >= settings.connecting:
            return self.located(timeout(self.late))
        if state is _State.HEADERS and waited >= settings.timeout:
            return self.located(timeout(self.late, OPTION_HINT))
        if state is _State.BODY:
            window, least = settings.rate_window
            if waited >= window:
                if self._received < least:
                    said = f"only {self._received:,} bytes came in {waited:.0f} seconds"
                    return self.located(timeout(said if self._received else f"nothing came for {waited:.0f} seconds"))
                self._begin_window()
        return None

    def _shut_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # closed already: no read waits for it
                self._socket.shutdown(socket.SHUT_RDWR)


def in_seconds(number: float) -> str:
    return f"{number:g} second{'' if number == 1 else 's'}"


def timeout(what: str, hint: str = "the server, or the way to it, is overloaded: try again later") -> NetworkError:
    return NetworkError(what, part="timeout", hint=hint)


def tell_silence(context: Context, server: str, seconds: float, limit: float) -> None:
    """Tell the user that ``server`` is silent; once for each server in an operation."""
    note = f"{server} has sent nothing for {seconds:g} seconds; after {limit:g} it counts as failed"
    context.once(("silent server", server), lambda: context.notice(note))


class Guardian:
    """Look at all running exchanges of one client, in one thread."""

    def __init__(self) -> None:
        # A watch belongs to its answer: one that a plugin drops without closing it is not watched for ever.
        self._watches: WeakSet[Watch] = WeakSet()
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
            self._judge_all()
            time.sleep(_TICK_SECONDS)

    def _judge_all(self) -> None:
        with self._changed:
            watches = tuple(self._watches)
        for watch in watches:
            watch.judge()
            if watch.ended is not None:
                # Its reader may have been interrupted without a word: it is not watched for ever.
                self.remove(watch)
