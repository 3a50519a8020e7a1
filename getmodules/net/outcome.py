"""What a status means, as an error of ours; and how long a server wants us to wait."""

from __future__ import annotations

import time
from datetime import UTC
from email.utils import parsedate_to_datetime

from getmodules.errors import AuthenticationError, FetchError, NetworkError, NotFoundError, RateLimitedError
from getmodules.net.wire import Answer, shown_host

#: Worth another try: the server, or something on the way, says that it is its own fault, or not now.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_SHOWN_BODY_BYTES = 8_192


def failed(answer: Answer, *, had_credentials: bool, explain: str = "") -> FetchError:
    """The error for an answer that is not what was asked for. ``explain`` is what its body says."""
    status, where = answer.status, shown_host(answer.url)
    said = f"{where} answered {status}{f': {explain}' if explain else ''}"
    if status == 401:
        hint = "the credentials were refused" if had_credentials else "it wants credentials, and none were found"
        return AuthenticationError(said, hint=hint)
    if status == 407:
        return AuthenticationError(said, hint="the proxy wants credentials")
    if status == 403:
        hint = "the credentials do not allow this" if had_credentials else "it may want credentials; none were found"
        return AuthenticationError(said, part="forbidden", hint=hint)
    if status in (404, 410):
        return NotFoundError(said, hint="is the address right? Some servers hide in this way what needs credentials")
    if status == 429:
        return RateLimitedError(said, hint="wait, or authenticate: most servers allow more to those they know")
    return NetworkError(said, hint="the server has a problem; try again later" if status >= 500 else None)


def body_text(answer: Answer) -> str:
    """The beginning of an error body, for people."""
    text = answer.read_some(_SHOWN_BODY_BYTES).decode("utf-8", "replace")
    return answer.shown(" ".join(text.split()), 300)


def retry_after(answer: Answer) -> float | None:
    """The seconds that ``Retry-After`` names; ``None`` where it is absent or makes no sense."""
    value = answer.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    moment = http_date(value)
    return None if moment is None else max(0.0, moment - time.time())


def http_date(text: str) -> float | None:
    """The moment, in seconds; ``None`` for what is no date. One of the three forms has no zone, and means UTC."""
    try:
        found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
