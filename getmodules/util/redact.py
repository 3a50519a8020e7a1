"""Make text safe to show: secrets become ``****``, and text from outside loses its escape sequences.

A password or a key in an address works, and must never come back out: not in a message, not in JSON, not in
a log. Everything that shows an address calls :func:`redact`; everything that shows a name or a
sentence from outside calls :func:`printable`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import final
from urllib.parse import quote, unquote

MASK = "****"

# Arguments whose value is a credential: ours (sshkey), and what stores, forges and CDNs put into signed URLs.
# A long word counts at the end of a name however it is written, a short one only as the last word.
_SECRET_WORD = re.compile(
    r"(?:sshkey|token|secret|password|passwd|passphrase|signature|credentials?|apikey|accesskey|accesskeyid|"
    r"privatekey|secretkey|authorization|jwt)$"
)
_SECRET_LAST_WORD = re.compile(r"(?:^|[-_.])(?:key|sig|sas|auth|bearer|pass|pwd|pw|session)$")
_SEPARATORS = re.compile(r"[-_.]")

_SCHEME = r"(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)"
_USERINFO = re.compile(rf"{_SCHEME}(?P<slashes>:/+)(?P<userinfo>[^/?#\s]*)@")
#: A password with a ``/`` or a blank in it makes no valid address, and is a password all the same; so is one in an
#: address whose scheme has lost its colon, or that has no scheme (``https//user:password@host``).
_ODD_START = re.compile(
    rf"(?:{_SCHEME}:/+|(?<![^\s'\"(:])(?:[^\s/:@?&='\"(]++|(?<!:))//+)[^/?#\s:@]*+:(?!\d*+(?:[/?#\s'\",;.:)]|$))"
)
_MORE_OF_IT = re.compile(r"(?:[^/?#\s@]*+@)*+")
#: ``user:password@host:path``, as people write it who know the scp form. What may stand before a user is no part
#: of one, so that no text is looked through from more than one start.
_BARE_PASSWORD = re.compile(r"(?<![^\s'\"(:])(?P<start>(?:[^\s/:@?&='\"(]++|(?<=\()):)[^\s/@:]++@")
#: ``https//token@host``: without its colon it is no URL, and the token is a token.
_LONE_TOKEN = re.compile(r"(?<![^\s'\"(:])(?P<start>(?i:https?)//+)[^/?#\s:@]++@")
_ARGUMENT = re.compile(r"[?&;](?P<name>[^=&?#;\s]+)=")
_VALUE_IN_A_SENTENCE = re.compile(r"[^&\s]*")
_VALUE_IN_AN_ADDRESS = re.compile(r"[^&]*")
#: The schemes whose user name is a name; elsewhere a lone one may be a token.
_NAMED_USERS = ("ssh", "git+ssh", "git")
_ENCODINGS = 8
#: No address that is of any use is so long, even with every character of it percent-encoded.
_LONGEST_ADDRESS = 1 << 16


@final
class Secret:
    """A string that prints as ``****``; only :meth:`reveal` gives it away, so that a grep finds each use."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text, which nothing else shows."""
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


@lru_cache(maxsize=128)
def is_secret_argument(name: str) -> bool:
    lower = unquote(name).lower()
    return _SECRET_WORD.search(_SEPARATORS.sub("", lower)) is not None or _SECRET_LAST_WORD.search(lower) is not None


def redact(text: str) -> str:
    """Return ``text`` with the passwords and keys of all addresses in it masked.

    A lone user name stays (``ssh://git@host``); over http it may be a token, so there it is masked as well.
    """
    return _masked(text, _VALUE_IN_A_SENTENCE)


def redact_address(text: str) -> str:
    """Redact a ``text`` that is one address as a whole: a key that was pasted with its line ends is masked too.

    Of what is too long for an address the beginning is shown.
    """
    if len(text) > _LONGEST_ADDRESS:
        # The @ ends a password that the cut went through, so that it is seen for what it is.
        return _masked(f"{text[:_LONGEST_ADDRESS]}@", _VALUE_IN_AN_ADDRESS) + "…"
    return _masked(text, _VALUE_IN_AN_ADDRESS)


