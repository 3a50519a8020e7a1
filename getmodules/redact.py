"""What people may see: secrets as ``****``, and text from outside without escape sequences.

A password or a key in an address works, and must never come back out: not in a message, not in JSON, not in
a log. Everything that shows an address goes through :func:`redact`; everything that shows a name or a
sentence that somebody else wrote goes through :func:`printable`.
"""

from __future__ import annotations

import re
from typing import final

MASK = "****"

# Arguments whose value is a credential: ours (sshkey), and what stores, forges and CDNs put into signed URLs.
_SECRET_ARGUMENT = re.compile(
    r"(?:^|[-_.])(?:sshkey|token|secret|password|passwd|pwd|signature|sig|credential|credentials|apikey|auth|"
    r"authorization|key|jwt|session)$|^(?:accesskey|accesstoken|authtoken|awsaccesskeyid|privatekey)$",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(?P<start>[A-Za-z][A-Za-z0-9+.-]*://)(?P<userinfo>[^/?#\s]*)@")
_ARGUMENT = re.compile(r"(?P<sep>[?&])(?P<name>[^=&?#\s]+)=(?P<value>[^&#\s]*)")


@final
class Secret:
    """A string that prints as ``****``; only :meth:`reveal` gives it away, so that a grep finds each use."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Secret is not pickled")


def is_secret_argument(name: str) -> bool:
    return _SECRET_ARGUMENT.search(name) is not None


def redact(text: str) -> str:
    """``text`` with the passwords and keys of all addresses in it masked.

    A lone user name stays (``ssh://git@host``); over http it may be a token, so there it goes as well.
    """
    return _ARGUMENT.sub(_redact_argument, _USERINFO.sub(_redact_userinfo, text))


def _redact_userinfo(match: re.Match[str]) -> str:
    start, userinfo = match["start"], match["userinfo"]
    user, colon, _password = userinfo.partition(":")
    if colon:
        return f"{start}{user}:{MASK}@"
    if start in ("http://", "https://"):
        return f"{start}{MASK}@"
    return match[0]


def _redact_argument(match: re.Match[str]) -> str:
    if not match["value"] or not is_secret_argument(match["name"]):
        return match[0]
    return f"{match['sep']}{match['name']}={MASK}"


def printable(text: str, limit: int = 200) -> str:
    """``text`` from outside for human eyes: one line, no control or invisible characters, not too long."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: limit + 1])
    return shown if len(text) <= limit and len(shown) <= 2 * limit else f"{shown[:limit]}…"
