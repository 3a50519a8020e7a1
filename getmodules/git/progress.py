"""How much has arrived, from git's own lines: ``Receiving objects:  45% (450/1000), 1.20 MiB | 2.30 MiB/s``."""

from __future__ import annotations

import re
from typing import Final

from getmodules.api.limits import GIB, KIB, MIB
from getmodules.api.ports import Context

_RECEIVING: Final = re.compile(
    r"Receiving objects: .*?, (?P<amount>\d{1,9}(?:\.\d{1,3})?) (?P<unit>bytes|KiB|MiB|GiB)\b", re.ASCII
)
_UNITS: Final = {"bytes": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}


class Receiving:
    """Hears the lines of one fetch and reports what is new in each."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reported = 0

    def hear(self, line: str) -> None:
        # What the server says comes behind "remote: ", so that it cannot speak for git.
        found = _RECEIVING.match(line)
        if found is None:
            return
        received = int(float(found["amount"]) * _UNITS[found["unit"]])
        if received > self._reported:
            self._context.advance(received - self._reported)
            self._reported = received
