"""Download a body that survives interruptions: only what is missing is asked for again.

The consumer hashes the whole, so a resumed body must be the same body. A server that resumes with exactly the
range that was asked for is believed; one that starts over must call it the same, and its beginning is compared.
Where it has no name for it that promises the same bytes, as forges have none for archives that they make when they are
asked, no range is asked for: it starts over, and all that came before must come again.
"""

from __future__ import annotations

import logging
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping

from getmodules.api.http import HttpAnswer, HttpSession
from getmodules.api.ports import Context
from getmodules.errors import NetworkError
from getmodules.net.session import http_date

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)", re.ASCII)
#: A try that brings less counts as failed: else a server could make us ask for each byte, and for ever.
_PROGRESS_BYTES = 1 << 20
#: How much of a body that starts over is compared. To sum up all of it would take as long as to receive it.
_COMPARED_BYTES = 1 << 20
#: Without a validator nothing else says that it is the same body.
_ALL_OF_IT = sys.maxsize
_LONGEST_VALIDATOR = 1_024
_log = logging.getLogger("getmodules")


#: What servers answer that do not like a ``Range``, for :data:`Send` to let through where there is one.
RANGE_REFUSED = frozenset({400, 416, 501})
#: Sends the request with these additional headers, again up to so many times (``None``: as the settings say), and
#: returns its answer.
Send = Callable[[Mapping[str, str], int | None], HttpAnswer]


