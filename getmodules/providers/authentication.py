"""Authentication of a provider package: steps, which are values with one method, and a function that combines them.

Steps are independent of each other. Their findings about hashes are merged; the first refusal ends the authentication.
:class:`SignaturePolicy` has the rules of OpenTofu about signatures, and a list of keys that the user trusts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, Protocol, Self

from getmodules.errors import ConfigError, DigestMismatchError, LockMismatchError
from getmodules.providers.dispositions import HashDisposition, HashDispositions
from getmodules.providers.hashes import H1, KNOWN_SCHEMES, Hash, sorted_hashes, zip_hash
from getmodules.providers.package import Package
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

#: The one registry that has providers without keys; it is believed about those, unless the user objects.
LENIENT_HOST: Final = "registry.opentofu.org"
ENFORCE_SIGNATURES: Final = "OPENTOFU_ENFORCE_GPG_VALIDATION"
ENFORCE_EXPIRATION: Final = "OPENTOFU_ENFORCE_GPG_EXPIRATION"
#: A version 4 or a version 6 fingerprint. A key id is too short to trust: it can be forged.
_FINGERPRINT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LOCK_HINT = (
    "the release was replaced, or the lock file never had a hash for this platform: find out which before you let "
    "anything add one"
)


class Authenticator(Protocol):
    """One step of an authentication. It raises an error of getmodules if it refuses the package."""

    def authenticate(self, package: Package) -> HashDispositions:
        """Return what it learned about hashes of this package, and of others of the same release."""
        ...


def authenticate_all(package: Package, authenticators: Iterable[Authenticator]) -> HashDispositions:
    """Run the steps in order and merge what they learn; the first refusal is raised."""
    merged = HashDispositions()
    for authenticator in authenticators:
        merged = merged.merge(authenticator.authenticate(package))
    return merged


# --------------------------------------------------------------------------------------------------------------- steps


class Authority(Enum):
    """The source of an expected hash."""

    LOCK = "the lock file"
    MIRROR = "the mirror"
    #: A mirror about which the user has said that all hashes it names may be locked.
    TRUSTED_MIRROR = "the trusted mirror"


@valueclass(kw_only=False)
class ExpectedHashes:
    """Checks that the package has any of these hashes."""

    hashes: frozenset[Hash]
    authority: Authority

    def authenticate(self, package: Package) -> HashDispositions:
        matching = self.hashes & package.hashes
        if not matching:
            kind = LockMismatchError if self.authority is Authority.LOCK else DigestMismatchError
            raise kind(
                f"the package for {package.platform} has none of the hashes that {self.authority.value} has: "
                + self._mismatch(package),
                hint=_LOCK_HINT if self.authority is Authority.LOCK else None,
            )
        verified = HashDispositions.of(matching, HashDisposition(verified_locally=True, platform=package.platform))
        if self.authority is not Authority.TRUSTED_MIRROR:
            return verified
        reported = HashDisposition(reported_by_trusted_mirror=True, platform=package.platform)
        return verified.merge(HashDispositions.of(self.hashes - matching, reported))

    def _mismatch(self, package: Package) -> str:
        schemes = {hash_.scheme for hash_ in self.hashes}
        if not schemes & KNOWN_SCHEMES:
            return f"it has none of a scheme that is known here ({', '.join(sorted(KNOWN_SCHEMES))})"
        if package.zh is None and H1 not in schemes:
            return "they are hashes of zip files, and this package is unpacked"
        return f"its own are {' and '.join(map(str, sorted_hashes(package.hashes)))}"


@valueclass(kw_only=False)
class LocalChecksum:
    """Compares nothing, but records the zip hash of a packed package, wherever it came from."""

    def authenticate(self, package: Package) -> HashDispositions:
        if package.zh is None:
            return HashDispositions()
        return HashDispositions.of([package.zh], HashDisposition(verified_locally=True, platform=package.platform))


@valueclass(kw_only=False)
class ArchiveChecksum:
    """Checks that the zip file has this sha256."""

    digest: Digest

    def authenticate(self, package: Package) -> HashDispositions:
        expected = zip_hash(self.digest)
        if package.zh is None:
            raise DigestMismatchError(f"the package is unpacked: it cannot be compared with {expected}")
        if package.zh != expected:
            raise DigestMismatchError(f"the package is {package.zh}, and should be {expected}")
        return HashDispositions.of([expected], HashDisposition(verified_locally=True, platform=package.platform))


# ---------------------------------------------------------------------------------------------- whose signatures count


@valueclass
class SignaturePolicy:
    """The rules about which packages need a signature, and by which keys.

    ``trusted_keys`` are the fingerprints of primary keys. ``None`` trusts the registry about which keys are the
    provider's; a list demands a signature by one of its keys for every provider, and an empty one is an error.
    """

    enforce: bool = False
    refuse_expired_keys: bool = False
    trusted_keys: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.trusted_keys is None:
            return
        if not self.trusted_keys:
            raise ConfigError("the list of trusted keys is empty", hint="list a fingerprint, or trust the registry's")
        object.__setattr__(self, "trusted_keys", frozenset(map(_fingerprint, self.trusted_keys)))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], trusted_keys: Iterable[str] | None = None) -> Self:
        """Read the policy from OpenTofu's variables, in which only the exact word ``true`` switches something on."""
        return cls(
            enforce=environ.get(ENFORCE_SIGNATURES) == "true",
            refuse_expired_keys=environ.get(ENFORCE_EXPIRATION) == "true",
            trusted_keys=None if trusted_keys is None else frozenset(trusted_keys),
        )

    def is_enforced_for(self, host: str) -> bool:
        """Return whether a hash of a provider from ``host`` needs a signature to be believed."""
        return self.enforce or self.trusted_keys is not None or host != LENIENT_HOST

    def demands_signature(self, host: str, keys: int) -> bool:
        """Return whether a package needs a signature, if the registry lists that many ``keys``."""
        return keys > 0 or self.is_enforced_for(host)


def _fingerprint(text: str) -> str:
    """Return a fingerprint normalised; it may have blanks and capitals, as ``gpg --fingerprint`` shows it."""
    fingerprint = text.replace(" ", "").lower().removeprefix("0x")
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise ConfigError(
            f"{printable(text, 80)!r} is not the fingerprint of a key",
            hint="give all 40 (or 64) digits, as `gpg --fingerprint` shows them: a key id is easily forged",
        )
    return fingerprint
