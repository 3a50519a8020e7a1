"""Whether values that a plugin made are what their annotations say: a plugin need not be type-checked."""

from __future__ import annotations

from typing import Any

from getmodules.address import check_url, parse, parse_query
from getmodules.digest import Digest
from getmodules.errors import AddressError
from getmodules.model import Argument, Demand, Gate, PackageAddress


def is_url(text: str) -> bool:
    """Whether ``text`` is a URL and nothing else, that reads back as what it is."""
    try:
        check_url(text)
        address = parse(text)
    except AddressError:
        return False
    return address.body == text and not address.subdir and not address.arguments


def reads_back(package: PackageAddress) -> bool:
    """Whether the arguments are what their typed spelling says: what is shown must mean what was checked."""
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
    )


def is_sound_demand(demand: Any) -> bool:
    if not isinstance(demand, Demand) or not isinstance(demand.gate, Gate):
        return False
    texts: tuple[object, ...] = (demand.check, demand.value, demand.by)
    if not all(isinstance(text, str) for text in texts):
        return False
    try:
        return demand.gate is not Gate.BYTES or bool(Digest.parse(demand.value, weak=True))
    except ValueError:
        return False
