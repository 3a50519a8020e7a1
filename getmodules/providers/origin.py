"""What only a provider's origin registry can say: its checksums, its other hashes, and who signed them.

A source that asked anybody else must not use these steps: a mirror that could have hashes recorded as the registry's
would be believed by every machine that shares the lock file.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from getmodules.errors import DigestMismatchError, SignatureError, VerificationError
from getmodules.providers.address import ProviderAddress
from getmodules.providers.dispositions import HashDisposition, HashDispositions
from getmodules.providers.hashes import H1, ZH, Hash, in_order, zip_hash
from getmodules.providers.package import Package
from getmodules.providers.policy import SignaturePolicy
from getmodules.providers.reports import Report, ReportedPackage
from getmodules.providers.shasums import parse_shasums
from getmodules.util.redact import printable
from getmodules.util.values import field, valueclass

_log = logging.getLogger("getmodules")


@valueclass(kw_only=False)
class ListedChecksum:
    """``SHA256SUMS`` lists the package under the name that it has in the release."""

    document: bytes
    file_name: str

    def authenticate(self, package: Package) -> HashDispositions:
        zip_ = _packed(package)
        listed = parse_shasums(self.document).get(self.file_name)
        shown = printable(self.file_name)
        if listed is None:
            raise VerificationError(f"SHA256SUMS does not list {shown!r}", hint="the release is not complete")
        if zip_hash(listed) != zip_:
            raise DigestMismatchError(f"SHA256SUMS lists {shown!r} as {zip_hash(listed)}; the package is {zip_}")
        return HashDispositions()


@valueclass(kw_only=False)
class ReportedHashes:
    """What the registry says about the package in its answer fits the package.

    An h1 among it is compared with the content: who relies on the registry's h1 for another platform has then seen
    that it is right for this one.
    """

    report: Report

    def authenticate(self, package: Package) -> HashDispositions:
        zip_ = _packed(package)
        own = self._own_row(package, zip_)
        if own.size is not None and own.size != package.size:
            raise VerificationError(
                f"the package has {package.size} bytes; the registry says {own.size}", hint=_CONTRADICTION
            )
        zips, contents = own.of_scheme(ZH), own.of_scheme(H1)
        if zip_ not in zips or (own.platform is not None and len(zips) > 1):
            raise DigestMismatchError(f"the package is {zip_}; the registry says {_listed(zips)}", hint=_CONTRADICTION)
        if not contents:
            return self._reported()
        if package.h1 not in contents:
            raise DigestMismatchError(
                f"the content of the package is {package.h1}; the registry says {_listed(contents)}",
                hint=_CONTRADICTION,
            )
        compared = HashDisposition(verified_locally=True, platform=package.platform)
        return self._reported().merge(HashDispositions.of([package.h1], compared))

    def _own_row(self, package: Package, zip_: Hash) -> ReportedPackage:
        for row in self.report:
            if row.platform == package.platform or (row.platform is None and zip_ in row.hashes):
                return row
        raise VerificationError(f"the registry reports hashes, and none for {package.platform}", hint=_CONTRADICTION)

    def _reported(self) -> HashDispositions:
        rows: dict[Hash, list[ReportedPackage]] = {}
        for row in self.report:
            for hash_ in row.hashes:
                rows.setdefault(hash_, []).append(row)
        return HashDispositions({hash_: _disposition(of_it) for hash_, of_it in rows.items()})


_CONTRADICTION = "if the rest of the release verifies, the registry has wrong data: tell those who run it"


def _listed(hashes: frozenset[Hash]) -> str:
    return ", ".join(map(str, in_order(hashes))) or "nothing"


def _packed(package: Package) -> Hash:
    """The hash of the zip, which all that registries publish is about."""
    if package.zh is None:
        raise DigestMismatchError("an unpacked package cannot be compared with what the registry says about its zip")
    return package.zh


def _disposition(rows: list[ReportedPackage]) -> HashDisposition:
    # A package that is the same for several platforms is not that of any one of them: no contradiction.
    platforms = {row.platform for row in rows}
    return HashDisposition(reported_by_registry=True, platform=platforms.pop() if len(platforms) == 1 else None)


@valueclass
class SignedChecksums:
    """``SHA256SUMS`` is signed by one of the provider's keys; without a key only where the policy can do without.

    Its hashes are those of all packages of the release, and of the other files that it lists.
    """

    address: ProviderAddress
    document: bytes
    signature: bytes = b""
    #: As the registry lists them, in its order.
    keys: tuple[bytes, ...] = ()
    policy: SignaturePolicy = field(default_factory=SignaturePolicy)
    now: datetime | None = None

    def authenticate(self, package: Package) -> HashDispositions:
        hashes = frozenset(map(zip_hash, parse_shasums(self.document).values()))
        # Without this a good signature over the checksums of something else would make any package a signed one.
        if _packed(package) not in hashes:
            raise DigestMismatchError(f"SHA256SUMS does not list {package.zh}, which the package is")
        signed_by = frozenset({self._key_id()} if self._is_signature_demanded() else ())
        return HashDispositions.of(hashes, HashDisposition(reported_by_registry=True, signed_by=signed_by))

    def _is_signature_demanded(self) -> bool:
        return self.policy.demands_signature(self.address.host, len(self.keys))

    def _key_id(self) -> str:
        from getmodules.providers.signatures import find_signer

        if not self.keys:
            raise SignatureError(
                f"{self.address} must be signed, and the registry lists no key for it",
                part="unknown-key",
                hint="its author can submit a key to the registry",
            )
        signer = find_signer(
            self.document,
            self.signature,
            self.keys,
            now=self.now or datetime.now(UTC),
            trusted=self.policy.trusted_keys,
            refuse_expired=self.policy.refuse_expired_keys,
        )
        if signer.expired is not None:
            _log.warning(
                "the key %s, which signed %s, expired on %s", signer.key_id, self.address, signer.expired.date()
            )
        return signer.key_id
