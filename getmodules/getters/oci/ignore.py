"""The rules of ``.getmodulesignore``: what is left out of a package, in the syntax of ``.gitignore``. Pure.

Only the file in the published directory counts; those in other directories are files like any other. Patterns are
matched as bytes, like in git. In one point this follows git's manual and not its code: two stars that are not a whole
component (``a**/b``) are one star, also behind a name without any.
"""

from __future__ import annotations

import re
from typing import Final

from getmodules.util.values import valueclass

IGNORE_FILE: Final = ".getmodulesignore"

_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb"\x20\t-\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
#: A star inside one component. Between two fixed texts its shortest match is always good enough.
_STAR = object()


class _NeverMatchesError(Exception):
    """The pattern is broken; like in git, it matches nothing."""


@valueclass(kw_only=False)
class _Rule:
    """One line of the file."""

    matches: re.Pattern[bytes]
    negative: bool
    directories_only: bool
    #: Whether it is matched against the last component only, in any directory.
    by_name: bool


class Ignore:
    """The rules in ``.getmodulesignore``; the last one that matches decides."""

    def __init__(self, text: bytes = b"") -> None:
        lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        self._rules = tuple(filter(None, map(_rule, lines)))

    def leaves_out(self, path: str, *, directory: bool) -> bool:
        """Return whether the rules leave out ``path`` itself; its parents are not looked at."""
        return self.decides(path, directory=directory) is True

    def decides(self, path: str, *, directory: bool) -> bool | None:
        """Return whether the rules leave ``path`` out, or, ``False``, take it in; ``None`` where none is about it."""
        raw = path.encode("utf-8", "surrogateescape")
        name = raw.rpartition(b"/")[2]
        for rule in reversed(self._rules):
            if (directory or not rule.directories_only) and rule.matches.fullmatch(name if rule.by_name else raw):
                return not rule.negative
        return None

    def leaves_out_below(self, path: str) -> bool:
        """Return whether a file is left out, by itself or with one of its parent directories."""
        parts = path.split("/")
        parents = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return any(self.leaves_out(parent, directory=True) for parent in parents) or self.leaves_out(
            path, directory=False
        )


def _rule(line: bytes) -> _Rule | None:
    pattern = _without_trailing_blanks(line.removesuffix(b"\r"))
    if not pattern or pattern.startswith(b"#"):
        return None
    negative = pattern.startswith(b"!")
    pattern = pattern[negative:]
    directories_only = pattern.endswith(b"/")
    pattern = pattern[: len(pattern) - directories_only]
    by_name = b"/" not in pattern
    try:
        matches = re.compile(_translate(pattern.removeprefix(b"/")), re.DOTALL)
    except _NeverMatchesError:
        return None
    return _Rule(matches, negative, directories_only, by_name)


def _without_trailing_blanks(line: bytes) -> bytes:
    """Return ``line`` without the blanks at its end, except those behind a backslash."""
    end = at = 0
    while at < len(line):
        escaped = line[at : at + 1] == b"\\"
        at += 1 + escaped
        if escaped or line[at - 1 : at] != b" ":
            end = at
    return line[:end]


def _translate(pattern: bytes) -> bytes:
    """Return the regular expression for a whole path."""
    pieces: list[bytes | object] = []
    at = 0
    while at < len(pattern):
        character = pattern[at : at + 1]
        if character == b"*":
            at = _stars(pattern, at, pieces)
        elif character == b"?":
            pieces.append(b"[^/]")
            at += 1
        elif character == b"[":
            expression, at = _class(pattern, at + 1)
            pieces.append(expression)
        else:
            at += character == b"\\"
            if at == len(pattern):
                raise _NeverMatchesError
            pieces.append(re.escape(pattern[at : at + 1]))
            at += 1
    return _joined(pieces)


def _stars(pattern: bytes, at: int, pieces: list[bytes | object]) -> int:
    """Add the expression for the stars at ``at``, and return where to go on.

    One star stays in a component; two that are a whole component match any number of components.
    """
    end = at
    while pattern[end : end + 1] == b"*":
        end += 1
    rest = pattern[end:]
    alone = (at == 0 or pattern[at - 1 : at] == b"/") and (not rest or rest.startswith((b"/", b"\\/")))
    if end - at == 1 or not alone:
        pieces.append(_STAR)
        return end
    if rest.startswith(b"/"):
        pieces.append(rb"(?:.*/)?")
        return end + 1
    pieces.append(rb".*")
    return end


def _joined(pieces: list[bytes | object]) -> bytes:
    """Join the parts. Each star but the last of a component keeps its first match: others only cost time."""
    expression = b""
    fixed = b""
    open_star = False
    for piece in pieces:
        if piece is _STAR:
            expression += rb"(?>[^/]*?" + fixed + rb")" if open_star else fixed
            fixed, open_star = b"", True
            continue
        assert isinstance(piece, bytes)
        if piece in (b"/", rb"(?:.*/)?", rb".*"):
            expression += (rb"[^/]*" if open_star else b"") + fixed + piece
            fixed, open_star = b"", False
        else:
            fixed += piece
    return expression + (rb"[^/]*" if open_star else b"") + fixed


def _class(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Return the expression for ``[…]``, which matches one byte but a slash, and where to go on.

    ``at`` is behind the opening bracket.
    """
    negative = pattern[at : at + 1] in (b"!", b"^") and bool(pattern[at : at + 1])
    at += negative
    members: list[bytes] = []
    previous: bytes | None = None
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        character = pattern[at : at + 1]
        following = pattern[at + 1 : at + 2]
        if character == b"[" and following == b":":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                raise _NeverMatchesError
            if pattern[end - 1 : end] == b":" and end - 1 >= at + 2:
                members.append(_named_class(pattern[at + 2 : end - 1]))
                previous, at = None, end + 1
                continue
        if character == b"-" and previous is not None and following not in (b"", b"]"):
            last, at = _member(pattern, at + 1)
            if previous <= last:
                members.append(_escaped(previous) + b"-" + _escaped(last))
            previous = None
            continue
        previous, at = _member(pattern, at)
        members.append(_escaped(previous))
    inside = b"".join(members)
    if not inside:  # only empty ranges
        return (b"[^/]" if negative else b"(?!)"), at + 1
    return (b"[^/" + inside + b"]" if negative else b"(?!/)[" + inside + b"]"), at + 1


def _member(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Return one byte of a class, and where to go on."""
    at += pattern[at : at + 1] == b"\\"
    if at >= len(pattern):
        raise _NeverMatchesError
    return pattern[at : at + 1], at + 1


def _named_class(name: bytes) -> bytes:
    if name not in _CLASSES:
        raise _NeverMatchesError
    return _CLASSES[name]


def _escaped(byte: bytes) -> bytes:
    return b"\\x%02x" % byte[0]
