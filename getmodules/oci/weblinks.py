"""``Link``, parsed: where a list goes on."""

from __future__ import annotations

import re

from getmodules.errors import UnsafeContentError
from getmodules.net.session import checked_target, origin_of
from getmodules.net.wire import Answer

_LONGEST = 8_192
_TARGET = re.compile(r"[^<]*<(?P<target>[^<>\s]*)>", re.ASCII)
# Single quotes are no quotes of HTTP, and written all the same.
_PARAMETER = re.compile(
    r"[^,;<]*;\s*(?P<name>[^\s,;=\"]*)\s*"
    r"(?:=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)'|(?P<token>[^\s,;\"]*)))?",
    re.ASCII,
)


def next_page(answer: Answer) -> str | None:
    """Relative to what was asked for, and on the same origin."""
    written = next_target(answer.headers.get("Link", ""))
    if written is None:
        return None
    target = checked_target(answer, written)
    if origin_of(target) != origin_of(answer.url):
        raise UnsafeContentError("the registry continues its list on another host", part="elsewhere")
    return target


def next_target(header: str) -> str | None:
    """The target of the first link whose relation is ``next``, which may have others beside it; as it is written."""
    text, at = header[:_LONGEST], 0
    while link := _TARGET.match(text, at):
        at = link.end()
        relations: list[str] | None = None
        while parameter := _PARAMETER.match(text, at):
            at = parameter.end()
            if relations is None and parameter["name"].lower() == "rel":  # of several, the first counts
                value = parameter["quoted"] or parameter["single"] or parameter["token"] or ""
                relations = value.lower().split()
        if relations is not None and "next" in relations:
            return link["target"]
    return None
