"""OpenPGP keys as registries list them: read with suspicion, with what a policy wants to know about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from getmodules.errors import SignatureError
from getmodules.limits import MIB
from getmodules.providers.sequoia import BROKEN_ALGORITHMS, UnusableError, asked, named, sequoia
from getmodules.values import valueclass

if TYPE_CHECKING:
    from pysequoia import Cert
    from pysequoia.packet import Packet

KEY_BYTES: Final = MIB
#: Each of them costs a verification for each signature.
MOST_KEYS: Final = 64


@valueclass
class Certificate:
    """A primary key and its subkeys."""

    fingerprint: str
    is_revoked: bool
    #: When each of its keys ends, by fingerprint; ``None`` for never.
    ends: Mapping[str, datetime | None]
    #: What pysequoia made of it.
    cert: Cert

    def __str__(self) -> str:
        return f"the key {self.fingerprint.upper()}"

    def has_key(self, name: str | None) -> bool:
        """Whether ``name`` is the fingerprint or the id of one of its keys."""
        return name is not None and any(name in (fingerprint, key_id(fingerprint)) for fingerprint in self.ends)


def key_id(fingerprint: str) -> str:
    """The 64 bits of a fingerprint that programs show: the last ones up to version 4, the first ones in version 6."""
    return fingerprint[-16:] if len(fingerprint) == 40 else fingerprint[:16]


def read_certificates(keys: Sequence[bytes], complaints: list[SignatureError]) -> list[Certificate]:
    """The certificates in ``keys``, in order. A key that cannot be read vouches for nothing, and stops no other."""
    if len(keys) > MOST_KEYS:
        raise SignatureError(f"the registry lists {len(keys)} keys; {MOST_KEYS} are allowed")
    found: list[Certificate] = []
    for number, key in enumerate(keys, 1):
        try:
            found += _read(key)
        except UnusableError as error:
            complaints.append(SignatureError(f"key {number} of {len(keys)} cannot be read: {error}"))
    if len(found) > MOST_KEYS:
        raise SignatureError(f"the registry lists {len(found)} keys; {MOST_KEYS} are allowed")
    return found


def _read(key: bytes) -> list[Certificate]:
    if len(key) > KEY_BYTES:
        raise UnusableError(f"it has {len(key):,} bytes, more than the {KEY_BYTES:,} that a key may have")
    certs: list[Cert] = asked(lambda: sequoia().Cert.split_bytes(key))
    if not certs:
        raise UnusableError("it is empty")
    return [asked(partial(_certificate, cert)) for cert in certs]


def _certificate(cert: Cert) -> Certificate:
    from pysequoia.packet import PacketPile

    packets = tuple(PacketPile.from_bytes(bytes(cert)))
    used = {named(packet.hash_algorithm) for packet in packets if named(packet.tag) == "Signature"}
    if used and used <= BROKEN_ALGORITHMS:  # pysequoia would say that there is no signature
        raise UnusableError(f"its own signatures are made with {', '.join(sorted(used))}, which is broken")
    ends = {
        fingerprint: min((end for end in (own_end, cert.expiration) if end is not None), default=None)
        for fingerprint, own_end in ((cert.fingerprint, None), *_subkeys(packets))
    }
    return Certificate(fingerprint=cert.fingerprint, is_revoked=cert.is_revoked, ends=ends, cert=cert)


def _subkeys(packets: Iterable[Packet]) -> Iterator[tuple[str, datetime | None]]:
    """Each subkey with its own end, which pysequoia tells nobody: the newest of its bindings has it."""
    subkey, created, bound = "", None, None
    end: datetime | None = None
    for packet in packets:
        if named(packet.tag) == "PublicSubkey":
            if subkey:
                yield subkey, end
            subkey, created, bound, end = packet.fingerprint or "", packet.key_created, None, None
        elif subkey and named(packet.tag) == "Signature" and named(packet.signature_type) == "SubkeyBinding":
            made, period = packet.signature_created, packet.key_validity_period
            if created is not None and made is not None and (bound is None or made >= bound):
                bound, end = made, None if period is None else created + period
    if subkey:
        yield subkey, end
