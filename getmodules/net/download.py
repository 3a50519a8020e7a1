"""A body that survives interruptions: what is missing is asked for, what came is never asked for twice.

The consumer hashes the whole, so a resumed body must be the same body. A server that resumes with exactly the
range that was asked for is believed; one that starts over is compared with what came before.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from getmodules.errors import NetworkError
from getmodules.net.session import Call, Session, origin_of
from getmodules.net.wire import Answer
from getmodules.ports import Context

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)", re.ASCII)


class Download:
    """One body, in as many answers as it takes. ``immutable``: the URL means the same bytes for ever."""

    def __init__(self, session: Session, call: Call, answer: Answer, context: Context, *, immutable: bool) -> None:
        self._session = session
        self._call = call
        self._answer = answer
        self._context = context
        self._immutable = immutable
        self._validator = _strong_validator(answer)
        self.size = answer.length
        self._received = 0
        self._prefix = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        attempt = 1
        pieces = self._answer.pieces()
        while True:
            before = self._received
            try:
                yield from self._keep(pieces)
                return
            except NetworkError as error:
                if self._received > before:
                    attempt = 1  # it moves on: only tries in vain are counted
                if attempt >= self._session.settings.tries or not self._may_resume(error):
                    raise
                self._session.pause(attempt, None, self._context)
                attempt += 1
                pieces = self._rest()

    def close(self) -> None:
        self._answer.close()

    def _keep(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._received += len(piece)
            self._prefix.update(piece)
            yield piece

    def _may_resume(self, error: NetworkError) -> bool:
        if self._context.deadline.remaining() <= 0 or self._context.cancelled.is_set():
            return False
        return self._immutable or self._validator is not None or self._received == 0

    def _rest(self) -> Iterator[bytes]:
        """What is still missing. The first piece of work is inside the iterator, so that its errors count as tries."""
        headers = dict(self._call.headers)
        if self._received:
            headers["Range"] = f"bytes={self._received}-"
            if self._validator is not None:
                headers["If-Range"] = self._validator
        answer = self._session.send(replace(self._call, headers=headers), self._context)
        self._answer = answer
        if self._received and answer.status == 206:
            self._check_range(answer)
            yield from answer.pieces()
        elif answer.status == 200:
            yield from self._after_prefix(answer)
        else:
            answer.close()
            raise NetworkError(f"the server answered {answer.status} when it was asked for the rest")

    def _check_range(self, answer: Answer) -> None:
        said = answer.headers.get("Content-Range", "")
        match = _CONTENT_RANGE.fullmatch(said.strip())
        first, last = (int(match[1]), int(match[2])) if match else (-1, -1)
        total = match[3] if match else "*"
        complete = self.size is None or (last == self.size - 1 and total in ("*", str(self.size)))
        if first != self._received or not complete or (total != "*" and last != int(total) - 1):
            answer.close()
            raise NetworkError("the server resumed with another part of the body than the one it was asked for")

    def _after_prefix(self, answer: Answer) -> Iterator[bytes]:
        """The whole body again: its beginning must be what came before."""
        if self.size is not None and answer.length not in (None, self.size):
            answer.close()
            raise NetworkError("the body changed while it was being downloaded", hint="try again")
        skip, again = self._received, hashlib.sha256()
        for piece in answer.pieces():
            head, tail = piece[:skip], piece[skip:]
            again.update(head)
            skip -= len(head)
            if head and not skip and again.digest() != self._prefix.digest():
                answer.close()
                raise NetworkError("the body changed while it was being downloaded", hint="try again")
            if tail:
                yield tail


def _strong_validator(answer: Answer) -> str | None:
    """An entity tag that promises equality byte for byte, or a date; weak tags promise less."""
    tag = answer.headers.get("ETag", "")
    if tag.startswith('"'):
        return tag
    return answer.headers.get("Last-Modified") if not tag else None


def download(session: Session, call: Call, context: Context, *, immutable: bool = False) -> Download:
    """Begin a download; its first answer must be a whole one."""
    answer = session.send(call, context)
    if answer.status != 200:
        answer.close()
        raise NetworkError(f"{origin_of(answer.url).host} answered {answer.status} when it was asked for the whole body")
    return Download(session, call, answer, context, immutable=immutable)