class Download:
    """Download one body, in as many answers as it takes. ``immutable``: the address means the same bytes for ever.

    The first request is sent when the first piece is asked for.
    """

    def __init__(
        self,
        send: Send,
        session: HttpSession,
        context: Context,
        *,
        immutable: bool = False,
        first: HttpAnswer | None = None,
    ) -> None:
        self._send = send
        self._session = session
        self._context = context
        self._immutable = immutable
        self._answer: HttpAnswer | None = first
        self._received = 0
        self._validator: str | None = None
        self._size: int | None = None
        self._beginning = _Beginning(0)
        #: Of the first answer; none before there was one.
        self.headers: Mapping[str, str] = {}
        #: What may be kept to ask, in a later run, whether this still holds.
        self.validator: Mapping[str, str] = {}
        if first is not None:
            self._get_to_know(first)

    def __iter__(self) -> Iterator[bytes]:
        attempt, tries = 1, self._session.settings.retries + 1
        pieces = self._answer.pieces() if self._answer else self._rest(None)
        while True:
            before = self._received
            try:
                yield from self._keep(pieces)
                return
            except NetworkError as error:
                if self._received - before >= _PROGRESS_BYTES and self._can_ask_for_the_rest:
                    attempt = 1  # it moves on: only tries in vain are counted
                if attempt >= tries or not self._may_resume(error):
                    raise
                _log.debug("try %d of %d failed: %s", attempt, tries, error.message)
                self._session.pause(attempt, None, self._context)
                attempt += 1
                # The tries of the request and of the body are counted together: else a server that falls silent would
                # be waited for so often squared.
                pieces = self._rest(tries - attempt)

    @property
    def size(self) -> int | None:
        """The announced length of the whole."""
        return self._size

    def rest(self, start: int) -> Download | None:
        """Return the download of what comes after ``start`` bytes, which are here already.

        ``None`` where the server does not send that part, or has another body by now: then this one is whole.
        """
        headers = {"Range": f"bytes={start}-"}
        if self._validator is not None:
            headers["If-Range"] = self._validator
        answer = self._send(headers, None)
        # What has no name that promises the same bytes is gone on with only where the consumer knows its digest.
        immutable = self._immutable or self._validator is None
        after = Download(self._send, self._session, self._context, immutable=immutable, first=answer)
        after._received, after._size = start, self._size or after._whole_size(answer)
        after._validator = self._validator or _if_range(answer)
        after._beginning = _Beginning(0)
        if answer.status != 206 or not after._is_the_rest(answer):
            answer.close()
            return None
        self.close()
        return after

    @staticmethod
    def _whole_size(answer: HttpAnswer) -> int | None:
        match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", "").strip())
        return None if match is None or match[3] == "*" else int(match[3])

    def _get_to_know(self, answer: HttpAnswer) -> None:
        self._size, self._validator = answer.length, _if_range(answer)
        self.headers, self.validator = answer.headers, _kept_validator(answer)
        compared = _ALL_OF_IT if self._validator is None else _COMPARED_BYTES
        # What is immutable has a digest, which the consumer checks.
        self._beginning = _Beginning(0 if self._immutable else compared)

    @property
    def _can_ask_for_the_rest(self) -> bool:
        return self._received > 0 and (self._immutable or self._validator is not None)

    def close(self) -> None:
        if self._answer is not None:
            self._answer.close()

    def _keep(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._received += len(piece)
            self._beginning.add(piece)
            yield piece

    def _may_resume(self, error: NetworkError) -> bool:
        if self._answer is None:
            return False  # no request got through, and the session has tried often enough
        if not error.retryable:
            return False
        return self._context.deadline.remaining() > 0 and not self._context.cancelled.is_set()

    def _rest(self, retries: int | None) -> Iterator[bytes]:
        """Yield what is still missing; requested when iterated over, so that its failures count as tries."""
        headers = {}
        if self._can_ask_for_the_rest:
            headers["Range"] = f"bytes={self._received}-"
            if self._validator is not None:
                headers["If-Range"] = self._validator
        self._answer = None
        self._answer = answer = self._send(headers, retries)
        if headers and answer.status == 206:
            if not self._is_the_rest(answer):
                answer.close()
                raise NetworkError("the server resumed with another part of the body than the one it was asked for")
            yield from answer.pieces()
        elif answer.status == 200:
            if not self._received:
                self._get_to_know(answer)
            yield from self._after_prefix(answer)
        else:
            answer.close()
            raise NetworkError(f"the server answered {answer.status} when it was asked for a body", retryable=False)

    def _is_the_rest(self, answer: HttpAnswer) -> bool:
        said = answer.headers.get("Content-Range", "")
        match = _CONTENT_RANGE.fullmatch(said.strip())
        first, last = (int(match[1]), int(match[2])) if match else (-1, -1)
        total = match[3] if match else "*"
        complete = self._size is None or (last == self._size - 1 and total in ("*", str(self._size)))
        return first == self._received and complete and (total == "*" or last == int(total) - 1)

    def _after_prefix(self, answer: HttpAnswer) -> Iterator[bytes]:
        """Yield the rest of a body that was sent again as a whole: its beginning must be what came before."""
        other_size = self._size is not None and answer.length not in (None, self._size)
        another = self._validator is not None and _if_range(answer) != self._validator
        if other_size or (another and not self._immutable):
            answer.close()
            raise _changed()
        skip, expected = self._received, self._beginning.sum
        again = _Beginning(min(skip, self._beginning.size))
        for piece in answer.pieces():
            head, tail = piece[:skip], piece[skip:]
            skip -= len(head)
            again.add(head)
            if head and not skip and again.sum != expected:
                answer.close()
                raise _changed()
            if tail:
                yield tail
        if skip:
            raise _changed(retryable=True)  # or it was the line


class _Beginning:
    """A checksum of the first ``size`` bytes of a body: against accidents, not against attackers."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.sum = 0
        self._left = size

    def add(self, piece: bytes) -> None:
        if self._left:
            head = piece[: self._left]
            self._left -= len(head)
            self.sum = zlib.crc32(head, self.sum)


def _changed(*, retryable: bool = False) -> NetworkError:
    # What was passed on already cannot be taken back, so it is not asked for again.
    return NetworkError("the body changed while it was being downloaded", hint="try again", retryable=retryable)


def strong_validator(answer: HttpAnswer) -> tuple[str, str] | None:
    """Return a header that promises equality byte for byte, and its value: an entity tag, else a date.

    Weak tags promise less; and so does the date of a change in the very second of the answer, in which there may be
    another one (RFC 9110, 8.8.2.2).
    """
    tag = answer.headers.get("ETag", "")
    if tag:
        return ("ETag", tag) if tag.startswith('"') else None
    date = answer.headers.get("Last-Modified", "")
    changed, answered = http_date(date), http_date(answer.headers.get("Date", ""))
    if changed is None or answered is None or answered - changed < 1:
        return None
    return ("Last-Modified", date)


def _kept_validator(answer: HttpAnswer) -> Mapping[str, str]:
    """Return the validator, if it promises identical bytes and contains none of our secrets."""
    found = strong_validator(answer)
    if found is None or len(found[1]) > _LONGEST_VALIDATOR or answer.mask(found[1]) != found[1]:
        return {}
    return dict([found]) if found[1].isprintable() else {}


def _if_range(answer: HttpAnswer) -> str | None:
    found = strong_validator(answer)
    return None if found is None else found[1]
