"""Keep small records, by a key that is never written down: it may be an address with a password.

``pins`` say what an immutable address brought, ``refs`` what a mutable one meant. A record that cannot be read counts
as missing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from getmodules.cache.location import listing, move_into_cache
from getmodules.errors import FetchError
from getmodules.files.local import read_file
from getmodules.util import strict_json as strictjson
from getmodules.util.digest import Digest
from getmodules.util.strict_json import StrictJsonError, optional, required, string, table_of
from getmodules.util.values import field, valueclass

T = TypeVar("T")
#: A proof of the largest size, as text, with space to spare for all else.
_LARGEST = 8 << 20
#: The end of the year 9999.
_LATEST = 253_402_300_799
#: The largest proof that is kept: an OCI manifest may be of 4 MiB.
PROOF_BYTES = 5 << 20
_PINS, _REFS = "records/pins", "records/refs"
_WHAT = "a record of the cache"
_log = logging.getLogger("getmodules")
_encode = json.JSONEncoder(sort_keys=True).encode


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@valueclass
class RecordedBlob:
    """A blob in the cache, and what its source said of it when it was fetched."""

    digest: Digest
    key: str = "archive"
    name: str | None = None
    media_type: str | None = None
    format: str | None = None


@valueclass
class PinRecord:
    """The package of an immutable address. Without ``brought``, the getter finds the bytes by their digests."""

    id: str | None
    digests: Mapping[str, str] = field(default_factory=_nothing)
    #: A getter's, where it is bytes. The getter itself compares them with ``id``.
    proof: bytes | None = None
    brought: RecordedBlob | None = None


@valueclass
class RefRecord:
    """The package that a mutable address meant at ``time`` (seconds since 1970)."""

    #: The pinned address, subdirectory included, exact.
    address: str
    time: int
    #: The headers that ask the source whether this still holds.
    validator: Mapping[str, str] = field(default_factory=_nothing)


class Records:
    """The records of a cache. Reading never fails; writing raises ``OSError``."""

    def __init__(self, root: Path, fresh: Callable[[], Path]) -> None:
        self._root = root
        self._fresh = fresh

    def pin(self, address: str) -> PinRecord | None:
        value = _read(self._root, _name(_PINS, address), address)
        return None if value is None else _reading(_pin_record, value)

    def ref(self, address: str) -> RefRecord | None:
        value = _read(self._root, _name(_REFS, address), address)
        return None if value is None else _reading(_ref_record, value)

    def keep_pin(self, address: str, record: PinRecord) -> None:
        brought = record.brought and {
            "digest": str(record.brought.digest),
            "key": record.brought.key,
            "name": record.brought.name,
            "media_type": record.brought.media_type,
            "format": record.brought.format,
        }
        proof = None if record.proof is None else base64.b64encode(record.proof).decode()
        value = {"id": record.id, "digests": dict(record.digests), "proof": proof, "brought": brought}
        self._write(_name(_PINS, address), address, value)

    def keep_ref(self, address: str, record: RefRecord) -> None:
        value = {"address": record.address, "time": record.time, "validator": dict(record.validator)}
        self._write(_name(_REFS, address), address, value)

    def _write(self, name: str, address: str, value: Mapping[str, Any]) -> None:
        fresh = self._fresh()
        whole = {"key": _key(address), "sum": _sum(value), "record": value}
        fresh.write_bytes(_encode(whole).encode())
        move_into_cache(self._root, name, fresh)

    def files(self) -> Iterator[Path]:
        for kind in (_PINS, _REFS):
            for prefix in listing(self._root, kind):
                for name in listing(self._root, f"{kind}/{prefix}"):
                    yield self._root / kind / prefix / name


def now() -> int:
    return int(time.time())


def _key(address: str) -> str:
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def _name(kind: str, address: str) -> str:
    key = _key(address)
    return f"{kind}/{key[:2]}/{key}"


def _sum(value: Mapping[str, Any]) -> str:
    """Return a checksum of a record, against failing disks. The digests protect against attackers."""
    return _key(_encode(value))


def _read(root: Path, name: str, address: str) -> dict[str, Any] | None:
    path = root / name
    if not os.path.lexists(path):  # most of those that are looked for, when something is fetched
        return None
    try:
        whole = strictjson.mapping(strictjson.loads(_bytes_of(path, root), _WHAT, _LARGEST), _WHAT)
        value = required(whole, "record", strictjson.mapping, _WHAT)
        if whole.get("key") != _key(address) or whole.get("sum") != _sum(value):
            raise StrictJsonError(f"{_WHAT} is another one's, or damaged")
    except FetchError:
        return None
    except StrictJsonError as error:
        _log.debug("a record is of no use: %s", error)
        return None
    with suppress(OSError):  # what is used stays when the cache is pruned
        os.utime(path)
    return value


def _bytes_of(path: Path, root: Path) -> bytes:
    """Read at most one byte more than a record may have, which is then refused."""
    content = bytearray()
    with closing(read_file(path, root)) as chunks:
        for chunk in chunks:
            content += chunk
            if len(content) > _LARGEST:
                break
    return bytes(content)


def _reading(parse: Callable[[dict[str, Any]], T], value: dict[str, Any]) -> T | None:
    try:
        return parse(value)
    except (StrictJsonError, ValueError) as error:
        _log.debug("a record is of no use: %s", error)
        return None


def _pin_record(value: dict[str, Any]) -> PinRecord:
    proof = optional(value, "proof", string, _WHAT)
    brought = optional(value, "brought", strictjson.mapping, _WHAT)
    return PinRecord(
        id=optional(value, "id", string, _WHAT),
        digests=_printable(required(value, "digests", table_of(string), _WHAT)),
        proof=None if proof is None else base64.b64decode(proof, validate=True),
        brought=None if brought is None else _brought(brought),
    )


def _brought(value: dict[str, Any]) -> RecordedBlob:
    return RecordedBlob(
        digest=Digest.parse(required(value, "digest", string, _WHAT)),
        key=required(value, "key", string, _WHAT),
        name=optional(value, "name", string, _WHAT),
        media_type=optional(value, "media_type", string, _WHAT),
        format=optional(value, "format", string, _WHAT),
    )


def _ref_record(value: dict[str, Any]) -> RefRecord:
    return RefRecord(
        address=required(value, "address", string, _WHAT),
        time=_time(required(value, "time", strictjson.size, _WHAT)),
        validator=_printable(required(value, "validator", table_of(string), _WHAT)),
    )


def _time(seconds: int) -> int:
    if seconds > _LATEST:
        raise StrictJsonError(f"{_WHAT} is of a time that no calendar has")
    return seconds


def _printable(texts: dict[str, str]) -> dict[str, str]:
    """Check a text that is shown, or sent in headers."""
    if not all(text.isprintable() for pair in texts.items() for text in pair):
        raise StrictJsonError(f"{_WHAT} has characters that cannot be seen")
    return texts
