"""Upload of a blob to a registry: in one request, or in chunks if the registry or a proxy needs that.

Every registry takes a blob in one ``PUT``. Some do not know chunks, and others need them for large blobs: they send
``OCI-Chunk-Min-Length``, answer 413, or cut the connection.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from getmodules.api.http import TRANSIENT, HttpAnswer, HttpSession, SizedBody
from getmodules.api.ports import Context
from getmodules.errors import DigestMismatchError, FetchError, NetworkError
from getmodules.net.session import checked_target
from getmodules.util.digest import Digest
from getmodules.util.values import valueclass

CHUNK_BYTES = 64 << 20
#: If a registry names a larger chunk, the blob is sent in one request.
_MOST_CHUNK_BYTES = 1 << 30
_RANGE = re.compile(r"(?:bytes=)?0-(\d{1,18})", re.ASCII)
_log = logging.getLogger("getmodules")
_BODY_TYPE = {"Content-Type": "application/octet-stream"}


class SendRequest(Protocol):
    """Function that sends a request, with credentials if it goes to the registry itself."""

    def __call__(
        self,
        url: str,
        method: str,
        *,
        data: bytes | Callable[[], SizedBody] | None = None,
        headers: Mapping[str, str] | None = None,
        accept: frozenset[int] = frozenset(),
        replayable: bool | None = None,
        named_from: str | None = None,
        retries: int | None = None,
    ) -> HttpAnswer: ...


@valueclass(kw_only=False)
class _UploadLocation:
    """The next URL of an upload, and the address of the server that named it, ``None`` behind a proxy."""

    url: str
    named_from: str | None


class _UploadStart(NamedTuple):
    """The registry's answer to the wish to upload: where to, and the least size of a chunk (0: it does not say)."""

    location: _UploadLocation
    least_bytes: int


