"""The one network of a client: its settings, and the session that is made when somebody first needs it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from getmodules.net.settings import NetSettings

if TYPE_CHECKING:
    from getmodules.net.session import Session


class ClientNetwork:
    """Fits :class:`getmodules.ports.Network`. Importing requests takes longer than many a whole command."""

    def __init__(self, settings: NetSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._session: Session | None = None

    def session(self) -> Session:
        with self._lock:
            if self._session is None:
                from getmodules.net.session import Session
                from getmodules.net.wire import Wire

                self._session = Session(Wire(self.settings))
            return self._session
