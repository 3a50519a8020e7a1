"""What earlier runs brought, put in the place of asking and fetching again.

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
from getmodules.api.ports import Context
from getmodules.cache.records import PROOF_BYTES, PinRecord, RecordedBlob, RefRecord, now
from getmodules.cache.session import Visit
from getmodules.errors import AddressError
from getmodules.pipeline.detect import detect, is_local
from getmodules.pipeline.resolve import Journey, module_address
from getmodules.plugins.catalog import Catalog
from getmodules.util.digest import Digest
from getmodules.util.redact import redact_address
from getmodules.util.values import field, replace, valueclass

_NOTHING: Mapping[str, str] = MappingProxyType({})


@valueclass
class Known:
    """A pin that needs no resolving, and, where the store has it, what it brought."""

    pin: Pin
    blob: Blob | None = None
    archive: Archive | None = None


@valueclass(kw_only=False, frozen=False)
class Recall:
    """One package's dealings with the store. Local packages have none: they are at hand themselves."""

    catalog: Catalog
    visit: Visit
    offline: bool
    #: What a getter was told that we have, by address: it may answer that this still holds.
    _offered: dict[str, Known] = field(default_factory=dict)

    def journey(self, package: PackageAddress, context: Context) -> Journey:
        """Where to begin: offline, at what a mutable address meant when it was last asked."""
        journey = Journey(package=package)
        if not self.offline or is_local(package, self.catalog) or self._is_known(package):
            return journey
        record = self.visit.ref(str(package))
        target = self._meant(record)
        if record is None or target is None:
            return journey
        day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(record.time))
        context.notice(f"offline: as it was on {day} UTC, {target.display()}")
        return replace(
            journey,
            package=target.package,
            subdir=target.subdir,
            demands=journey.all_demands(self.catalog),
            more_checksums=(package.arguments.only("checksum"),) if _checksum(package) else (),
        )

    def _is_known(self, package: PackageAddress) -> bool:
        known = self.visit.pin(str(package)) is not None and self._may_be_pinned(package)
        return known or self._demands_identity(package)

    def _may_be_pinned(self, package: PackageAddress) -> bool:
        """Of a tag, a branch or a file that anybody may replace, no record says what it is, whoever wrote that.

        Where a getter has neither versions nor digests to tell it by, there is only the record.
        """
        getter = self.catalog.getter(package.getter)
        return (getter.resolves and getter.version_argument is None) or self._demands_identity(package)

    def _meant(self, record: RefRecord | None) -> ModuleAddress | None:
        """Where a record leads; nowhere, where it is of a plugin that is gone, or of what no server may name."""
        if record is None:
            return None
        try:
            address = detect(record.address, self.catalog).address
        except AddressError:
            return None
        return None if is_local(address.package, self.catalog) else address

    def _demands_identity(self, package: PackageAddress) -> bool:
        """Whether the address names a digest, of its bytes or of whatever its getter goes by."""
        checksum = _checksum(package)
        return (checksum is not None and not checksum.is_weak) or self._names_identity(package)

    def _names_identity(self, package: PackageAddress) -> bool:
        demands = self.catalog.getter(package.getter).demands(_for_getter(package))
        return any(demand.gate is Gate.PIN for demand in demands)

    def known(self, journey: Journey, pin: Pin | None = None) -> Known | None:
        """What is known of an immutable address; or of what ``pin`` makes of a mutable one."""
        if is_local(journey.package, self.catalog):
            return None
        if pin is not None and pin.id is not None:
            return self._known(journey.pinned(pin))
        if not self._may_be_pinned(journey.package):
            return None
        return self._known(journey.package) or self._known_by_demand(journey)

    def _known_by_demand(self, journey: Journey) -> Known | None:
        """An address that demands its identity is as good as pinned: what a record leads to must meet the demand."""
        if not self._demands_identity(journey.package):
            return None
        target = self._meant(self.visit.ref(str(journey.package)))
        return None if target is None else self._known(target.package)

    def check_reachable(self, journey: Journey) -> None:
        if self.offline and not is_local(journey.package, self.catalog):
            raise self.visit.missing(journey.package.display())

    def _known(self, package: PackageAddress) -> Known | None:
        record = self.visit.pin(str(package))
        if record is None:
            return None
        pin = Pin(package=_for_getter(package), id=record.id, digests=record.digests, proof=record.proof)
        if record.brought is not None:
            if self._names_identity(package):
                return None  # only the getter can tell that bytes are of an identity; a record cannot
            archive = self.visit.held(record.brought.digest)
            return None if archive is None else Known(pin=pin, blob=_blob(record.brought, archive), archive=archive)
        return Known(pin=pin)

    # ------------------------------------------------------------------------------- does what we have hold?

    def validator(self, journey: Journey, package: PackageAddress) -> Mapping[str, str]:
        """What the source of ``package`` gave us to ask with; empty unless we still have what it is about."""
        if package != journey.for_getter:
            return _NOTHING
        record = self.visit.ref(str(journey.package))
        target = self._meant(record)
        if record is None or target is None or not record.validator:
            return _NOTHING
        known = self._known(target.package)
        if known is None or known.blob is None:
            return _NOTHING
        self._offered[str(journey.package)] = replace(known, blob=replace(known.blob, validator=record.validator))
        return record.validator

    def unchanged(self, journey: Journey) -> tuple[Known, Blob]:
        """What the getter was told of, now that it says that this still holds."""
        known = self._offered.get(str(journey.package))
        if known is None or known.blob is None:
            raise journey.getter(self.catalog).plugin.guard.violation(
                "fetch returned Unchanged, and was offered nothing"
            )
        return known, known.blob

    # ---------------------------------------------------------------------------------------------- keeping

    def claim(self, journey: Journey, pin: Pin, context: Context) -> AbstractContextManager[None]:
        """While a package is fetched, nobody else fetches it."""
        if is_local(journey.package, self.catalog):
            return nullcontext()
        pinned = journey.pinned(pin) if pin.id is not None else journey.package
        return self.visit.claim(str(pinned), context)

    def keep_pin(self, pinned: PackageAddress, pin: Pin, blob: Blob | None, digest: Digest | None) -> None:
        """What an immutable address stands for, so that the next run asks nobody."""
        promised = blob is not None and bool(blob.digests)
        brought = None if blob is None or digest is None or promised else _brought(blob, digest)
        proof: bytes | None = None
        if brought is None and pin.proof is not None:
            if not isinstance(pin.proof, bytes) or len(pin.proof) > PROOF_BYTES:
                return  # nothing that could be handed back to the getter
            proof = pin.proof
        record = PinRecord(id=pin.id, digests=pin.digests, proof=proof, brought=brought)
        self.visit.keep_pin(str(pinned), record)

    def keep_ref(
        self, asked: PackageAddress, pinned: PackageAddress, subdir: str, validator: Mapping[str, str] = _NOTHING
    ) -> None:
        """What a mutable address means today; not where writing it down would write down a secret."""
        address = str(module_address(pinned, subdir))
        if str(asked) != str(pinned) and redact_address(address) == address:
            self.visit.keep_ref(str(asked), RefRecord(address=address, time=now(), validator=validator))


def _for_getter(package: PackageAddress) -> PackageAddress:
    return Journey(package=package).for_getter


def _checksum(package: PackageAddress) -> Digest | None:
    """The one that stands in the address; where it names a file, that file is to be asked."""
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