class Upload:
    """The upload of one blob. ``chunks`` is called for each time that it is sent."""

    def __init__(
        self,
        request: SendRequest,
        session: HttpSession,
        start_url: str,
        digest: Digest,
        size: int,
        chunks: Callable[[], Iterable[bytes]],
        context: Context,
        *,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self._request = request
        self._session = session
        self._start_url = start_url
        self._digest = digest
        self._size = size
        self._chunks = chunks
        self._context = context
        self._chunk_bytes = chunk_bytes

    def run(self, is_there: Callable[[int], bool]) -> None:
        """Send the blob, and try again after failures. ``is_there`` tells whether a try without an answer succeeded.

        It is called with the number of retries that are left: all requests of a try are counted together, since a
        server that is silent would otherwise be waited for so often squared.
        """
        in_chunks, attempt, tries = False, 1, self._session.settings.retries + 1
        while True:
            left = tries - attempt
            start = self._start(left)
            try:
                self._attempt(start, in_chunks)
                return
            except _TooLargeError as error:
                if in_chunks or self._size <= self._chunk_bytes:
                    raise error.error from None
                in_chunks = True  # another way, which is not a retry
            except NetworkError as error:
                if not left or not error.retryable:
                    raise
                _log.debug("try %d of %d failed: %s", attempt, tries, error.message)
                self._session.pause(attempt, None, self._context)
                if is_there(left - 1):
                    return
                attempt += 1
                in_chunks = self._size > self._chunk_bytes

    def _start(self, retries: int) -> _UploadStart:
        """Ask for the place of an upload, and what its chunks must have."""
        started = self._request(self._start_url, "POST", data=b"", replayable=True, retries=retries)
        _drain(started)
        least = started.headers.get("OCI-Chunk-Min-Length", "").strip()
        return _UploadStart(_location(started), int(least[:18]) if least.isascii() and least.isdigit() else 0)

    def _attempt(self, start: _UploadStart, in_chunks: bool) -> None:
        wanted = bool(start.least_bytes) and self._size > max(start.least_bytes, self._chunk_bytes)
        if (in_chunks or wanted) and start.least_bytes <= _MOST_CHUNK_BYTES:
            location = self._send_chunks(start.location, max(start.least_bytes, self._chunk_bytes))
            self._finish(location, None)
        else:
            self._finish(start.location, lambda: SizedBody(self._chunks(), self._size))

    # ------------------------------------------------------------------------------------------- in one request

    def _finish(self, location: _UploadLocation, body: Callable[[], SizedBody] | None) -> None:
        """Send the closing PUT, with the whole blob, or with nothing after its chunks."""
        answer = self._request(
            f"{location.url}{'&' if '?' in location.url else '?'}digest={self._digest}",
            "PUT",
            data=body or b"",
            headers=_BODY_TYPE,
            accept=frozenset({413, *TRANSIENT}),
            # Part of the body may have been stored already; sent again, it would be there twice.
            replayable=False,
            named_from=location.named_from,
        )
        _refuse(answer)
        check_stored(answer, self._digest)

    # --------------------------------------------------------------------------------------- in chunks

    def _send_chunks(self, location: _UploadLocation, length: int) -> _UploadLocation:
        """Send all chunks, and return the URL of the closing PUT. A chunk that was cut is continued."""
        sent, failures, tries = 0, 0, self._session.settings.retries + 1
        while sent < self._size:
            end = min(sent + length, self._size)
            try:
                location, now = self._send_chunk(location, sent, end)
            except NetworkError as error:
                failures += 1
                error.retryable = error.retryable and failures < tries  # it is not begun anew, either
                if not error.retryable:
                    raise
                _log.debug("try %d of %d failed: %s", failures, tries, error.message)
                self._session.pause(failures, None, self._context)
                location, now = self._ask_progress(location, tries - failures - 1)
            if now > sent:
                failures = 0
            elif not failures:
                raise NetworkError(f"the registry has {now:,} bytes of the blob after {end:,} were sent")
            sent = now
        return location

    def _send_chunk(self, location: _UploadLocation, start: int, end: int) -> tuple[_UploadLocation, int]:
        answer = self._request(
            location.url,
            "PATCH",
            data=lambda: SizedBody(_slice(self._chunks(), start, end), end - start),
            headers={**_BODY_TYPE, "Content-Range": f"{start}-{end - 1}"},
            accept=frozenset({413, 416, *TRANSIENT}),
            replayable=False,
            named_from=location.named_from,
        )
        _refuse(answer)
        _drain(answer)
        if answer.status == 416:
            return self._ask_progress(location, None)
        return _location(answer), _received(answer, end)

    def _ask_progress(self, location: _UploadLocation, retries: int | None) -> tuple[_UploadLocation, int]:
        """Ask how many bytes the registry has; if it has lost the session, raise, and the blob is sent anew."""
        try:
            answer = self._request(location.url, "GET", named_from=location.named_from, retries=retries)
        except FetchError as error:
            if isinstance(error, NetworkError) and error.retryable:
                error.retryable = False  # it was asked often enough
                raise
            raise NetworkError(f"the upload was cut, and cannot be taken up again: {error.message}") from error
        _drain(answer)
        there = _location(answer) if "Location" in answer.headers else location
        return there, min(_received(answer, 0), self._size)


class _TooLargeError(Exception):
    """A 413: the registry, or a proxy before it, refuses a body of that size."""

    def __init__(self, error: NetworkError) -> None:
        super().__init__()
        self.error = error


def _refuse(answer: HttpAnswer) -> None:
    if answer.status == 413:
        answer.close()
        raise _TooLargeError(
            NetworkError("the registry takes no upload of this size", hint="it, or a proxy before it, limits uploads")
        )
    if answer.status in TRANSIENT:
        answer.close()
        raise NetworkError(f"the registry answered {answer.status} to an upload", hint="try again later")


def _location(answer: HttpAnswer) -> _UploadLocation:
    if "Location" not in answer.headers:
        raise FetchError("the registry does not say where the upload goes on", part="unreadable")
    return _UploadLocation(checked_target(answer, answer.headers["Location"]), answer.address)


def _received(answer: HttpAnswer, otherwise: int) -> int:
    """Return how many bytes the registry has. ``0-0`` may mean one byte or none."""
    found = _RANGE.fullmatch(answer.headers.get("Range", "").strip())
    if found is None:
        return otherwise
    last = int(found[1])
    return last + 1 if last else otherwise and min(otherwise, 1)


def _slice(chunks: Iterable[bytes], start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from ``start`` to ``end``; those before are read and dropped."""
    position = 0
    for chunk in chunks:
        piece = chunk[max(0, start - position) : max(0, end - position)]
        position += len(chunk)
        if piece:
            yield piece
        if position >= end:
            return


def _drain(answer: HttpAnswer) -> None:
    """Read a short body, so that the connection can be used again."""
    answer.read_some(8_192)


def check_stored(answer: HttpAnswer, digest: Digest) -> bool:
    """Return whether a registry confirms that it has stored what it was sent; raise if it names another digest.

    ``False`` if it does neither, like a web server that answers 200 to everything. The answer is read to its end.
    """
    _drain(answer)
    said = answer.headers.get("Docker-Content-Digest", "").strip()
    if said != str(digest) and said.startswith(f"{digest.algorithm}:"):
        raise DigestMismatchError(f"the registry was sent {digest}, and says that it has stored {answer.shown(said)}")
    return answer.status == 201 or said == str(digest)
