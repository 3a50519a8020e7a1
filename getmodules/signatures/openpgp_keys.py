"""OpenPGP certificates as registries list them, with the validity, revocation and weaknesses of each of their keys.

They are parsed by pysequoia, which comes with an extra, and whose errors are translated here.
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
    from pysequoia import Cert
    from pysequoia.packet import Packet

T = TypeVar("T")
#: Hash algorithms for which collisions can be made at moderate cost.
BROKEN_ALGORITHMS: Final = frozenset({"MD5", "RipeMD", "SHA1"})
_WEAK_BITS: Final = 2048
_RSA_AND_DSA: Final = frozenset({"RSAEncryptSign", "RSASign", "DSA"})
#: Curves that GnuPG has and pysequoia does not know, by their identifiers in a key.
_UNKNOWN_CURVES: Final = {
    "2b2403030208010107": "brainpoolP256r1",
    "2b240303020801010b": "brainpoolP384r1",
    "2b240303020801010d": "brainpoolP512r1",
    "2b8104000a": "secp256k1",
}
_BY_ITS_OWNER: Final = frozenset(
    {"DirectKey", "GenericCertification", "PersonaCertification", "CasualCertification", "PositiveCertification"}
)
KEY_BYTES: Final = MIB
#: Each of them costs a verification for each signature.
MOST_KEYS: Final = 64
#: The hint for keys that are not supported.
SUPPORTED_KEY: Final = (
    "its owner can sign with a key that is supported, such as one of ed25519, or of RSA with 3072 bits"
)


# -------------------------------------------------------------------------------------------------------- certificates


@valueclass
class Certificate:
    """A primary key and its subkeys."""

    fingerprint: str
    is_revoked: bool
    #: The primary key comes first.
    keys: tuple[ComponentKey, ...]
    #: The certificate as pysequoia parsed it.
    cert: Cert

    def __str__(self) -> str:
        return f"the key {self.fingerprint.upper()}"

    def key(self, name: str | None) -> ComponentKey | None:
        """Return the key with this fingerprint or id, or None."""
        return next((each for each in self.keys if name in (each.fingerprint, key_id(each.fingerprint))), None)


def key_id(fingerprint: str) -> str:
    """Return the 64 bits of a fingerprint that programs show: the last ones, or the first ones from version 6 on."""
    return fingerprint[-16:] if len(fingerprint) == 40 else fingerprint[:16]


def read_certificates(keys: Sequence[bytes], complaints: list[SignatureError]) -> list[Certificate]:
    """Read the certificates in ``keys``, in order. Keys that cannot be used are added to ``complaints``.

    Copies of one key are merged: what any of them says counts, so that a copy cannot hide that the key is revoked, and
    an old release can be verified with a copy from before the key was renewed.
    """
    if len(keys) > MOST_KEYS:
        raise SignatureError(f"the registry lists {len(keys)} keys; {MOST_KEYS} are allowed")
    merged: dict[str, tuple[int, Cert]] = {}
    copies = 0
    for number, key in enumerate(keys, 1):
        try:
            split = _split_copies(key)
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
            found.append(call_sequoia(partial(_certificate, cert)))
        except UnusableError as error:
            complaints.append(_complaint(number, keys, error))
    return found


def _merge(merged: dict[str, tuple[int, Cert]], number: int, copy: Cert) -> None:
    """Merge a copy into those that are known; ``number`` is that of the first entry with the key."""
    if copy.fingerprint in merged:
        number, known = merged[copy.fingerprint]
        if len(bytes(known)) + len(bytes(copy)) > KEY_BYTES:  # skipping one could skip the revocation
            raise SignatureError(
                f"the copies of the key {copy.fingerprint.upper()} that the registry lists have together more than the "
                f"{KEY_BYTES:,} bytes that a key may have"
            )
        copy = call_sequoia(lambda: known.merge(copy))
    merged[copy.fingerprint] = number, copy


def _split_copies(key: bytes) -> list[Cert]:
    if len(key) > KEY_BYTES:
        raise UnusableError(f"it has {len(key):,} bytes, more than the {KEY_BYTES:,} that a key may have")
    certs: list[Cert] = call_sequoia(lambda: import_sequoia().Cert.split_bytes(key))
    if not certs:
        raise UnusableError("it is empty")
    return certs


def _certificate(cert: Cert) -> Certificate:
    from pysequoia.packet import PacketPile

    packets = tuple(PacketPile.from_bytes(bytes(cert)))
    try:
        end = call_sequoia(lambda: cert.expiration)
    except UnusableError as error:
        raise _rejection(packets) or error from None
    keys = tuple(component_keys(packets, end))
    # For pysequoia a revocation for one of the milder reasons ends when the key is signed anew, which a thief of the
    # key can do as well. A bad revocation counts, too: it can only refuse.
    is_revoked = cert.is_revoked or any(enum_name(packet.signature_type) == "KeyRevocation" for packet in packets)
    return Certificate(fingerprint=cert.fingerprint, is_revoked=is_revoked, keys=keys, cert=cert)


def _complaint(number: int, keys: Sequence[bytes], error: UnusableError) -> SignatureError:
    return SignatureError(f"key {number} of {len(keys)} cannot be used: {error}", hint=error.hint)


def _rejection(packets: Sequence[Packet]) -> UnusableError | None:
    """Return the reason why pysequoia rejected a certificate: a flaw of the key, or the algorithm of its signatures."""
    flaw = flaw_of(packets[0])
    if flaw is not None:
        return UnusableError(f"it is {flaw}", SUPPORTED_KEY)
    used = {enum_name(packet.hash_algorithm) for packet in packets if enum_name(packet.tag) == "Signature"}
    if used and used <= BROKEN_ALGORITHMS:
        return UnusableError(
            f"its own signatures are made with {', '.join(sorted(used))}, which is broken",
            "its owner can renew it, and the registry must list it anew",
        )
    return None


# ------------------------------------------------------------------------------------------------------ component keys


@valueclass
class ComponentKey:
    """The primary key of a certificate, or one of its subkeys."""

    fingerprint: str
    #: The time at which it expires; None for never.
    end: datetime | None
    #: The time of the oldest self-signature: documents that it signed earlier cannot be verified.
    since: datetime | None
    is_revoked: bool
    #: The reason why it cannot verify anything, if there is one: "a key …, which …".
    flaw: str | None


def component_keys(packets: Iterable[Packet], end: datetime | None) -> Iterator[ComponentKey]:
    """Yield the primary key, which expires at ``end``, and the subkeys of a certificate that pysequoia has written.

    The order of ``packets`` matters. Signatures that its owner never made can be added to a key, and pysequoia keeps
    them. But when it writes a certificate, it verifies self-signatures and puts good ones directly behind what they
    are about, the newest first; then come signatures by others, and bad ones at the very end. A subkey without any
    good one cannot verify anything: so the first one is the owner's whenever it counts.
    """
    (primary, *_), *_ = components = _components(packets)
    since = min(_self_signed(components, primary), default=None)
    yield ComponentKey(
        fingerprint=primary.fingerprint or "", end=end, since=since, is_revoked=False, flaw=flaw_of(primary)
    )
    for subkey, *signatures in components:
        if enum_name(subkey.tag) == "PublicSubkey":
            bindings = [each for each in signatures if enum_name(each.signature_type) == "SubkeyBinding"]
            made = [each.signature_created for each in bindings if each.signature_created is not None]
            yield ComponentKey(
                fingerprint=subkey.fingerprint or "",
                end=min((each for each in (_end_of(subkey, bindings), end) if each is not None), default=None),
                since=None if since is None or not made else max(since, min(made)),
                # Bad ones count, too: they can only refuse.
                is_revoked=any(enum_name(each.signature_type) == "SubkeyRevocation" for each in signatures),
                flaw=flaw_of(subkey),
            )


def flaw_of(key: Packet) -> str | None:
    """Return the reason why ``key`` cannot verify anything, or None."""
    # Behind version, time and algorithm; and in version 6 the length of what follows.
    algorithm, material = enum_name(key.key_algorithm), key.body[10 if key.body[:1] == b"\x06" else 6 :]
    if algorithm in _RSA_AND_DSA:
        bits = int.from_bytes(material[:2], "big")
        return f"a key of {algorithm[:3]} with {bits} bits, which is too weak" if bits < _WEAK_BITS else None
    curve = _UNKNOWN_CURVES.get(material[1 : 1 + material[0]].hex()) if material else None
    return curve and f"a key on the curve {curve}, which is not supported"


def _components(packets: Iterable[Packet]) -> list[list[Packet]]:
    """Group packets into components: a key, name or picture, with the signatures that follow it."""
    components: list[list[Packet]] = []
    for packet in packets:
        if enum_name(packet.tag) == "Signature":
            components[-1].append(packet)
        else:
            components.append([packet])
    return components


def _self_signed(components: Iterable[list[Packet]], primary: Packet) -> Iterator[datetime]:
    """Yield the times at which the owner signed the primary key, or a name for it."""
    for _, *signatures in components:
        for each in signatures:
            is_own = (each.issuer_fingerprint or each.issuer_key_id) in (primary.fingerprint, primary.key_id)
            if is_own and enum_name(each.signature_type) in _BY_ITS_OWNER and each.signature_created is not None:
                yield each.signature_created


def _end_of(subkey: Packet, bindings: Iterable[Packet]) -> datetime | None:
    """Return the expiry of a subkey from its newest good binding, which pysequoia does not offer."""
    binding = next((each for each in bindings if enum_name(each.hash_algorithm) not in BROKEN_ALGORITHMS), None)
    if binding is None or subkey.key_created is None or not binding.key_validity_period:
        return None
    return subkey.key_created + binding.key_validity_period


# ----------------------------------------------------------------------------------------------------------- pysequoia


class UnusableError(Exception):
    """An OpenPGP key or signature cannot be used; the message is often the library's own, made printable."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def import_sequoia() -> ModuleType:
    """Return the library; raise if it is not installed."""
    try:
        import pysequoia
    except ImportError:
        raise ToolMissingError(
            "OpenPGP signatures cannot be verified: pysequoia is not installed",
            hint="pip install 'getmodules[providers]'",
        ) from None
    return pysequoia


def enum_name(value: object) -> str:
    """Return the name of a member of the library's enumerations: ``SHA1`` for ``HashAlgorithm.SHA1``."""
    return str(value).rpartition(".")[2]


def call_sequoia(question: Callable[[], T]) -> T:
    """Return the result of ``question``, with errors of the library as :class:`UnusableError`."""
    try:
        return question()
    except (RuntimeError, ValueError) as error:
        # With RUST_BACKTRACE set, a backtrace follows the first line.
        raise UnusableError(printable(str(error).partition("\n")[0])) from None
    except BaseException as error:
        # A Rust panic is not an Exception, and its class cannot be imported. Hostile bytes must not end the program.
        if type(error).__name__ != "PanicException":
            raise
        raise UnusableError("the OpenPGP library gave up on it") from None
