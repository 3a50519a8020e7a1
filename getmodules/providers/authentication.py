"""The steps of authenticating a provider package: each a value with one method, all combined by one function.

No step has to know of another. What each found out about which hash is merged; the first that refuses ends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Protocol

from getmodules.errors import DigestMismatchError, LockMismatchError
from getmodules.providers.dispositions import HashDisposition, HashDispositions
from getmodules.providers.hashes import H1, KNOWN_SCHEMES, Hash, in_order, zip_hash
from getmodules.providers.package import Package
from getmodules.util.digest import Digest
from getmodules.util.values import valueclass


class Authenticator(Protocol):
    """One step. It raises an error of getmodules where it refuses the package."""

    def authenticate(self, package: Package) -> HashDispositions:
        """What it learned about which hashes: of this package, and of others of the same release."""
        ...


def authenticate_all(package: Package, authenticators: Iterable[Authenticator]) -> HashDispositions:
    """All of them in order; the first refusal ends it."""
    merged = HashDispositions()
    for authenticator in authenticators:
        merged = merged.merge(authenticator.authenticate(package))
    return merged


class Authority(Enum):
    """Whose word an expected hash is."""

    LOCK = "the lock file"
    MIRROR = "the mirror"
    #: The user has said that all hashes which it names may be locked.
    TRUSTED_MIRROR = "the trusted mirror"


@valueclass(kw_only=False)
class ExpectedHashes:
    """The package has one of these hashes, whichever."""

    hashes: frozenset[Hash]
    authority: Authority

    def authenticate(self, package: Package) -> HashDispositions:
        matching = self.hashes & package.hashes
        if not matching:
            kind = LockMismatchError if self.authority is Authority.LOCK else DigestMismatchError
            raise kind(
                f"the package for {package.platform} has none of the hashes that {self.authority.value} has: "
                + self._why(package),
                hint=_LOCK_HINT if self.authority is Authority.LOCK else None,
            )
        verified = HashDispositions.of(matching, HashDisposition(verified_locally=True, platform=package.platform))
        if self.authority is not Authority.TRUSTED_MIRROR:
            return verified
        reported = HashDisposition(reported_by_trusted_mirror=True, platform=package.platform)
        return verified.merge(HashDispositions.of(self.hashes - matching, reported))

    def _why(self, package: Package) -> str:
        schemes = {hash_.scheme for hash_ in self.hashes}
        if not schemes & KNOWN_SCHEMES:
            return f"it has none of a scheme that is known here ({', '.join(sorted(KNOWN_SCHEMES))})"
        if package.zh is None and H1 not in schemes:
            return "they are hashes of zip files, and this package is unpacked"
        return f"its own are {' and '.join(map(str, in_order(package.hashes)))}"


_LOCK_HINT = (
    "the release was replaced, or the lock file never had a hash for this platform: find out which before you let "
    "anything add one"
)


@valueclass(kw_only=False)
class LocalChecksum:
    """Nothing is compared: a packed package is worth remembering by its zip, wherever it came from."""

    def authenticate(self, package: Package) -> HashDispositions:
        if package.zh is None:
            return HashDispositions()
        return HashDispositions.of([package.zh], HashDisposition(verified_locally=True, platform=package.platform))


@valueclass(kw_only=False)
class ArchiveChecksum:
    """The zip file has this sha256."""

    digest: Digest

    def authenticate(self, package: Package) -> HashDispositions:
        expected = zip_hash(self.digest)
        if package.zh is None:
            raise DigestMismatchError(f"the package is unpacked: it cannot be compared with {expected}")
        if package.zh != expected:
            raise DigestMismatchError(f"the package is {package.zh}, and should be {expected}")
        return HashDispositions.of([expected], HashDisposition(verified_locally=True, platform=package.platform))
