"""The cache's part in a package's run: what earlier runs brought takes the place of asking and fetching again.

A record saves a question; it never answers one about trust: bytes are hashed when they are read, and every gate
judges them as if they had just arrived.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType

from getmodules.addresses.core_arguments import parse_checksum
from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.api.model import Archive, Blob, Gate, Pin
from getmodules.cache.records import PROOF_BYTES, PinRecord, RecordedBlob, RefRecord, now
from getmodules.errors import AddressError
from getmodules.pipeline import gates
from getmodules.pipeline.detect import detect, is_local
from getmodules.pipeline.operation import Run
from getmodules.pipeline.resolve import Location, module_address, without_core_arguments
from getmodules.plugins.catalog import Catalog
from getmodules.util.digest import Digest
from getmodules.util.redact import redact_address
from getmodules.util.values import replace, valueclass

_NOTHING: Mapping[str, str] = MappingProxyType({})


@valueclass
class Cached:
    """A pin that needs no resolving, and the package's blob where the cache has it."""

    pin: Pin
    blob: Blob | None = None
    archive: Archive | None = None


def start_location(package: PackageAddress, run: Run) -> Location:
    """Return the location to begin at: offline, the one that a mutable address meant when it was last asked."""
    location = Location(package=package, catalog=run.catalog)
    if not run.operation.offline or location.is_local or _is_known(location, run):
        return location
    record = run.cache.ref(str(package))
    target = _target(record, run)
    if record is None or target is None:
        return location
    day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(record.time))
    run.context.notice(f"offline: as it was on {day} UTC, {target.display()}")
    return replace(
        location,
        package=target.package,
        evidence=gates.admit(target.package, run.context),
        subdir=target.subdir,
        demands_on_the_way=location.demands,
        more_checksums=(package.arguments.only("checksum"),) if _checksum(package) else (),
    )


def find_cached(location: Location, run: Run, pin: Pin | None = None) -> Cached | None:
    """Return what the cache has of an immutable address, or of the identity ``pin`` of a mutable one, or None."""
    if location.is_local:
        return None
    if pin is not None and pin.id is not None:
        return _cached(location.pinned(pin), run)
    if not _may_be_pinned(location.package, run.catalog):
        return None
    return _cached(location.package, run) or _cached_by_demand(location, run)


def check_reachable(location: Location, run: Run) -> None:
    """Raise OfflineError where asking needs a connection that may not be made."""
    if run.operation.offline and not location.is_local:
        raise run.cache.missing("the package")


def locked_package(location: Location, pin: Pin, run: Run) -> AbstractContextManager[None]:
    """Keep others from fetching the same package meanwhile."""
    if location.is_local:
        return nullcontext()
    pinned = location.pinned(pin) if pin.id is not None else location.package
    return run.cache.locked(str(pinned), run.context)


class Offer:
    """The blob of an earlier run that a getter is told of, so that it may answer that this still holds."""

    def __init__(self, location: Location, run: Run) -> None:
        self._location = location
        self._run = run
        self._offered: Cached | None = None

    def validator(self, package: PackageAddress) -> Mapping[str, str]:
        """Return what the source of ``package`` gave us to ask with; empty unless we still have what it is about."""
        if package != self._location.for_getter:
            return _NOTHING
        record = self._run.cache.ref(str(self._location.package))
        target = _target(record, self._run)
        if record is None or target is None or not record.validator:
            return _NOTHING
        cached = _cached(target.package, self._run)
        if cached is None or cached.blob is None:
            return _NOTHING
        self._offered = replace(cached, blob=replace(cached.blob, validator=record.validator))
        return record.validator

    def taken(self) -> tuple[Cached, Blob]:
        """Return what was offered, now that the getter says that it still holds."""
        if self._offered is None or self._offered.blob is None:
            guard = self._location.getter.plugin.guard
            raise guard.violation("fetch returned Unchanged, and was offered nothing")
        return self._offered, self._offered.blob


# ------------------------------------------------------------------------------------------------------ keeping


