"""Bodies of requests that are sent while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from getmodules.errors import FetchError
from getmodules.net.watch import Watch

#: Small enough that the slowest line that is allowed takes one of them in each window.
_SENT_AT_ONCE = 16 << 10


class SizedBody:
    """A request's body that is sent while it is read. Its size is known, so no server has to take it in chunks."""

    def __init__(self, pieces: Iterable[bytes], size: int) -> None:
        self.pieces = pieces
        self.size = size


class WatchedBody:
    """What requests sends: as many bytes as were announced, watched like those that come."""

    def __init__(self, body: SizedBody, watch: Watch) -> None:
        self._body = body
        self._watch = watch

    def __len__(self) -> int:
        return self._body.size

    def __iter__(self) -> Iterator[bytes]:
        left = self._body.size
        for piece in self._body.pieces:
            left -= len(piece)
            if left < 0:
                break  # what is too much, a server would take for the next request
            view = memoryview(piece)
            for start in range(0, len(view), _SENT_AT_ONCE):
                part = bytes(view[start : start + _SENT_AT_ONCE])
                self._watch.reading()
                yield part
                # Asked for more: so the last part was taken.
                self._watch.received(len(part))
                self._watch.away()
        if left:
            raise FetchError("what is being sent changed in the meantime", part="changed", hint="try again")
        self._watch.sent()
