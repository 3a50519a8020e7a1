"""Secrets of a request, made unreadable in what is said about it: a server may send them back to us."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import quote

from getmodules.util.redact import MASK

#: Shorter ones would be masked within words everywhere, which tells more than it hides.
_SHORTEST_SECRET = 4


def masked(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):  # one may be a part of another
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return text


def in_header(value: str) -> tuple[str, ...]:
    """What is secret about a header: all of it, and its last word, before which there is the name of a scheme."""
    return (value, *value.split()[-1:], *_basic_password(value))


def _basic_password(value: str) -> tuple[str, ...]:
    """What a ``Basic`` header says in clear, after decoding."""
    scheme, _, encoded = value.partition(" ")
    if scheme != "Basic":
        return ()
    try:
        pair = base64.b64decode(encoded).decode("utf-8", "replace")
    except ValueError:  # somebody's own header, which is none
        return ()
    return (pair, pair.partition(":")[2])
