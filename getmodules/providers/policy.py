"""Whose signature a provider needs: the rules of OpenTofu, and a list of keys that the user trusts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Self

from getmodules.errors import ConfigError
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
