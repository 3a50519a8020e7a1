"""Where an answer begins and ends, read so strictly that no other program takes it for another one.

http.client takes more than the standard allows. Who checks a file with other means than ours, or has a proxy in
between, would see other bytes than those that we hash and install.
"""

from __future__ import annotations

import re
from http.client import HTTPMessage, HTTPResponse, IncompleteRead, parse_headers
from typing import Any

from urllib3.exceptions import HeaderParsingError
from urllib3.util.response import assert_header_parsing

from getmodules.errors import NetworkError

#: Early hints and the like, before an answer: one is usual.
_MOST_HINTS = 16
_OPTIONAL_BLANKS = " \t"
#: The size of a chunk, blanks that old servers fill it up with, and extensions, which nobody uses.
_CHUNK = re.compile(rb"(?P<size>[0-9A-Fa-f]{1,16})[ \t]*+(?:;[^\r\n]*+)?\r\n")
_LONGEST_LINE = 65_536


class Response(HTTPResponse):
    """Refuses what cannot be read in one way only; and headers that could not be read to their end.

    urllib3 does not refuse those, and warns with the whole URL instead, whose query may be a signature.
    """

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        self._connection = sock
        super().__init__(sock, *args, **kwargs)

    @property
    def headers(self) -> Any:
        return self._headers

    @headers.setter
    def headers(self, read: HTTPMessage | None) -> None:
        """Set when they were read, and before anything is made of them: blanks behind a value are no part of it."""
        if read is not None:
            _strip(read)
        self._headers = read

    def _read_status(self) -> tuple[str, int, str]:
        """Of the answer itself: the standard library passes over one kind of those that come before it (100)."""
        for _ in range(_MOST_HINTS):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 102 <= status <= 199:
                return version, status, reason
            parse_headers(self.fp)
        raise NetworkError(f"the server announces its answer {_MOST_HINTS} times, and gives none")

    def begin(self) -> None:
        super().begin()
        try:
            assert_header_parsing(self.msg)
        except HeaderParsingError:
            raise NetworkError("the headers of the answer are broken, or end in the middle") from None
        if self.length is None and not self.chunked and hasattr(self._connection, "suppress_ragged_eofs"):
            # Only the end of the connection says that this body is complete, and anybody on the way can end it: over
            # TLS it must be the server itself who did.
            self._connection.suppress_ragged_eofs = False

    def _get_chunk_left(self) -> int | None:
        if self.chunk_left == 0:
            if self._safe_read(2) != b"\r\n":  # type: ignore[attr-defined]
                raise _broken_chunk()
            self.chunk_left = None
        left: int | None = super()._get_chunk_left()  # type: ignore[misc]
        return left

    def _read_next_chunk_size(self) -> int:
        line = self.fp.readline(_LONGEST_LINE)
        if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
            raise IncompleteRead(b"")
        match = _CHUNK.fullmatch(line)
        if match is None:
            raise _broken_chunk()
        return int(match["size"], 16)


def _strip(headers: HTTPMessage) -> None:
    lines = headers.items()
    if any(value[-1:] in _OPTIONAL_BLANKS for _, value in lines if value):
        for name, _ in lines:
            del headers[name]
        for name, value in lines:
            headers[name] = value.strip(_OPTIONAL_BLANKS)


def _broken_chunk() -> NetworkError:
    return NetworkError(
        "the answer comes in chunks, one of which does not begin or end as a chunk does",
        hint="the server or a proxy on the way is at fault",
    )
