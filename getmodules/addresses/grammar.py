"""Parse addresses by a grammar that is the same for every scheme: pure string work.

::

    source = [ force "::" ] body [ "//" subdir ] [ "?" query ]

:func:`parse` splits what the user typed, before anything is known about schemes; a body that is URL-like
is judged by :mod:`getmodules.addresses.url`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote_to_bytes

from getmodules.addresses.types import Argument, Arguments, SourceAddress
from getmodules.addresses.url import BAD_ESCAPE, CHARACTER_HINTS, SCHEME, URL, leads_out
from getmodules.errors import AddressError, UnsafeContentError
from getmodules.util.redact import printable, redact_address

#: Long enough for an RSA key in ``sshkey=``.
MAX_LENGTH = 16_384

_FORCE = re.compile(rf"({SCHEME})::(.*)", re.DOTALL)


def parse(text: str) -> SourceAddress:
    """Split ``text`` into its parts. Raises :class:`AddressError` for what can't be an address in any scheme."""
    _check_characters(text)
    force, body = _split_force(text)
    rest, question, query = body.partition("?")
    package, subdir = _split_subdir(rest)
    if not package:
        raise AddressError("there is no package in this address", address=redact_address(text))
    return SourceAddress(
        force=force,
        body=package,
        subdir=clean_subdir(subdir),
        arguments=parse_query(query) if question else Arguments(),
    )


def is_url_like(body: str) -> bool:
    return URL.match(body) is not None


def _check_characters(text: str) -> None:
    if not text.strip():
        raise AddressError("the address is empty", hint="is a variable not set?")
    if len(text) > MAX_LENGTH:
        raise AddressError(f"an address of {len(text):,} characters; at most {MAX_LENGTH:,} are allowed")
    if not text.isprintable():
        odd = next(c for c in text if not c.isprintable())
        raise AddressError(
            f"the address has a control or invisible character, {odd!a}", address=printable(redact_address(text))
        )
    if text != text.strip():
        raise AddressError("the address begins or ends with a blank", address=redact_address(text))


def _split_force(text: str) -> tuple[str | None, str]:
    match = _FORCE.fullmatch(text)
    if match is None:
        if text.startswith("::"):
            raise AddressError("there is no getter before '::'", address=redact_address(text))
        return None, text
    force, body = match[1].lower(), match[2]
    if not body:
        raise AddressError(f"there is no address after '{force}::'")
    if _FORCE.fullmatch(body):
        raise AddressError("only one getter can be forced with '::'", address=redact_address(text))
    return force, body


def _split_subdir(rest: str) -> tuple[str, str]:
    scheme_end = rest.find("://")
    start = scheme_end + 3 if scheme_end >= 0 else 0
    cut = rest.find("//", start)
    return (rest, "") if cut < 0 else (rest[:cut], rest[cut + 2 :])


def clean_subdir(typed: str) -> str:
    """Return a subdirectory as it is used and compared: escapes resolved, ``a//b`` and ``a/./b/`` as ``a/b``."""
    if not typed:
        return ""
    if "#" in typed:
        raise _bad_subdir(typed, "has a fragment (#…)", CHARACTER_HINTS["#"])
    text = _decode(typed, "the subdirectory")
    if "\\" in text:
        parts = re.split(r"[/\\]", text)
        if ".." not in parts:
            raise _bad_subdir(typed, "has a backslash", "directories are separated by '/'")
    if leads_out(text):
        raise _bad_subdir(typed, "has '..' in it", "name the directory by its path from the package's root")
    if text.startswith("/"):
        raise _bad_subdir(typed, "is absolute", "a subdirectory is written after '//', without a further '/'")
    return "/".join(part for part in text.split("/") if part not in ("", "."))


def _bad_subdir(typed: str, what: str, hint: str) -> AddressError:
    return AddressError(f"the subdirectory {printable(typed)!r} {what}", hint=hint)


def join_subdirs(outer: str, inner: str) -> str:
    return f"{outer}/{inner}" if outer and inner else outer or inner


#: A constraint is typed as it stands in a module block: ``version=~> 1.2``.
_WITH_BLANKS = frozenset({"version"})


def parse_query(query: str) -> Arguments:
    """Parse arguments in the order and spelling in which they were typed; ``+`` is a plus."""
    arguments: list[Argument] = []
    for pair in query.split("&") if query else ():
        typed_name, equals, typed_value = pair.partition("=")
        if not typed_name:
            raise AddressError("there is an argument without a name in the query")
        if ";" in pair:
            raise AddressError(
                f"the argument {printable(typed_name)!r} has a ';'",
                hint="arguments are separated by '&'; a ';' in a value is written %3B",
            )
        if "#" in pair:
            raise AddressError(f"the argument {printable(typed_name)!r} has a fragment (#…)", hint=CHARACTER_HINTS["#"])
        if " " in pair and typed_name not in _WITH_BLANKS:
            raise AddressError(
                f"the argument {printable(typed_name)!r} has a blank", hint="a blank in a value is written %20"
            )
        name = _decode(typed_name, "an argument's name", strict=True)
        value = _decode(typed_value, f"the argument {printable(name)!r}", strict=True)
        typed = pair.replace(" ", "%20") if equals else typed_name
        arguments.append(Argument(name, value, _ascii(typed)))
    return merge_arguments(arguments)


def merge_arguments(*groups: Iterable[Argument]) -> Arguments:
    """Join all arguments as one query; refuse one that is there twice, which readers would understand differently."""
    merged: dict[str, Argument] = {}
    for group in groups:
        for argument in group:
            if argument.name in merged:
                raise AddressError(f"the argument {printable(argument.name)!r} is there twice", hint="leave one out")
            merged[argument.name] = argument
    return Arguments(tuple(merged.values()))


def _decode(text: str, what: str, *, strict: bool = False) -> str:
    if strict and BAD_ESCAPE.search(text):
        raise AddressError(f"{what} has a '%' that is no escape", hint="a literal percent sign is written %25")
    try:
        decoded = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise AddressError(f"{what} has escapes that are not UTF-8") from None
    if not decoded.isprintable():
        raise AddressError(f"{what} has a control or invisible character")
    return decoded


def _ascii(text: str) -> str:
    return text if text.isascii() else "".join(c if c.isascii() else quote(c) for c in text)


def unusable(location: str, error: AddressError) -> UnsafeContentError:
    """Return the error for something that a server named, and that is not an address."""
    return UnsafeContentError(
        f"the server sent us on to an address that cannot be used: {error.message}",
        part="elsewhere",
        address=printable(redact_address(location), 500),
    )
