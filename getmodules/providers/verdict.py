"""Conclusions from the dispositions of a package's hashes: a summary for the user, and the hashes to lock."""

from __future__ import annotations

from enum import Enum

from getmodules.addresses.versions import Version
from getmodules.providers.dispositions import HashDisposition, HashDispositions
from getmodules.providers.hashes import Hash
from getmodules.providers.lockfile import ProviderLock


class Summary(Enum):
    """The degree to which a package is authenticated, in the words of ``tofu init``."""

    SIGNED = "signed"
    SIGNING_SKIPPED = "signing skipped"
    VERIFIED_CHECKSUM = "verified checksum"
    UNAUTHENTICATED = "unauthenticated"


def summarize(dispositions: HashDispositions) -> Summary:
    """Return the first summary that applies. It is for people; the dispositions say more."""
    found = dispositions.values()
    if any(each.signed_by for each in found):
        return Summary.SIGNED
    if any(each.reported_by_registry for each in found):
        return Summary.SIGNING_SKIPPED
    if any(each.verified_locally for each in found):
        return Summary.VERIFIED_CHECKSUM
    if any(each.reported_by_trusted_mirror for each in found):
        return Summary.SIGNING_SKIPPED
    return Summary.UNAUTHENTICATED


def hashes_to_lock(
    version: Version,
    installed: Hash,
    dispositions: HashDispositions,
    *,
    prior: ProviderLock | None,
    signature_needed: bool,
) -> frozenset[Hash]:
    """Return the hashes to lock for a provider of which ``version`` was installed, with that h1.

    What was locked for the same version stays. With ``signature_needed``
    (:meth:`~getmodules.providers.SignaturePolicy.is_enforced_for`) a hash is added only if it
    was calculated here or signed.
    """
    kept = prior.hashes if prior is not None and prior.version == version else ()
    new = (hash_ for hash_, each in dispositions.items() if _is_to_be_locked(each, signature_needed))
    return frozenset({installed, *kept, *new})


def _is_to_be_locked(disposition: HashDisposition, signature_needed: bool) -> bool:
    if disposition.verified_locally:
        return True
    if signature_needed:
        return bool(disposition.signed_by)
    return disposition.reported_by_registry or disposition.reported_by_trusted_mirror
