"""Steps with data of a provider's origin registry: ``SHA256SUMS``, its signature, and hashes that the registry reports.

A source that asked another server must not use these steps: a mirror that could have hashes recorded as the registry's
would be believed by every machine that shares the lock file.

Registries report hashes beside ``shasum`` in one of three forms, of which the last two were drafts:

* ``"packages": {"linux_amd64": {"hashes": ["zh:…", "h1:…"], "package_size": 294}}``
* ``"hashes": {"zh:…": ["h1:…"]}``
* ``"hashes": ["zh:…", "h1:…"]``

All of them are read as rows: hashes that belong to one package, with what else is said about it.

A signature covers the document ``SHA256SUMS``. It is read strictly: a reader that guessed at lines that it does not
understand would have the signature vouch for something that the signer may never have meant.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from getmodules.api.limits import MIB
from getmodules.errors import DigestMismatchError, SignatureError, VerificationError
from getmodules.providers.address import ProviderAddress
from getmodules.providers.authentication import SignaturePolicy
from getmodules.providers.dispositions import HashDisposition, HashDispositions
from getmodules.providers.hashes import H1, ZH, Hash, Platform, sorted_hashes, zip_hash
from getmodules.providers.package import Package
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.strict_json import (
    StrictJsonError,
    array_of,
    integer,
    mapping,
    optional,
    required,
    string,
    table_of,
)
from getmodules.util.values import field, valueclass

#: Far more packages than any release has.
MOST_HASHES: Final = 10_000
_WHAT = "the registry's answer"
DOCUMENT_BYTES: Final = MIB
_LINE = re.compile(r"(?P<hex>[0-9a-f]{64}) [ *](?P<name>[!-~]+)")
_log = logging.getLogger("getmodules")
_CONTRADICTION = "if the rest of the release verifies, the registry has wrong data: tell those who run it"


# --------------------------------------------------------------------------------------------------------------- steps


@valueclass(kw_only=False)
class ListedChecksum:
    """Checks that ``SHA256SUMS`` lists the package under the name that it has in the release."""

    document: bytes
    file_name: str

    def authenticate(self, package: Package) -> HashDispositions:
        zip_ = _require_zip_hash(package)
        listed = parse_shasums(self.document).get(self.file_name)
        shown = printable(self.file_name)
        if listed is None:
            raise VerificationError(f"SHA256SUMS does not list {shown!r}", hint="the release is not complete")
        if zip_hash(listed) != zip_:
            raise DigestMismatchError(f"SHA256SUMS lists {shown!r} as {zip_hash(listed)}; the package is {zip_}")
        return HashDispositions()


@valueclass(kw_only=False)
class ReportedHashes:
    """Checks that the hashes which the registry reports fit the package.

    An h1 among them is compared with the content: if it is right for this platform, there is reason to rely on the
    registry's h1 for other platforms.
    """

    report: Report

    def authenticate(self, package: Package) -> HashDispositions:
        zip_ = _require_zip_hash(package)
        own = self._own_row(package, zip_)
        if own.size is not None and own.size != package.size:
            raise VerificationError(
                f"the package has {package.size} bytes; the registry says {own.size}", hint=_CONTRADICTION
            )
        zips, contents = own.of_scheme(ZH), own.of_scheme(H1)
        if zip_ not in zips or (own.platform is not None and len(zips) > 1):
            raise DigestMismatchError(f"the package is {zip_}; the registry says {_joined(zips)}", hint=_CONTRADICTION)
        if not contents:
            return self._reported()
        if package.h1 not in contents:
            raise DigestMismatchError(
                f"the content of the package is {package.h1}; the registry says {_joined(contents)}",
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


@valueclass
class SignedChecksums:
    """Checks that ``SHA256SUMS`` is signed by one of the provider's keys; if it has none, the policy decides.

    Its hashes are those of all packages of the release, and of the other files that it lists.
    """

    address: ProviderAddress
    document: bytes
    signature: bytes = b""
    #: The keys that the registry lists, in its order.
    keys: tuple[bytes, ...] = ()
    policy: SignaturePolicy = field(default_factory=SignaturePolicy)
    now: datetime | None = None

    def authenticate(self, package: Package) -> HashDispositions:
        hashes = frozenset(map(zip_hash, parse_shasums(self.document).values()))
        # Else a good signature over the checksums of another release would make any package a signed one.
        if _require_zip_hash(package) not in hashes:
            raise DigestMismatchError(f"SHA256SUMS does not list {package.zh}, which the package is")
        signed_by = frozenset({self._key_id()} if self._is_signature_demanded() else ())
        return HashDispositions.of(hashes, HashDisposition(reported_by_registry=True, signed_by=signed_by))

    def _is_signature_demanded(self) -> bool:
        return self.policy.demands_signature(self.address.host, len(self.keys))

    def _key_id(self) -> str:
        from getmodules.signatures.openpgp import find_signer

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


def _require_zip_hash(package: Package) -> Hash:
    """Return the hash of the zip; raise for an unpacked package, since registries publish hashes of zips."""
    if package.zh is None:
        raise DigestMismatchError("an unpacked package cannot be compared with what the registry says about its zip")
    return package.zh


def _joined(hashes: frozenset[Hash]) -> str:
    return ", ".join(map(str, sorted_hashes(hashes))) or "nothing"


def _disposition(rows: list[ReportedPackage]) -> HashDisposition:
    # A package that is the same for several platforms does not belong to one of them; that is not a contradiction.
    platforms = {row.platform for row in rows}
    return HashDisposition(reported_by_registry=True, platform=platforms.pop() if len(platforms) == 1 else None)


# -------------------------------------------------------------------------------------- hashes that a registry reports


@valueclass
class ReportedPackage:
    """One row of a report. In the plainest form it has the hashes of all packages, and ``platform`` is not known."""

    hashes: tuple[Hash, ...]
    platform: Platform | None = None
    size: int | None = None

    def of_scheme(self, scheme: str) -> frozenset[Hash]:
        return frozenset(hash_ for hash_ in self.hashes if hash_.scheme == scheme)


#: All rows of one form.
Report = tuple[ReportedPackage, ...]


def parse_reports(answer: Mapping[str, Any]) -> tuple[Report, ...]:
    """Return each report in the decoded answer of a registry; most registries report nothing."""
    try:
        reports = (_packages(answer), _hashes(answer))
    except (StrictJsonError, ValueError) as error:
        raise VerificationError(
            f"the hashes that the registry reports cannot be read: {error}", hint="tell those who run the registry"
        ) from None
    if sum(len(row.hashes) for report in reports for row in report) > MOST_HASHES:
        raise VerificationError(f"the registry reports more than {MOST_HASHES:,} hashes")
    return tuple(filter(None, reports))


def _packages(answer: Mapping[str, Any]) -> Report:
    rows = []
    for name, package in (optional(answer, "packages", table_of(mapping), _WHAT) or {}).items():
        what = f"{_WHAT}: package {printable(name, 80)!r}"
        size = required(package, "package_size", integer, what)
        if size < 1:
            raise StrictJsonError(f"{what}: 'package_size' must be at least 1")
        hashes = _parse_all(required(package, "hashes", array_of(string), what))
        rows.append(ReportedPackage(hashes=hashes, platform=Platform.parse(name), size=size))
    return tuple(rows)


def _hashes(answer: Mapping[str, Any]) -> Report:
    reported = answer.get("hashes")
    if isinstance(reported, Mapping):
        by_zip = table_of(array_of(string))(reported, f"{_WHAT}: 'hashes'")
        for key in by_zip:
            if Hash.parse(key).scheme != ZH:
                raise StrictJsonError(f"{_WHAT}: 'hashes' is to name packages by their {ZH}: hashes")
        return tuple(ReportedPackage(hashes=_parse_all([key, *hashes])) for key, hashes in by_zip.items())
    flat = optional(answer, "hashes", array_of(string), _WHAT)
    return (ReportedPackage(hashes=_parse_all(flat)),) if flat else ()


def _parse_all(texts: list[str]) -> tuple[Hash, ...]:
    return tuple(map(Hash.parse, texts))


# ---------------------------------------------------------------------------------------------------------- SHA256SUMS


def parse_shasums(document: bytes) -> Mapping[str, Digest]:
    """Return the sha256 of each file that ``document`` lists, in its order."""
    if len(document) > DOCUMENT_BYTES:
        raise _refused(f"has {len(document):,} bytes, more than the {DOCUMENT_BYTES:,} that it may have")
    try:
        text = document.decode("ascii")
    except UnicodeDecodeError as error:
        place = document.count(b"\n", 0, error.start) + 1
        raise _refused(f"has a byte that is not ASCII in line {place}") from None
    listed: dict[str, Digest] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        name, digest = _parse_line(line, number)
        if name in listed:
            raise _refused(f"lists {printable(name)!r} again in line {number}")
        listed[name] = digest
    return MappingProxyType(listed)


def _parse_line(line: str, number: int) -> tuple[str, Digest]:
    if not line:
        raise _refused(f"has an empty line: line {number}")
    match = _LINE.fullmatch(line)
    if match is None:
        raise _refused(f"cannot be read in line {number}: {printable(line, 100)!r}")
    if "/" in match["name"] or "\\" in match["name"]:
        raise _refused(f"names a file in another directory in line {number}: {printable(match['name'])!r}")
    return match["name"], Digest("sha256", match["hex"])


def _refused(problem: str) -> VerificationError:
    return VerificationError(
        f"the SHA256SUMS document {problem}",
        hint="each line is 64 lower-case hexadecimal digits, two blanks and a file name; tell who publishes it",
    )
