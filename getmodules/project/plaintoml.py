"""The little of TOML that is in nearly every manifest and lock, read line by line.

The standard library reads all of TOML, a character at a time: for a lock of fifty modules that takes ten times as long,
and nearly as long as half of the modules take to be installed.
"""

from __future__ import annotations

import re
from typing import Any

_CONTROL = r"\x00-\x08\x0a-\x1f\x7f"
_BARE = "[A-Za-z0-9_-]+"
_LINE = re.compile(
    rf"""(?:\[\[({_BARE})\]\]
    |\[({_BARE}(?:\.{_BARE})*)\]
    |({_BARE})[ ]*=[ ]*(?:"([^"\\{_CONTROL}]*)"|(0|[1-9][0-9]{{0,17}}))
    |\#[^{_CONTROL}]*
    )?""",
    re.VERBOSE,
)


def read_plain(text: str) -> dict[str, Any] | None:
    """What :func:`tomllib.loads` makes of ``text``; ``None`` where it has anything in it that needs more than this.

    What is plain: tables and lists of tables, and in them strings without escapes, and numbers. What is wrong is not
    plain either: nothing is refused here.
    """
    document: dict[str, Any] = {}
    table = document
    fullmatch = _LINE.fullmatch
    for line in text.split("\n"):
        match = fullmatch(line)
        if match is None:
            return None
        listed, named, key, string, number = match.groups()
        if key is not None:
            if key in table:
                return None
            table[key] = string if number is None else int(number)
        elif listed or named:
            begun = _one_more(document, listed) if listed else _new(document, named.split("."))
            if begun is None:
                return None
            table = begun
    return document


def _one_more(document: dict[str, Any], name: str) -> dict[str, Any] | None:
    tables = document.setdefault(name, [])
    if not isinstance(tables, list):
        return None
    added: dict[str, Any] = {}
    tables.append(added)
    return added


def _new(document: dict[str, Any], names: list[str]) -> dict[str, Any] | None:
    """One that is not there yet: which of those that are there may be opened again, TOML has long rules for."""
    *above, last = names
    outer: Any = document
    for name in above:
        outer = outer.setdefault(name, {})
        if not isinstance(outer, dict):
            return None
    if last in outer:
        return None
    made: dict[str, Any] = {}
    outer[last] = made
    return made
