"""Check that values of plugins are what their annotations say: a plugin need not be type-checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

from getmodules.addresses.grammar import parse, parse_query
from getmodules.addresses.types import Argument, PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.model import Demand, Gate
from getmodules.errors import AddressError
from getmodules.util.digest import Digest

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


def is_sound_blob(blob: Any) -> bool:
    return (
        (blob.size is None or (type(blob.size) is int and blob.size >= 0))
        and isinstance(blob.digests, tuple)
        and all(isinstance(digest, Digest) for digest in blob.digests)
        and all(text is None or isinstance(text, str) for text in (blob.name, blob.media_type, blob.format))
        and isinstance(blob.key, str)
        and _is_sound_validator(blob.validator)
        and (blob.rest is None or callable(blob.rest))
    )


def _is_sound_validator(validator: Any) -> bool:
    """Return whether a validator is small and plain: it is stored, and returned to the getter in a later run."""
    return (
        type(validator) in (dict, MappingProxyType)
        and len(validator) <= _VALIDATOR_PAIRS
        and all(type(text) is str and text.isprintable() for pair in validator.items() for text in pair)
        and sum(len(text) for pair in validator.items() for text in pair) <= _VALIDATOR_LENGTH
    )


def is_sound_demand(demand: Any) -> bool:
    if not isinstance(demand, Demand) or not isinstance(demand.gate, Gate):
        return False
    texts: tuple[object, ...] = (demand.check, demand.value, demand.by)
    if not all(isinstance(text, str) for text in texts) or not isinstance(demand.hint, str | None):
        return False
    if demand.gate is Gate.ADDRESS:  # nobody looks for demands there: one would seem to hold
        return False
    try:
        return demand.gate is not Gate.BYTES or bool(Digest.parse(demand.value, weak=True))
    except ValueError:
        return False


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
