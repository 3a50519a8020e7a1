"""Check that values of plugins are what their annotations say: a plugin need not be type-checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

from getmodules.addresses.grammar import parse, parse_query
from getmodules.addresses.types import Argument, Arguments, PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.model import Demand, Gate, Kind, Member
from getmodules.errors import AddressError
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

#: The bounds of a validator: an entity tag, a time.
_VALIDATOR_PAIRS, _VALIDATOR_LENGTH = 8, 4_096


def is_url(text: str) -> bool:
    """Return whether ``text`` is a URL and nothing else, and parses to itself."""
    try:
        check_url(text)
        address = parse(text)
    except AddressError:
        return False
    return address.body == text and not address.subdir and not address.arguments


def reads_back(package: PackageAddress) -> bool:
    """Return whether the arguments parse to themselves: what is shown must mean what was checked."""
    arguments = package.arguments.items_typed
    if type(arguments) is not tuple or not all(type(each) is Argument for each in arguments):
        return False
    if not all(type(text) is str for each in arguments for text in each):
        return False
    try:
        return parse_query(package.arguments.query).items_typed == arguments
    except AddressError:
        return False


def wrong_blob(blob: Any) -> str | None:
    """Return which argument of a Blob is wrong, as the end of a sentence; None if all are as they are annotated."""
    size, digests, rest = blob.size, blob.digests, blob.rest
    if size is not None and (type(size) is not int or size < 0):
        return wrong("size", size, "int, or None") if type(size) is not int else "size is negative"
    if not isinstance(digests, tuple):
        return wrong("digests", digests, "tuple of Digest")
    for digest in digests:
        if not isinstance(digest, Digest):
            return wrong("digests", (digest,), "tuple of Digest")
    for name in ("name", "media_type", "format"):
        if not isinstance(getattr(blob, name), str | None):
            return wrong(name, getattr(blob, name), "str, or None")
    if not isinstance(blob.key, str):
        return wrong("key", blob.key, "str")
    if rest is not None and not callable(rest):
        return wrong("rest", rest, "function, or None")
    return _wrong_validator(blob.validator)


def _wrong_validator(validator: Any) -> str | None:
    """Return what is wrong with a validator: small and plain, it is stored, and returned to the getter later."""
    if type(validator) not in (dict, MappingProxyType):
        return wrong("validator", validator, "dict of str to str")
    texts = [text for pair in validator.items() for text in pair]
    for text in texts:
        if type(text) is not str:
            return wrong("validator", validator, "dict of str to str")
        if not text.isprintable():
            return "validator has text that is not printable"
    if len(validator) > _VALIDATOR_PAIRS or sum(map(len, texts)) > _VALIDATOR_LENGTH:
        return f"validator is more than {_VALIDATOR_PAIRS} pairs, or {_VALIDATOR_LENGTH:,} characters"
    return None


def wrong_elsewhere(elsewhere: Any) -> str | None:
    """Return which argument of an Elsewhere is wrong, as the end of a sentence."""
    if not isinstance(elsewhere.address, str):
        return wrong("address", elsewhere.address, "str")
    if elsewhere.check_address is not None and not callable(elsewhere.check_address):
        return wrong("check_address", elsewhere.check_address, "function, or None")
    return None


def wrong_member(member: Any) -> str | None:
    """Return which argument of a Member is wrong, as the end of a sentence; None if all are as they are annotated."""
    if type(member) is not Member:
        return f"{type_of(member)}, not Member"
    if len(member) != len(Member._fields):
        return "a Member without all its arguments"
    values: tuple[Any, ...] = member
    name, kind, size, executable, opener, target = values
    for argument, value, kind_of_value in (
        ("name", name, str), ("kind", kind, Kind), ("executable", executable, bool), ("target", target, str),
    ):  # fmt: skip
        if type(value) is not kind_of_value:
            return f"a Member whose {wrong(argument, value, kind_of_value.__name__)}"
    if size is not None and type(size) is not int:
        return f"a Member whose {wrong('size', size, 'int, or None')}"
    if size is not None and size < 0:
        return "a Member whose size is negative"
    return None if callable(opener) else f"a Member whose {wrong('open', opener, 'function')}"


def wrong_package(package: Any) -> str | None:
    """Return what is wrong with a package, as the end of a sentence that begins with what it belongs to."""
    if type(package) is not PackageAddress:
        return wrong("package", package, "PackageAddress")
    fields: dict[str, Any] = {name: getattr(package, name) for name in ("getter", "url", "arguments", "forced")}
    for name, expected in (("getter", str), ("url", str), ("arguments", Arguments), ("forced", bool)):
        if type(fields[name]) is not expected:
            way = ": package.arguments.with_value(NAME, VALUE) makes them" if expected is Arguments else ""
            return f"package.{wrong(name, fields[name], expected.__name__)}{way}"
    return None


def wrong(argument: str, value: object, expected: str) -> str:
    """Return the words for an argument of a wrong type."""
    return f"{argument} is {type_of(value)}, not {expected}"


def type_of(value: Any) -> str:
    """Return the type of a value, for the author of a plugin; of a class, that it is one."""
    if isinstance(value, type):
        return f"the class {printable(value.__name__)}"
    if type(value) in (tuple, list) and value:
        return f"{type(value).__name__} of {printable(type(value[0]).__name__)}"
    if type(value) is dict and value:
        first, second = next(iter(value.items()))
        return f"dict of {printable(type(first).__name__)} to {printable(type(second).__name__)}"
    return printable(type(value).__name__)


def wrong_demand(demand: Any) -> str | None:
    """Return what is wrong with a demand, as the end of a sentence; None if it can be judged."""
    if not isinstance(demand, Demand):
        return f"{type_of(demand)}, not Demand"
    for name, expected in (("gate", Gate), ("check", str), ("value", str), ("by", str)):
        if not isinstance(value := getattr(demand, name), expected):
            return f"a Demand whose {wrong(name, value, expected.__name__)}"
    if not isinstance(hint := getattr(demand, "hint"), str | None):  # noqa: B009 -- nobody has checked its type
        return f"a Demand whose {wrong('hint', hint, 'str, or None')}"
    if demand.gate is Gate.ADDRESS:  # nobody looks for demands there: one would seem to hold
        return "a Demand at Gate.ADDRESS, where none is judged"
    try:
        if demand.gate is Gate.BYTES:
            Digest.parse(demand.value, weak=True)
    except ValueError:
        return "a Demand at Gate.BYTES whose value is no digest, as sha256:…"
    return None


def bounded_names(names: Iterable[Any], checkpoint: Callable[[], None]) -> tuple[str, ...]:
    """Return each name once; refuse a list without an end."""
    found: dict[str, None] = {}
    remembered = 0
    for name in names:
        checkpoint()
        if type(name) is not str:
            raise TypeError(f"a name is a string, not {type(name).__name__}")
        remembered += len(name) + 100
        if remembered > METADATA_BYTES:
            raise metadata_exceeded("the list of versions")
        found[name] = None
    return tuple(found)
