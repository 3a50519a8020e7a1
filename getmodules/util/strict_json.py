"""Parse JSON from outside strictly: refuse what two readers could read differently, or what is too large or deep.

:func:`loads` parses; the checks (:func:`mapping`, :func:`string`, :func:`integer`, …) narrow what came out, one
value at a time, and say where in the document they are::

    document = mapping(loads(body, "the manifest", 4 * MIB), "the manifest")
    kind = required(document, "artifactType", string, "the manifest")
    notes = optional(document, "annotations", table_of(string), "the manifest") or {}

Everything that is wrong is a :class:`StrictJsonError`. Its message never shows a value of the document, which may
be a secret; the caller makes it an error of its own that says what to do next.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar

from getmodules.util.redact import printable

T = TypeVar("T")
#: Returns the value it was given, narrowed, or raises; the text says where the value stands.
Check = Callable[[Any, str], T]

#: Deeper than any document of the protocols, shallow enough for every recursive reader.
DEPTH: Final = 64
#: Well above what 8 MiB of tags come to. A value of two bytes of text may take a hundred and more of memory.
VALUES: Final = 400_000
#: What a signed 64-bit reader holds; Python alone would go on, in quadratic time.
_LARGEST = 2**63 - 1
_DIGITS = 20

# The closing quote is optional so that a string without one is consumed once, not once more for each quote in it.
_STRING_OR_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]},]', re.DOTALL)


class StrictJsonError(ValueError):
    """The message is a sentence that begins with what the document is."""


def loads(data: bytes, what: str, limit: int) -> Any:
    """Parse a whole document of at most ``limit`` bytes of UTF-8; ``what`` names it in messages."""
    if len(data) > limit:
        raise StrictJsonError(f"{what} has {len(data):,} bytes, more than the {limit:,} that it may have")
    problem = "it is not UTF-8"
    try:
        text = data.decode("utf-8")
        if text.startswith("\ufeff"):
            raise _RefusedError("it begins with a BOM (byte order mark)")
        _check_shape(text)
        value = _decode(text)
        if "\\ud" in text.lower():  # half of a surrogate pair: a string that nothing can write out again
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except _RefusedError as error:
        problem = str(error)
    except UnicodeError:
        pass  # as ``problem`` says
    # Raised out here, where no exception that carries the whole document hangs on as the context.
    raise StrictJsonError(f"{what} is not usable JSON: {problem}")


class _RefusedError(Exception):
    """A document is well formed, and refused all the same."""


def _check_shape(text: str) -> None:
    """Check depth and number of values, before any of them is made."""
    brackets = text.count("[") + text.count("{")
    if brackets <= DEPTH and brackets + text.count(",") < VALUES:
        return
    depth = 0
    values = 1
    for token in _STRING_OR_MARK.finditer(text):
        start = text[token.start()]
        if start in "[{":
            depth += 1
            if depth > DEPTH:
                raise _RefusedError(f"nested more than {DEPTH} deep")
        elif start in "]}":
            depth -= 1
        # One value more behind each comma, and one in each bracket, if only an empty one.
        values += start in "[{,"
        if values > VALUES:
            raise _RefusedError(f"more than {VALUES:,} values")


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _RefusedError(f"the name {printable(name, 80)!r} stands twice in one object")
            seen.add(name)
    return members


def _refuse_constant(constant: str) -> NoReturn:
    raise _RefusedError(f"{constant} is not a number of JSON")


def _bounded_integer(digits: str) -> int:
    if len(digits) > _DIGITS or abs(value := int(digits)) > _LARGEST:
        raise _RefusedError("a number is larger than 64 bits hold")
    return value


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _RefusedError("a number is larger than 64 bits hold")
    return value


#: Made once: to make it takes as long as to read a small document.
_decode = json.JSONDecoder(
    object_pairs_hook=_unique_names,
    parse_constant=_refuse_constant,
    parse_int=_bounded_integer,
    parse_float=_finite_float,
).decode


# ------------------------------------------------------------------------------------------------- the checks


def mapping(value: Any, what: str) -> dict[str, Any]:
    return value if isinstance(value, dict) else _wrong(value, what, "an object")


def array(value: Any, what: str) -> list[Any]:
    return value if isinstance(value, list) else _wrong(value, what, "an array")


def string(value: Any, what: str) -> str:
    return value if isinstance(value, str) else _wrong(value, what, "a string")


def integer(value: Any, what: str) -> int:
    # bool is an int to Python, and 1.0 an integer to some readers only.
    return value if isinstance(value, int) and not isinstance(value, bool) else _wrong(value, what, "a whole number")


def size(value: Any, what: str) -> int:
    """Check a number of bytes or seconds: whole and not negative."""
    number = integer(value, what)
    if number < 0:
        raise StrictJsonError(f"{what} must not be negative")
    return number


def array_of(check: Check[T]) -> Check[list[T]]:
    def check_each(value: Any, what: str) -> list[T]:
        return [check(item, f"{what}[{index}]") for index, item in enumerate(array(value, what))]

    return check_each


def table_of(check: Check[T]) -> Check[dict[str, T]]:
    """Return a check of objects whose names are data (annotations, hosts) and whose values are all of one kind."""

    def check_each(value: Any, what: str) -> dict[str, T]:
        return {name: check(item, _member(what, name)) for name, item in mapping(value, what).items()}

    return check_each


def required(owner: Mapping[str, Any], name: str, check: Check[T], what: str) -> T:
    """Return the member ``name`` of an object that ``what`` describes."""
    if name not in owner:
        raise StrictJsonError(f"{what} has no {name!r}")
    return check(owner[name], _member(what, name))


def optional(owner: Mapping[str, Any], name: str, check: Check[T], what: str) -> T | None:
    """Return the member ``name``, or ``None`` where it is absent, or ``null`` as many writers put it."""
    value = owner.get(name)
    return None if value is None else check(value, _member(what, name))


def _member(what: str, name: str) -> str:
    return f"{what}: {printable(name, 80)!r}"


_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}


def _wrong(value: Any, what: str, wanted: str) -> NoReturn:
    raise StrictJsonError(f"{what} must be {wanted}, not {_KINDS.get(type(value), 'a number')}")
