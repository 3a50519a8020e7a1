"""OpenPGP keys as registries list them: read with suspicion, with what a policy wants to know about each.

pysequoia, asked with care: it comes with an extra, and says no in a way of its own.

What a certificate says about each of its keys: how long it is good, whether it was revoked, what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeVar

from getmodules.api.limits import MIB
from getmodules.errors import SignatureError, ToolMissingError
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

if TYPE_CHECKING:
    from pysequoia.packet import Packet
if TYPE_CHECKING:
    from pysequoia import Cert
    from pysequoia.packet import Packet


T = TypeVar("T")

#: Of these, anybody with some money makes two documents that have the same hash.
BROKEN_ALGORITHMS: Final = frozenset({"MD5", "RipeMD", "SHA1"})


class UnusableError(Exception):
    """What was read is not what it should be; the message is often the library's own, made printable."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def sequoia() -> ModuleType:
    """The library, where it is installed."""
    try:
        import pysequoia
    except ImportError:
        raise ToolMissingError(
            "OpenPGP signatures cannot be verified: pysequoia is not installed",
            hint="pip install 'getmodules[providers]'",
        ) from None
    return pysequoia


def named(value: object) -> str:
    """The name of what the library has as an enumeration: ``HashAlgorithm.SHA1`` is ``SHA1``."""
    return str(value).rpartition(".")[2]


def asked(question: Callable[[], T]) -> T:
    """The answer to ``question``, or an :class:`UnusableError`."""
    try:
        return question()
    except (RuntimeError, ValueError) as error:
        # With RUST_BACKTRACE set, a backtrace follows the first line.
        raise UnusableError(printable(str(error).partition("\n")[0])) from None
    except BaseException as error:
        # A Rust panic is no Exception, and its class can be had from nowhere. Hostile bytes must not end the program.
        if type(error).__name__ != "PanicException":
            raise
        raise UnusableError("the OpenPGP library gave up on it") from None


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
