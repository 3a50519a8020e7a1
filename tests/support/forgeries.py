"""OpenPGP certificates as somebody makes them who can edit files and has nobody's secret."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from pysequoia.packet import Packet, PacketPile

from tests.support.releases import read

_DIGESTS = {"SHA256": hashlib.sha256, "SHA384": hashlib.sha384, "SHA512": hashlib.sha512}
_CREATED, _KEY_VALIDITY = b"\x05\x02", b"\x05\x09"  # subpackets: length and type
NOBODY = bytes.fromhex("11" * 20)


def packets(name: str) -> list[Packet]:
    return list(PacketPile.from_bytes(read(name)))


def joined(*pieces: Packet | bytes) -> bytes:
    return b"".join(map(bytes, pieces))


def about(*things: Packet) -> bytes:
    """What a signature that vouches for these is calculated over."""
    return b"".join(
        (b"\xb4" + len(each.body).to_bytes(4, "big") if each.user_id else b"\x99" + len(each.body).to_bytes(2, "big"))
        + each.body
        for each in things
    )


def lengthened(
    signature: Packet, subject: bytes, *, valid: timedelta, fits: bool = True, issuer: bytes | None = None
) -> bytes:
    """A copy of ``signature`` that says, five seconds later, that the key is ``valid`` so long.

    With ``fits`` the two bytes of its digest that it shows are right, which anybody can calculate; the signature itself
    is the old one all the same. It says that it is by ``issuer``.
    """
    body = bytearray(signature.body)
    end = 6 + int.from_bytes(body[4:6], "big")
    assert signature.signature_created is not None
    later = int(signature.signature_created.timestamp()) + 5
    _overwrite(body, body.index(_CREATED, 6, end) + 2, later.to_bytes(4, "big"))
    _overwrite(body, body.index(_KEY_VALIDITY, 6, end) + 2, int(valid.total_seconds()).to_bytes(4, "big"))
    shown = end + 2 + int.from_bytes(body[end : end + 2], "big")
    if issuer is not None:
        assert signature.issuer_fingerprint
        assert signature.issuer_key_id
        _overwrite(body, body.index(bytes.fromhex(signature.issuer_fingerprint), 6, end), issuer)
        _overwrite(body, body.index(bytes.fromhex(signature.issuer_key_id), end, shown), issuer[-8:])
    if fits:
        trailer = b"\x04\xff" + end.to_bytes(4, "big")
        digest = _DIGESTS[str(signature.hash_algorithm).rpartition(".")[2]]
        assert digest(subject + signature.body[:end] + trailer).digest()[:2] == signature.body[shown : shown + 2]
        _overwrite(body, shown, digest(subject + body[:end] + trailer).digest()[:2])
    return b"\xc2\xff" + len(body).to_bytes(4, "big") + bytes(body)


def _overwrite(body: bytearray, offset: int, piece: bytes) -> None:
    body[offset : offset + len(piece)] = piece
