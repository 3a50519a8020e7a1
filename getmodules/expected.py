"""What ``checksum=`` expects, also where it only says in which file to look."""

from __future__ import annotations

from getmodules.catalog import Catalog
from getmodules.checksums import checksum_for
from getmodules.detection import detect
from getmodules.digest import Digest
from getmodules.errors import AddressError, UnsupportedContentError
from getmodules.journey import Journey, resolve
from getmodules.limits import MIB
from getmodules.model import Arguments, Blob, Elsewhere
from getmodules.ports import Context
from getmodules.redact import printable, redact_address
from getmodules.spool import read_small
from getmodules.treatment import parse_checksum

CHECKSUM_FILE_BYTES = MIB


def expected_checksum(journey: Journey, catalog: Catalog, context: Context) -> Digest | None:
    """The digest that the address of ``journey`` demands, if any."""
    return _look_up(journey.package.arguments, journey.file_name, catalog, context)


def servers_checksums(journey: Journey, catalog: Catalog, context: Context) -> tuple[Digest, ...]:
    """The digests that servers on the way demanded besides."""
    found = (_look_up(arguments, journey.file_name, catalog, context) for arguments in journey.more_checksums)
    return tuple(digest for digest in found if digest is not None)


def _look_up(arguments: Arguments, file_name: str, catalog: Catalog, context: Context) -> Digest | None:
    checksum = parse_checksum(arguments)
    if not isinstance(checksum, str):
        return checksum
    text = _fetch_text(checksum, catalog, context)
    return checksum_for(text, file_name)


def _fetch_text(source: str, catalog: Catalog, context: Context) -> str:
    journey = Journey(package=detect(source, catalog).address.package)
    while True:
        journey, pin = resolve(journey, catalog, context)
        fetched = journey.getter(catalog).fetch(pin, (), context)
        if isinstance(fetched, Elsewhere):
            journey = journey.onward(fetched, catalog)
            continue
        shown = printable(redact_address(source))
        if not isinstance(fetched, Blob):
            raise AddressError(f"the checksum file {shown!r} is a directory", hint="checksum=file: names one file")
        try:
            return read_small(fetched, CHECKSUM_FILE_BYTES, context).decode("utf-8")
        except UnicodeDecodeError:
            raise UnsupportedContentError(f"the checksum file {shown!r} is not text") from None
