"""What a certificate says about its keys, and what somebody else only says about them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pysequoia.packet import PacketPile

from getmodules.signatures.openpgp_keys import Certificate, flaw_of, read_certificates
from tests.support.forgeries import NOBODY, about, joined, lengthened, packets
from tests.support.releases import AUTHOR, read

MADE = datetime(2020, 1, 1, tzinfo=UTC)
END = datetime(2021, 1, 1, 12, tzinfo=UTC)
RENEWED = datetime(2020, 12, 1, tzinfo=UTC)
LONG = timedelta(days=60 * 365)


def _certificate(*keys: bytes) -> Certificate:
    (found,) = read_certificates(keys, [])
    return found


@pytest.mark.parametrize("issuer", [None, NOBODY], ids=["by its owner", "by somebody"])
@pytest.mark.parametrize("fits", [False, True], ids=["a wrong digest", "a right digest"])
@pytest.mark.parametrize("behind", [False, True], ids=["before the real one", "behind it"])
@pytest.mark.parametrize("name", ["expired", "subexpired"])
def test_a_forged_signature_lengthens_no_life(name: str, behind: bool, fits: bool, issuer: bytes | None) -> None:
    primary, user, *rest = packets(f"{name}.asc")
    *others, real = rest
    subject = about(primary, *(others[1:] if others else [user]))
    forged = lengthened(real, subject, valid=LONG, fits=fits, issuer=issuer)
    pair = (real, forged) if behind else (forged, real)
    assert _certificate(joined(primary, user, *others, *pair)).keys[-1].end == END


def test_the_newest_good_binding_counts() -> None:
    *rest, newer, older = packets("renewed.asc")
    assert (older.key_validity_period, newer.key_validity_period) == (END - MADE, None)
    for pair in ((older, newer), (newer, older)):
        assert _certificate(joined(*rest, *pair)).keys[1].end is None
    forged = lengthened(older, about(rest[0], rest[-1]), valid=timedelta(days=90))
    assert _certificate(joined(*rest, older, newer, forged)).keys[1].end is None


@pytest.mark.parametrize(
    ("name", "since"),
    [
        pytest.param("author", [MADE], id="one key"),
        pytest.param("subkeys", [MADE, MADE], id="with a subkey"),
        pytest.param("renewed", [MADE, MADE], id="a subkey that was renewed"),
        pytest.param("prolonged-before", [datetime(2020, 1, 1, 12, tzinfo=UTC)], id="before it was renewed"),
        pytest.param("prolonged", [datetime(2020, 12, 1, 12, tzinfo=UTC)], id="after it was renewed"),
    ],
)
def test_since_when_a_copy_vouches(name: str, since: list[datetime]) -> None:
    assert [key.since for key in _certificate(read(f"{name}.asc")).keys] == since


def test_a_subkey_is_not_older_than_what_vouches_for_it() -> None:
    *rest, newer, _ = packets("renewed.asc")
    assert [key.since for key in _certificate(joined(*rest, newer)).keys] == [MADE, RENEWED]


def test_a_subkey_without_a_binding_never_counts() -> None:
    *_, subkey, _ = packets("subkeys.asc")
    (primary, added) = _certificate(joined(*packets("author.asc"), subkey)).keys
    assert primary.fingerprint == AUTHOR
    assert (added.since, added.end) == (None, None)


def test_a_revoked_subkey() -> None:
    assert [key.is_revoked for key in _certificate(read("retired.asc")).keys] == [False, True]
    assert [key.is_revoked for key in _certificate(read("subkeys.asc")).keys] == [False, False]


@pytest.mark.parametrize(
    ("name", "flaw"),
    [
        pytest.param("author", None, id="ed25519"),
        pytest.param("sha1", None, id="RSA"),
        pytest.param("rsa1024", "a key of RSA with 1024 bits, which is too weak", id="short RSA"),
        pytest.param("secp256k1", "a key on the curve secp256k1, which is not supported", id="secp256k1"),
        pytest.param("brainpoolP256r1", "a key on the curve brainpoolP256r1, which is not supported", id="brainpool"),
    ],
)
def test_why_nothing_can_be_verified_with_a_key(name: str, flaw: str | None) -> None:
    assert flaw_of(packets(f"{name}.asc")[0]) == flaw


@pytest.mark.parametrize("bits", [1024, 3072])
@pytest.mark.parametrize("version", [4, 6])
def test_the_length_of_a_key_of_each_version(version: int, bits: int) -> None:
    modulus = (1 << bits - 1) + 1
    material = bits.to_bytes(2, "big") + modulus.to_bytes(bits // 8, "big") + b"\x00\x11\x01\x00\x01"
    length = len(material).to_bytes(4, "big") if version == 6 else b""
    body = bytes([version]) + b"\x5e\x0b\xe1\x00\x01" + length + material
    (key,) = PacketPile.from_bytes(b"\xc6\xff" + len(body).to_bytes(4, "big") + body)
    assert (flaw_of(key) is None) is (bits == 3072)
