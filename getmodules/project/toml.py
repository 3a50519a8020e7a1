"""TOML files that people edit and version control merges, read with limits, and with errors that name the line.

A :class:`TomlTable` remembers which of its keys were asked for; any other key is an error that names the nearest known
one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from getmodules.api.limits import MIB
from getmodules.errors import ConfigError
from getmodules.files.durable import read_user_file, shown_path
from getmodules.util.redact import printable, redact, redact_address
from getmodules.util.values import field, valueclass

T = TypeVar("T")

#: The byte order mark, which editors on Windows put before the text.
_MARK = "\ufeff"
#: Enough for tens of thousands of modules.
MAX_BYTES = 16 * MIB
_MERGE_MARKER = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: .*)?$|^={7}\r?$", re.MULTILINE)
_WHERE = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", re.DOTALL)
#: The time that tomllib takes for a dotted key grows with the square of its dots.
_MOST_DOTS = 100


def read_text(path: Path) -> str | None:
    """Return the text of the file; None if there is no file."""
    found = read_marked(path)
    return None if found is None else found[1]


def read_marked(path: Path) -> tuple[str, str] | None:
    """Return the byte order mark, which may be empty, and the text; None if there is no file."""
    shown = shown_path(path)
    raw = read_user_file(path, MAX_BYTES)
    if raw is None:
        return None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{shown} is larger than {MAX_BYTES:,} bytes", hint="this bound is fixed")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{shown}, line {line}: this is not UTF-8", hint="save the file as UTF-8") from None
    return (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)


#: Hints for files that people write.
_MERGED = "keep one of the two sides, or both, and remove the lines with <<<<<<<, ======= and >>>>>>>"
_MISTYPED = "the file is TOML: https://toml.io"


def parse(text: str, shown: str, *, merged: str = _MERGED, mistyped: str = _MISTYPED) -> TomlTable:
    """Parse ``text`` as a table; ``shown`` names the file in errors, whose hints are ``merged`` and ``mistyped``."""
    marker = _MERGE_MARKER.search(text)
    if marker is not None:
        line = text.count("\n", 0, marker.start()) + 1
        raise ConfigError(
            f"{shown}, line {line}: there is a conflict of a merge that nobody has resolved",
            hint=merged,
        )
    _refuse_endless_keys(text, shown)
    try:
        return TomlTable(file=shown, name="", values=tomllib.loads(text))
    except RecursionError:
        raise ConfigError(f"{shown} is nested too deeply") from None
    except ValueError as error:  # not only TOMLDecodeError: a number of 5,000 digits is a plain ValueError
        raise _syntax(str(error), shown, mistyped) from None


def _refuse_endless_keys(text: str, shown: str) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_DOTS and any(part.count(".") > _MOST_DOTS for part in line.split("=")):
            raise ConfigError(f"{shown}, line {number}: more than {_MOST_DOTS} dots in one key or value")


def _syntax(said: str, shown: str, hint: str) -> ConfigError:
    match = _WHERE.fullmatch(said)
    place = f", line {match['line']}, column {match['column']}" if match else ""
    what = match["what"] if match else said
    return ConfigError(f"{shown}{place}: {printable(redact(what[:1].lower() + what[1:]))}", hint=hint)


@valueclass(kw_only=False, frozen=False)
class TomlTable:
    """One table of a file. ``name`` is the text in its brackets, or empty for the file itself."""

    file: str
    name: str
    values: Mapping[str, Any]
    #: The keys that were asked for, in order; no others may be there.
    _known: dict[str, None] = field(default_factory=dict)
    #: The line in which it begins, if that is known.
    line: int | None = None

    @property
    def where(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: [{self.name}]" if self.name else place

    def refuse(self, key: str, what: str, hint: str | None = None) -> NoReturn:
        raise ConfigError(f"{self.where}: {key} {what}" if key else f"{self.where}: {what}", hint=hint)

    def has(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str) -> str | None:
        """Return a string that is neither empty nor unprintable; None without the key."""
        value = self._value(key, str, "a string")
        if value is None:
            return None
        if not value or not value.isprintable():
            self.refuse(key, "is empty" if not value else "has characters that cannot be seen")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of strings as :meth:`text` returns one; None without the key."""
        values = self._value(key, list, 'a list of strings, as in ["…", "…"]')
        if values is None:
            return None
        if not all(isinstance(value, str) and value and value.isprintable() for value in values):
            self.refuse(key, "is not a list of strings that can be seen")
        return tuple(values)

    def required(self, key: str) -> str:
        """Return a string as :meth:`text` does; raise without the key."""
        value = self.text(key)
        if value is None:
            self.refuse("", f"there is no {key}")
        return value

    def flag(self, key: str) -> bool:
        return bool(self._value(key, bool, "true or false"))

    def number(self, key: str) -> int | None:
        """Return a number that is not negative; None without the key."""
        value = self._value(key, int, "a whole number")
        if value is not None and (isinstance(value, bool) or value < 0):
            self.refuse(key, "is not a whole number")
        return value

    def table(self, key: str) -> TomlTable:
        """Return the table under ``key``; an empty one without the key."""
        values = self._value(key, dict, f"a table: write [{self._below(key)}]")
        return TomlTable(self.file, self._below(key), values or {})

    def tables(self, key: str) -> tuple[TomlTable, ...]:
        """Return the tables of an array, ``[[key]]``."""
        values = self._value(key, list, f"a list of tables: write [[{key}]]")
        if values is None:
            return ()
        if not all(isinstance(value, dict) for value in values):
            self.refuse(key, f"is not a list of tables: write [[{key}]]")
        return tuple(TomlTable(self.file, self._below(key), value) for value in values)

    def entries(self) -> Iterator[tuple[str, TomlTable]]:
        """Yield each key with the table under it, for a table whose keys are names that people choose."""
        for key in self.values:
            yield key, self.table(key)

    def strings(self) -> Iterator[tuple[str, str]]:
        """Yield each key with the string under it."""
        for key in self.values:
            yield key, self.required(key)

    def checked(self, key: str, parse: Callable[[str], T]) -> T | None:
        """Return a string as converted by ``parse``, with the table and key put into its ``ConfigError``."""
        value = self.text(key)
        if value is None:
            return None
        try:
            return parse(value)
        except ConfigError as error:
            raise ConfigError(f"{self.where}: {key}: {error.message}", hint=error.hint) from error.__cause__

    def finish(self, *also: str) -> None:
        """Refuse keys that were not asked for."""
        known = [*self._known, *also]
        for key in self.values:
            if key not in known:
                shown = printable(redact_address(key), 80)
                self.refuse("", f"there is no key {shown!r} here", nearest_hint(key, known))

    def _value(self, key: str, kind: type[T], what: str) -> T | None:
        self._known[key] = None
        value = self.values.get(key)
        if value is not None and not isinstance(value, kind):
            self.refuse(printable(key, 80), f"is not {what}")
        return value

    def _below(self, key: str) -> str:
        spelled = toml_key(key)
        return f"{self.name}.{spelled}" if self.name else spelled


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def toml_key(key: str) -> str:
    """Return ``key`` for a header or an assignment: bare, or quoted and made printable."""
    return key if _BARE_KEY.fullmatch(key) else f'"{printable(redact_address(key), 80)}"'


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the most similar known name, or all of them."""
    known = list(known)
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"known: {', '.join(known)}" if known else "nothing can stand here"


def toml_string(text: str) -> str:
    """Return ``text`` as a basic string of TOML."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"
