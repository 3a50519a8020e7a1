"""Regular expressions that are compiled when they are first used.

Compiling one takes as long as importing a small module, and most runs need few of those that are there: for names that
are odd, for answers that are no archive, for secrets in an address.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")


class _Later:
    """Has the methods of a pattern from the first look at one of them on."""

    __slots__ = ("_flags", "_text", *_METHODS)

    def __init__(self, text: Any, flags: re.RegexFlag | int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: re.RegexFlag | int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile``, for a module that may be imported without ever using it."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