def _masked(text: str, value: re.Pattern[str]) -> str:
    if "@" in text:  # each of these patterns ends with one, and there is seldom any
        text = _USERINFO.sub(_redact_userinfo, text)
        text = _mask_odd_passwords(text)
        for secret in (_BARE_PASSWORD, _LONE_TOKEN):
            text = secret.sub(rf"\g<start>{MASK}@", text)
    return _mask_arguments(text, value)


def _mask_odd_passwords(text: str) -> str:
    """Mask up to the next ``@``, unless another address begins before it.

    No single pattern: it would look for the same ``@`` again from every start, in quadratic time.
    """
    pieces: list[str] = []
    shown = 0
    at = elsewhere = -1
    start = _ODD_START.search(text)
    while start is not None:
        password = start.end()
        if at < password:
            at = text.find("@", password)
        if at < 0:
            break
        if elsewhere < password:
            elsewhere = text.find("://", password)
            if elsewhere < 0:
                elsewhere = len(text)
        after = start.start() + 1
        if at < elsewhere:
            more = _MORE_OF_IT.match(text, at + 1)
            after = more.end() if more else at + 1
            pieces += (text[shown:password], f"{MASK}@")
            shown = after
        start = _ODD_START.search(text, after)
    return "".join((*pieces, text[shown:]))


def _redact_userinfo(match: re.Match[str]) -> str:
    start, userinfo = match["scheme"] + match["slashes"], match["userinfo"]
    user, colon, _password = userinfo.partition(":")
    if colon:
        return f"{start}{user}:{MASK}@"
    if ":" in unquote(userinfo) or (match["slashes"] == "://" and match["scheme"].lower() not in _NAMED_USERS):
        return f"{start}{MASK}@"
    return match[0]


def _mask_arguments(text: str, value: re.Pattern[str]) -> str:
    if "=" not in text:
        return text
    pieces: list[str] = []
    shown = looked_into = 0
    for argument in _ARGUMENT.finditer(text):
        start, end = argument.span()
        secret = is_secret_argument(argument["name"])
        if start < shown or (start < looked_into and not secret):
            continue
        typed = value.match(text, end)
        if typed is None:
            continue
        masked = _mask_encoded(typed[0], value) if not secret else MASK if typed[0] else ""
        looked_into = typed.end()
        if masked != typed[0]:
            pieces += (text[shown:end], masked)
            shown = typed.end()
    return "".join((*pieces, text[shown:]))


def _mask_encoded(typed: str, value: re.Pattern[str]) -> str:
    """Mask an argument whose value is itself an address, percent-encoded: ``checksum=file:https%3A%2F%2F…``."""
    decoded = typed
    for _ in range(_ENCODINGS):
        plainer = unquote(decoded)
        if plainer == decoded:
            break
        decoded = plainer
    if decoded == typed:
        return typed
    masked = _masked(decoded, value)
    # Half a surrogate pair stands for a byte that was no UTF-8; it cannot be encoded, and is to be seen.
    return typed if masked == decoded else quote(masked, safe=":/@+,._~-*", errors="backslashreplace")


def printable(text: str, limit: int = 200) -> str:
    """Return ``text`` for human eyes: one line, no control or invisible characters, not too long."""
    if len(text) <= limit and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: limit + 1])
    return shown if len(text) <= limit and len(shown) <= 2 * limit else f"{shown[:limit]}…"


def quoted(text: str) -> str:
    """Return ``text`` that somebody typed, in quotes, for a message about it."""
    return repr(printable(redact(text)))


# -------------------------------------------------------------------------------------- secrets of requests

#: Shorter ones would be masked within words everywhere, which tells more than it hides.
_SHORTEST_SECRET = 4


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` with ``secrets`` masked, as they are and percent-encoded."""
    for secret in sorted(secrets, key=len, reverse=True):  # one may be a part of another
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return text


def secrets_in_header(value: str) -> tuple[str, ...]:
    """Return the secrets in a header: all of it, and its last word, since the name of a scheme may come before."""
    return (value, *value.split()[-1:], *_basic_password(value))


def _basic_password(value: str) -> tuple[str, ...]:
    """Return the decoded text and the password of a ``Basic`` header."""
    scheme, _, encoded = value.partition(" ")
    if scheme != "Basic":
        return ()
    try:
        pair = base64.b64decode(encoded).decode("utf-8", "replace")
    except ValueError:  # a malformed header of the user's own
        return ()
    return (pair, pair.partition(":")[2])