def keep_pin(pinned: PackageAddress, pin: Pin, blob: Blob | None, digest: Digest | None, run: Run) -> None:
    """Keep what an immutable address stands for, so that the next run asks nobody."""
    promised = blob is not None and bool(blob.digests)
    brought = None if blob is None or digest is None or promised else _brought(blob, digest)
    proof: bytes | None = None
    if brought is None and pin.proof is not None:
        if not isinstance(pin.proof, bytes) or len(pin.proof) > PROOF_BYTES:
            return  # nothing that could be handed back to the getter
        proof = pin.proof
    record = PinRecord(id=pin.id, digests=pin.digests, proof=proof, brought=brought)
    run.cache.keep_pin(str(pinned), record)


def keep_meaning(
    asked: PackageAddress, pinned: PackageAddress, subdir: str, run: Run, validator: Mapping[str, str] = _NOTHING
) -> None:
    """Keep what a mutable address means today; not where writing it down would write down a secret."""
    address = str(module_address(pinned, subdir))
    if str(asked) != str(pinned) and redact_address(address) == address:
        run.cache.keep_ref(str(asked), RefRecord(address=address, time=now(), validator=validator))


# ------------------------------------------------------------------------------------------------------ records


def _is_known(location: Location, run: Run) -> bool:
    package = location.package
    known = run.cache.pin(str(package)) is not None and _may_be_pinned(package, run.catalog)
    return known or _demands_identity(package, run.catalog)


def _may_be_pinned(package: PackageAddress, catalog: Catalog) -> bool:
    """Return whether a record may say what ``package`` is.

    Never trust a record for a mutable address (a tag, a branch, a file that anybody may replace), whoever wrote it.
    Where a getter has neither versions nor digests to tell it by, there is only the record.
    """
    getter = catalog.getter(package.getter)
    return (getter.resolves and getter.version_argument is None) or _demands_identity(package, catalog)


def _demands_identity(package: PackageAddress, catalog: Catalog) -> bool:
    """Return whether the address names a digest, of its bytes or of whatever its getter goes by."""
    checksum = _checksum(package)
    return (checksum is not None and not checksum.is_weak) or _names_identity(package, catalog)


def _names_identity(package: PackageAddress, catalog: Catalog) -> bool:
    demands = catalog.getter(package.getter).demands(without_core_arguments(package))
    return any(demand.gate is Gate.PIN for demand in demands)


def _target(record: RefRecord | None, run: Run) -> ModuleAddress | None:
    """Return where a record leads; None where it is of a plugin that is gone, or of what no server may name."""
    if record is None:
        return None
    try:
        address = detect(record.address, run.catalog).address
    except AddressError:
        return None
    return None if is_local(address.package, run.catalog) else address


def _cached_by_demand(location: Location, run: Run) -> Cached | None:
    """Return what a record leads to: an address that demands its identity is as good as pinned, and judges it."""
    if not _demands_identity(location.package, run.catalog):
        return None
    target = _target(run.cache.ref(str(location.package)), run)
    if target is None:
        return None
    gates.admit(target.package, run.context)  # a server may have named it
    return _cached(target.package, run)


def _cached(package: PackageAddress, run: Run) -> Cached | None:
    record = run.cache.pin(str(package))
    if record is None:
        return None
    pin = Pin(package=without_core_arguments(package), id=record.id, digests=record.digests, proof=record.proof)
    if record.brought is not None:
        if _names_identity(package, run.catalog):
            return None  # only the getter can tell that bytes are of an identity; a record cannot
        archive = run.cache.find(record.brought.digest)
        return None if archive is None else Cached(pin=pin, blob=_blob(record.brought, archive), archive=archive)
    return Cached(pin=pin)


def _checksum(package: PackageAddress) -> Digest | None:
    """Return the one that stands in the address; where it names a file, that file is to be asked."""
    checksum = parse_checksum(package.arguments)
    return checksum if isinstance(checksum, Digest) else None


def _blob(brought: RecordedBlob, archive: Archive) -> Blob:
    return Blob(
        chunks=(),
        size=archive.size,
        name=brought.name,
        media_type=brought.media_type,
        format=brought.format,
        key=brought.key,
    )


def _brought(blob: Blob, digest: Digest) -> RecordedBlob:
    return RecordedBlob(digest=digest, key=blob.key, name=blob.name, media_type=blob.media_type, format=blob.format)
