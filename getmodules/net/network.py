"""The one network of a client: its settings, and the session that is made when somebody first needs it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from getmodules.net.settings import NetSettings

if TYPE_CHECKING:
    from getmodules.net.session import Session


class ClientNetwork:
    """Fits :class:`getmodules.api.ports.Network`. Importing requests takes longer than many a whole command."""

    def __init__(self, settings: NetSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._close: Callable[[], None]

    def session(self) -> Session:
        with self._lock:
            if self._session is None:
                from getmodules.net.session import Session
                from getmodules.net.wire import Wire

                wire = Wire(self.settings)
                self._session = Session(wire)
                self._close = wire.close
                # Connections are not left to the garbage collector, also where nobody closes the client.
                weakref.finalize(self, wire.close)
            return self._session

    def close(self) -> None:
        """End all connections. The next request makes new ones."""
        with self._lock:
            if self._session is not None:
                self._close()
