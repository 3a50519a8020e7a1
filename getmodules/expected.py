"""What ``checksum=`` expects, also where it only says in which file to look."""

from __future__ import annotations

from getmodules.addresses.core_arguments import parse_checksum
from getmodules.addresses.types import Arguments
from getmodules.api.limits import MIB
from getmodules.api.model import Blob, Elsewhere, Shape
from getmodules.api.ports import Context
from getmodules.checksums import checksum_for
from getmodules.detection import detect
from getmodules.errors import AddressError, GetModulesError, UnsupportedContentError
from getmodules.journey import Journey, resolve
from getmodules.plugins.catalog import Catalog
from getmodules.spool import read_small
from getmodules.util.digest import Digest
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import replace

CHECKSUM_FILE_BYTES = MIB


def expected_checksum(journey: Journey, catalog: Catalog, context: Context) -> Digest | None:
    """The digest that the address of ``journey`` demands, if any."""
    return _look_up(journey.package.arguments, journey, catalog, context)


def servers_checksums(journey: Journey, catalog: Catalog, context: Context) -> tuple[Digest, ...]:
    """The digests that servers on the way demanded besides."""
    found = (_look_up(arguments, journey, catalog, context) for arguments in journey.more_checksums)
    return tuple(digest for digest in found if digest is not None)


def _look_up(arguments: Arguments, journey: Journey, catalog: Catalog, context: Context) -> Digest | None:
    checksum = parse_checksum(arguments)
    if not isinstance(checksum, str):
        return checksum
    # After a hop it may be a server that named the file: it leads no further in than the server may.
    start = Journey(
        package=detect(checksum, catalog).address.package, check_address=journey.check_address, home=journey.home
    )
    try:
        return checksum_for(_fetch_text(start, catalog, context), journey.file_name)
    except GetModulesError as error:
        # It may be on another server than the package, and fail in the same words.
        error.within(f"the checksum file {printable(redact_address(checksum))!r}")
        raise


def _fetch_text(journey: Journey, catalog: Catalog, context: Context) -> str:
    while True:
        journey, pin = resolve(journey, catalog, context)
        here = replace(journey.context(context, catalog), shape=Shape.FILE)
        with journey.told():
            fetched = journey.getter(catalog).fetch(pin, (), here)
        if isinstance(fetched, Elsewhere):
            journey = journey.onward(fetched, catalog)
            continue
        if not isinstance(fetched, Blob):
            raise AddressError("it is a directory", hint="checksum=file: names one file")
        try:
            with journey.told():
                return read_small(fetched, CHECKSUM_FILE_BYTES, context).decode("utf-8")
        except UnicodeDecodeError:
            raise UnsupportedContentError("it is not text") from None
