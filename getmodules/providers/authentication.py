"""The steps of authenticating a provider package: each a value with one method, all combined by one function.

No step has to know of another. What each found out about which hash is merged; the first that refuses ends it.

Whose signature a provider needs: the rules of OpenTofu, and a list of keys that the user trusts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, Protocol, Self

from getmodules.errors import ConfigError, DigestMismatchError, LockMismatchError
from getmodules.providers.dispositions import HashDisposition, HashDispositions
from getmodules.providers.hashes import H1, KNOWN_SCHEMES, Hash, in_order, zip_hash
from getmodules.providers.package import Package
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

#: The one registry that has providers without keys, for which its own word is taken unless the user objects.
LENIENT_HOST: Final = "registry.opentofu.org"
ENFORCE_SIGNATURES: Final = "OPENTOFU_ENFORCE_GPG_VALIDATION"
ENFORCE_EXPIRATION: Final = "OPENTOFU_ENFORCE_GPG_EXPIRATION"

#: A version 4 or a version 6 fingerprint. A key id is too short to trust: somebody can make a key that has it, too.
_FINGERPRINT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@valueclass
class SignaturePolicy:
    """What a signature is demanded for, and whose will do.

    ``trusted_keys`` are the fingerprints of primary keys. ``None`` takes the word of the registry for which keys are
    the provider's; a list demands a signature by one of its keys for every provider, and an empty one is an error.
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
        """As OpenTofu reads it: only the exact word ``true`` switches something on."""
        return cls(
            enforce=environ.get(ENFORCE_SIGNATURES) == "true",
            refuse_expired_keys=environ.get(ENFORCE_EXPIRATION) == "true",
            trusted_keys=None if trusted_keys is None else frozenset(trusted_keys),
        )

    def is_enforced_for(self, host: str) -> bool:
        """Whether a hash of a provider from ``host`` needs a signature to be believed."""
        return self.enforce or self.trusted_keys is not None or host != LENIENT_HOST

    def demands_signature(self, host: str, keys: int) -> bool:
        """Whether a package needs one, where the registry has listed that many ``keys``."""
        return keys > 0 or self.is_enforced_for(host)


def _fingerprint(text: str) -> str:
    """As people copy it from ``gpg --fingerprint``: blanks and capitals do not count."""
    fingerprint = text.replace(" ", "").lower().removeprefix("0x")
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise ConfigError(
            f"{printable(text, 80)!r} is not the fingerprint of a key",
            hint="give all 40 (or 64) digits, as `gpg --fingerprint` shows them: a key id is easily forged",
        )
    return fingerprint


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
