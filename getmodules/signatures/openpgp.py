"""Verification of detached OpenPGP signatures: finds the key that signed a document.

Beyond the mathematics, a signature must have been made while its key was valid, with algorithms that are still trusted.
Signatures of a revoked key do not count; a key that has expired since is reported, for the policy to judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from getmodules.api.limits import KIB
from getmodules.errors import SignatureError
from getmodules.signatures.openpgp_keys import (
    BROKEN_ALGORITHMS,
    SUPPORTED_KEY,
    Certificate,
    ComponentKey,
    UnusableError,
    call_sequoia,
    enum_name,
    import_sequoia,
    key_id,
    read_certificates,
)
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from pysequoia import Sig
    from pysequoia.packet import Packet


SIGNATURE_BYTES: Final = 64 * KIB
MOST_SIGNATURES: Final = 16
_DETACHED = "it is made with `gpg --detach-sign`, with or without --armor"
_ANEW = "ask the author of the provider to sign the release anew"
_RENEWED = "if its owner has renewed it, the registry must list the renewed copy, too, and keep this one"
_OVER_DOCUMENTS = frozenset({"Binary", "Text"})
_ARMOR = re.compile(rb"(?:^|[\r\n])[ \t]*-----BEGIN PGP ")


@valueclass
class _Signature:
    """A signature with its claims about itself, none of which is true before it is verified."""

    #: The key that made it, by its fingerprint or its id.
    issuer: str | None
    kind: str
    algorithm: str
    created: datetime | None
    expiration: datetime | None
    #: The names of critical notations: only programs that know their meaning may verify the signature.
    critical: tuple[str, ...]
    #: The signature as pysequoia parsed it.
    sig: Sig


@valueclass
class Signer:
    """The key whose signature is good: the primary key, also if a subkey of it signed."""

    fingerprint: str
    #: The time at which the key that signed ceased to be valid; None if it is still valid.
    expired: datetime | None = None

    @property
    def key_id(self) -> str:
        """The id of the key as gpg and OpenTofu show it."""
        return key_id(self.fingerprint).upper()


def find_signer(
    document: bytes,
    signature: bytes,
    keys: Sequence[bytes],
    *,
    now: datetime,
    trusted: frozenset[str] | None = None,
    refuse_expired: bool = False,
) -> Signer:
    """Find the first of ``keys`` that signed ``document``, preferring keys that are still valid.

    ``signature`` and ``keys`` may be binary or armored; ``trusted`` are the fingerprints that are accepted, if not all.
    """
    unusable: list[SignatureError] = []
    complaints: list[SignatureError] = []
    signatures = _read_signatures(signature)
    found: list[Signer] = []
    for certificate in read_certificates(keys, unusable):
        for each in signatures:
            key = certificate.key(each.issuer)
            if key is None:
                continue
            try:
                found.append(_verify(document, each, certificate, key, now, trusted))
            except SignatureError as error:
                complaints.append(error)
    for signer in found:
        if signer.expired is None:
            return signer
    if found and not refuse_expired:
        return found[0]
    raise _refusal(found, complaints, unusable, signatures)


def _verify(
    document: bytes,
    signature: _Signature,
    certificate: Certificate,
    key: ComponentKey,
    now: datetime,
    trusted: frozenset[str] | None,
) -> Signer:
    if trusted is not None and certificate.fingerprint not in trusted:
        raise SignatureError(
            f"{certificate} is not on the list of trusted keys",
            part="untrusted-key",
            hint="add its fingerprint to the list if its owner has told you that it is theirs",
        )
    _refuse_revoked(certificate, key)
    try:
        verified = call_sequoia(
            lambda: import_sequoia().verify(
                bytes=document, store=lambda ids: [certificate.cert], signature=signature.sig
            )
        )
    except UnusableError:
        raise _unfit_error(signature, certificate, key, now) from None
    signing = certificate.key(verified.valid_sigs[0].signing_key)
    assert signing is not None
    _refuse_revoked(certificate, signing)  # a signature may name several keys, and another one first
    return Signer(
        fingerprint=certificate.fingerprint,
        expired=signing.end if signing.end is not None and signing.end <= now else None,
    )


def _refuse_revoked(certificate: Certificate, key: ComponentKey) -> None:
    """Refuse revoked keys, for whatever reason, even for older signatures: their dates can be forged with the key."""
    if certificate.is_revoked or key.is_revoked:
        which = certificate if certificate.is_revoked else f"the subkey {key.fingerprint.upper()} of {certificate}"
        raise SignatureError(
            f"{which} has been revoked",
            part="revoked-key",
            hint="its owner says that it must not be used: ask for a release that is signed with a new one",
        )


def _unfit_error(signature: _Signature, certificate: Certificate, key: ComponentKey, now: datetime) -> SignatureError:
    """Return the reason why a signature is bad, as far as it can be seen: pysequoia does not tell."""
    made, by = signature.created, f"the signature by {certificate}"
    if key.flaw is not None:
        return SignatureError(f"{by} is made with {key.flaw}", hint=SUPPORTED_KEY)
    if made is not None and key.end is not None and made >= key.end:
        return SignatureError(
            f"{certificate} had expired on {key.end.date()}, before it signed on {made.date()}",
            part="expired-key",
            hint=_RENEWED,
        )
    if signature.algorithm in BROKEN_ALGORITHMS:
        return SignatureError(f"{by} is made with {signature.algorithm}, which is broken", hint=_ANEW)
    if signature.expiration is not None and signature.expiration <= now:
        return SignatureError(f"{by} was valid until {signature.expiration.date()}", hint=_ANEW)
    if made is not None and made > now:
        return SignatureError(
            f"{by} is dated {made.date()}, which is still to come", hint="set the clock, if it is late"
        )
    if made is not None and key.since is not None and made < key.since:
        return SignatureError(
            f"{certificate} signed on {made.date()}, and the copy that is listed vouches for it only since "
            f"{key.since.date()}",
            hint="after its owner has renewed a key, the registry must list the copy from before that, too",
        )
    if signature.critical:
        names = ", ".join(printable(name, 80) for name in signature.critical)
        return SignatureError(f"{by} is only for those who know what {names} means, which is unknown here", hint=_ANEW)
    return SignatureError(
        f"{by} does not fit the document",
        hint="the document or the signature was changed, or they are not of the same release",
    )


def _refusal(
    found: Sequence[Signer],
    complaints: Sequence[SignatureError],
    unusable: Sequence[SignatureError],
    signatures: Sequence[_Signature],
) -> SignatureError:
    if found:
        assert found[0].expired is not None
        return SignatureError(
            f"the key {found[0].fingerprint.upper()} expired on {found[0].expired.date()}",
            part="expired-key",
            hint=_RENEWED,
        )
    if complaints:
        return complaints[-1]
    issuers = ", ".join(sorted({each.issuer.upper() if each.issuer else "an unnamed key" for each in signatures}))
    if unusable:  # one of these may have signed
        last = unusable[-1]
        return SignatureError(f"the signature is by {issuers}; {last.message}", hint=last.hint)
    return SignatureError(
        f"the signature is by none of the keys that the registry lists: it is by {issuers}",
        part="unknown-key",
        hint="the registry must list the key that the provider's author signs with",
    )


def _read_signatures(data: bytes) -> list[_Signature]:
    """Read all signatures of a file: while a key is replaced, the old and the new one often sign both."""
    if len(data) > SIGNATURE_BYTES:
        raise SignatureError(f"the signature has {len(data):,} bytes, more than the {SIGNATURE_BYTES:,} allowed")
    if data.lstrip().startswith(b"-----BEGIN PGP SIGNED MESSAGE"):
        raise SignatureError("this is a signed message, and no detached signature", hint=_DETACHED)
    try:
        signatures = call_sequoia(lambda: _parse_signatures(data))
    except UnusableError as error:
        raise SignatureError(f"the signature cannot be read: {error}", hint=_DETACHED) from None
    if not 1 <= len(signatures) <= MOST_SIGNATURES:
        raise SignatureError(f"{len(signatures)} signatures, where 1 to {MOST_SIGNATURES} may be", hint=_DETACHED)
    if any(each.kind not in _OVER_DOCUMENTS for each in signatures):
        raise SignatureError("the signature is not one over a document", hint=_DETACHED)
    return signatures


def _parse_signatures(data: bytes) -> list[_Signature]:
    import_sequoia()  # first, for its error about a missing library
    from pysequoia.packet import PacketPile

    return [_signature(packet) for block in _blocks(data) for packet in PacketPile.from_bytes(block)]


def _blocks(data: bytes) -> list[bytes]:
    """Split concatenated armored signatures, of which pysequoia would read only the first; binary data is one block."""
    starts = [match.start() for match in _ARMOR.finditer(data)]
    return [data[start:end] for start, end in pairwise([0, *starts[1:], len(data)])]


def _signature(packet: Packet) -> _Signature:
    sig = import_sequoia().Sig.from_bytes(bytes(packet))
    return _Signature(
        issuer=sig.issuer_fingerprint or sig.issuer_key_id,
        kind=enum_name(sig.signature_type),
        algorithm=enum_name(sig.hash_algorithm),
        created=sig.created,
        expiration=sig.expiration,
        critical=tuple(note.key for note in packet.notations or () if _is_critical(note.key.encode(), packet.body)),
        sig=sig,
    )


def _is_critical(name: bytes, signature: bytes) -> bool:
    """Return whether a notation is critical: pysequoia has the names of notations, but not this bit."""
    subpacket = rb"\x94.{4}%b..%b" % (re.escape(len(name).to_bytes(2, "big")), re.escape(name))
    return re.search(subpacket, signature, re.DOTALL) is not None
