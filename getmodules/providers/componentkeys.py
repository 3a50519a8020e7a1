"""What a certificate says about each of its keys: how long it is good, whether it was revoked, what it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from getmodules.providers.sequoia import BROKEN_ALGORITHMS, named
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from pysequoia.packet import Packet

_WEAK_BITS: Final = 2048
_RSA_AND_DSA: Final = frozenset({"RSAEncryptSign", "RSASign", "DSA"})
#: Those that GnuPG makes and pysequoia does not know, by the identifiers that are in a key.
_UNKNOWN_CURVES: Final = {
    "2b2403030208010107": "brainpoolP256r1",
    "2b240303020801010b": "brainpoolP384r1",
    "2b240303020801010d": "brainpoolP512r1",
    "2b8104000a": "secp256k1",
}
_BY_ITS_OWNER: Final = frozenset(
    {"DirectKey", "GenericCertification", "PersonaCertification", "CasualCertification", "PositiveCertification"}
)


@valueclass
class ComponentKey:
    """The primary key of a certificate, or one of its subkeys."""

    fingerprint: str
    #: When it ends; ``None`` for never.
    end: datetime | None
    #: The oldest signature with which its owner vouches for it: no document that it signed earlier can be verified.
    since: datetime | None
    is_revoked: bool
    #: Why nothing can be verified with it, if that can be told: "a key …, which …".
    flaw: str | None


def component_keys(packets: Iterable[Packet], end: datetime | None) -> Iterator[ComponentKey]:
    """The primary key, which is good until ``end``, and the subkeys, of what pysequoia writes of a certificate.

    The order of ``packets`` matters. Anybody can add signatures to a key that its owner never made, and pysequoia keeps
    them. But writing a certificate it verifies those by its owner and puts good ones directly behind what they are
    about, the newest first; then come those of others, and at the very end of all those that are wrong. Where a subkey
    has no good one at all, it can verify nothing: so what the first one says is the owner's word whenever it counts.
    """
    (primary, *_), *_ = components = _components(packets)
    since = min(_self_signed(components, primary), default=None)
    yield ComponentKey(
        fingerprint=primary.fingerprint or "", end=end, since=since, is_revoked=False, flaw=flaw_of(primary)
    )
    for subkey, *signatures in components:
        if named(subkey.tag) == "PublicSubkey":
            bindings = [each for each in signatures if named(each.signature_type) == "SubkeyBinding"]
            made = [each.signature_created for each in bindings if each.signature_created is not None]
            yield ComponentKey(
                fingerprint=subkey.fingerprint or "",
                end=min((each for each in (_end(subkey, bindings), end) if each is not None), default=None),
                since=None if since is None or not made else max(since, min(made)),
                # Wrong ones count, too, and can only refuse.
                is_revoked=any(named(each.signature_type) == "SubkeyRevocation" for each in signatures),
                flaw=flaw_of(subkey),
            )


def flaw_of(key: Packet) -> str | None:
    """Why nothing can be verified with ``key``, if that can be told."""
    # Behind version, time and algorithm; and in version 6 the length of what follows.
    algorithm, material = named(key.key_algorithm), key.body[10 if key.body[:1] == b"\x06" else 6 :]
    if algorithm in _RSA_AND_DSA:
        bits = int.from_bytes(material[:2], "big")
        return f"a key of {algorithm[:3]} with {bits} bits, which is too weak" if bits < _WEAK_BITS else None
    curve = _UNKNOWN_CURVES.get(material[1 : 1 + material[0]].hex()) if material else None
    return curve and f"a key on the curve {curve}, which is not supported"


def _components(packets: Iterable[Packet]) -> list[list[Packet]]:
    """Each key, name and picture, and behind it the signatures that follow it."""
    components: list[list[Packet]] = []
    for packet in packets:
        if named(packet.tag) == "Signature":
            components[-1].append(packet)
        else:
            components.append([packet])
    return components


def _self_signed(components: Iterable[list[Packet]], primary: Packet) -> Iterator[datetime]:
    """When its owner signed the primary key, or a name for it."""
    for _, *signatures in components:
        for each in signatures:
            is_own = (each.issuer_fingerprint or each.issuer_key_id) in (primary.fingerprint, primary.key_id)
            if is_own and named(each.signature_type) in _BY_ITS_OWNER and each.signature_created is not None:
                yield each.signature_created


def _end(subkey: Packet, bindings: Iterable[Packet]) -> datetime | None:
    """What the newest good binding says, which pysequoia tells nobody."""
    binding = next((each for each in bindings if named(each.hash_algorithm) not in BROKEN_ALGORITHMS), None)
    if binding is None or subkey.key_created is None or not binding.key_validity_period:
        return None
    return subkey.key_created + binding.key_validity_period
