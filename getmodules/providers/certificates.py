"""OpenPGP keys as registries list them: read with suspicion, with what a policy wants to know about each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from getmodules.api.limits import MIB
from getmodules.errors import SignatureError
from getmodules.providers.componentkeys import ComponentKey, component_keys, flaw_of
from getmodules.providers.sequoia import BROKEN_ALGORITHMS, UnusableError, asked, named, sequoia
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from pysequoia import Cert
    from pysequoia.packet import Packet

KEY_BYTES: Final = MIB
#: Each of them costs a verification for each signature.
MOST_KEYS: Final = 64
#: A hint.
SUPPORTED_KEY: Final = (
    "its owner can sign with a key that is supported, such as one of ed25519, or of RSA with 3072 bits"
)


@valueclass
class Certificate:
    """A primary key and its subkeys."""

    fingerprint: str
    is_revoked: bool
    #: The primary one comes first.
    keys: tuple[ComponentKey, ...]
    #: What pysequoia made of it.
    cert: Cert

    def __str__(self) -> str:
        return f"the key {self.fingerprint.upper()}"

    def key(self, name: str | None) -> ComponentKey | None:
        """That one of its keys of which ``name`` is the fingerprint or the id."""
        return next((each for each in self.keys if name in (each.fingerprint, key_id(each.fingerprint))), None)


def key_id(fingerprint: str) -> str:
    """The 64 bits of a fingerprint that programs show: the last ones up to version 4, the first ones in version 6."""
    return fingerprint[-16:] if len(fingerprint) == 40 else fingerprint[:16]


def read_certificates(keys: Sequence[bytes], complaints: list[SignatureError]) -> list[Certificate]:
    """The certificates in ``keys``, in order. A key that cannot be used vouches for nothing, and stops no other.

    Copies of one key are one: what any of them says counts, so that none hides that another is revoked, and an old
    release can be verified with a copy from before the key was renewed.
    """
    if len(keys) > MOST_KEYS:
        raise SignatureError(f"the registry lists {len(keys)} keys; {MOST_KEYS} are allowed")
    merged: dict[str, tuple[int, Cert]] = {}
    copies = 0
    for number, key in enumerate(keys, 1):
        try:
            split = _split(key)
            copies += len(split)
            if copies > MOST_KEYS:
                raise SignatureError(f"the registry lists {copies} keys and more; {MOST_KEYS} are allowed")
            for copy in split:
                _merge(merged, number, copy)
        except UnusableError as error:
            complaints.append(_complaint(number, keys, error))
    found: list[Certificate] = []
    for number, cert in merged.values():
        try:
            found.append(asked(partial(_certificate, cert)))
        except UnusableError as error:
            complaints.append(_complaint(number, keys, error))
    return found


def _merge(merged: dict[str, tuple[int, Cert]], number: int, copy: Cert) -> None:
    """``number`` is that of the entry which has the key, and of the first one where several have it."""
    if copy.fingerprint in merged:
        number, known = merged[copy.fingerprint]
        if len(bytes(known)) + len(bytes(copy)) > KEY_BYTES:  # and none is passed over: it may be the revoked one
            raise SignatureError(
                f"the copies of the key {copy.fingerprint.upper()} that the registry lists have together more than the "
                f"{KEY_BYTES:,} bytes that a key may have"
            )
        copy = asked(lambda: known.merge(copy))
    merged[copy.fingerprint] = number, copy


def _complaint(number: int, keys: Sequence[bytes], error: UnusableError) -> SignatureError:
    return SignatureError(f"key {number} of {len(keys)} cannot be used: {error}", hint=error.hint)


def _split(key: bytes) -> list[Cert]:
    if len(key) > KEY_BYTES:
        raise UnusableError(f"it has {len(key):,} bytes, more than the {KEY_BYTES:,} that a key may have")
    certs: list[Cert] = asked(lambda: sequoia().Cert.split_bytes(key))
    if not certs:
        raise UnusableError("it is empty")
    return certs


def _certificate(cert: Cert) -> Certificate:
    from pysequoia.packet import PacketPile

    packets = tuple(PacketPile.from_bytes(bytes(cert)))
    try:
        end = asked(lambda: cert.expiration)
    except UnusableError as error:
        raise _reason(packets) or error from None
    keys = tuple(component_keys(packets, end))
    # To pysequoia a revocation for one of the milder reasons is over when the owner, or whoever has the key by then,
    # signs it anew. A wrong one counts, too, and can only refuse.
    is_revoked = cert.is_revoked or any(named(packet.signature_type) == "KeyRevocation" for packet in packets)
    return Certificate(fingerprint=cert.fingerprint, is_revoked=is_revoked, keys=keys, cert=cert)


def _reason(packets: Sequence[Packet]) -> UnusableError | None:
    """Where pysequoia says that there is no signature, or that an algorithm was rejected: which one, and why."""
    flaw = flaw_of(packets[0])
    if flaw is not None:
        return UnusableError(f"it is {flaw}", SUPPORTED_KEY)
    used = {named(packet.hash_algorithm) for packet in packets if named(packet.tag) == "Signature"}
    if used and used <= BROKEN_ALGORITHMS:
        return UnusableError(
            f"its own signatures are made with {', '.join(sorted(used))}, which is broken",
            "its owner can renew it, and the registry must list it anew",
        )
    return None
