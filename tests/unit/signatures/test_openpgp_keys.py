"""Keys as registries list them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from getmodules import SignatureError
from getmodules.signatures.openpgp_keys import KEY_BYTES, MOST_KEYS, key_id, read_certificates
from tests.support.forgeries import joined, packets
from tests.support.refusals import refusal
from tests.support.releases import AUTHOR, AUTHOR_ID, EXPIRED, OTHER, SUBEXPIRED, SUBKEYS, read

END = datetime(2021, 1, 1, 12, tzinfo=UTC)


def test_armored_and_binary_keys_are_read_in_order() -> None:
    complaints: list[SignatureError] = []
    found = read_certificates([read("other.asc"), read("author.key")], complaints)
    assert [each.fingerprint for each in found] == [OTHER, AUTHOR]
    assert complaints == []
    assert str(found[1]) == f"the key {AUTHOR.upper()}"


def test_one_entry_may_hold_several_keys() -> None:
    from pysequoia import Cert

    both = b"".join(bytes(Cert.from_bytes(read(name))) for name in ("other.asc", "author.asc"))
    assert [each.fingerprint for each in read_certificates([both], [])] == [OTHER, AUTHOR]


@pytest.mark.parametrize(
    ("name", "fingerprint", "revoked", "ends"),
    [
        pytest.param("author", AUTHOR, False, [None], id="one key"),
        pytest.param("expired", EXPIRED, False, [END], id="expired"),
        pytest.param("subkeys", SUBKEYS, False, [None, None], id="with a subkey"),
        pytest.param("subexpired", SUBEXPIRED, False, [None, END], id="an expired subkey"),
        pytest.param("renewed", None, False, [None, None], id="a subkey that was renewed"),
        pytest.param("revoked", None, True, [None], id="revoked"),
    ],
)
def test_what_a_policy_wants_to_know(
    name: str, fingerprint: str | None, revoked: bool, ends: list[datetime | None]
) -> None:
    (found,) = read_certificates([read(f"{name}.asc")], [])
    assert fingerprint in (None, found.fingerprint)
    assert found.is_revoked is revoked
    assert [key.end for key in found.keys] == ends
    assert found.keys[0].fingerprint == found.fingerprint


def test_a_key_is_known_by_its_fingerprint_and_by_its_id() -> None:
    (found,) = read_certificates([read("author.asc")], [])
    assert found.key(AUTHOR) == found.key(AUTHOR_ID.lower()) == found.keys[0]
    assert found.key(AUTHOR[-8:]) is None
    assert found.key(None) is None


def test_the_id_of_a_version_6_key_is_at_its_start() -> None:
    assert key_id("ab" * 8 + "cd" * 24) == "ab" * 8
    assert key_id("cd" * 12 + "ab" * 8) == "ab" * 8


def test_each_of_several_subkeys_has_its_end() -> None:
    from pysequoia import Tsk

    cert = Tsk.generate("several@example.com", validity_seconds=3_600).extract_certificate()
    (found,) = read_certificates([bytes(cert)], [])
    assert [key.end for key in found.keys] == [cert.expiration] * 3


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no key", id="text"),
        pytest.param(read("author.asc")[:-80], id="truncated"),
        pytest.param(read("author.sig"), id="a signature"),
        pytest.param(b"\xff" * 1000, id="noise"),
        pytest.param(b"x" * (KEY_BYTES + 1), id="too large"),
    ],
)
def test_a_key_that_cannot_be_read_stops_no_other(key: bytes) -> None:
    complaints: list[SignatureError] = []
    found = read_certificates([key, read("author.asc")], complaints)
    assert [each.fingerprint for each in found] == [AUTHOR]
    (complaint,) = complaints
    assert complaint.message.startswith("key 1 of 2 cannot be used: ")
    assert "\n" not in complaint.message


@pytest.mark.parametrize(
    ("name", "why", "hint"),
    [
        pytest.param("sha1", "its own signatures are made with SHA1, which is broken", "renew", id="SHA-1"),
        pytest.param("rsa1024", "it is a key of RSA with 1024 bits, which is too weak", "ed25519", id="too weak"),
        pytest.param(
            "secp256k1", "it is a key on the curve secp256k1, which is not supported", "ed25519", id="a curve"
        ),
    ],
)
def test_a_key_that_is_not_good_enough_says_why(name: str, why: str, hint: str) -> None:
    complaints: list[SignatureError] = []
    assert read_certificates([read(f"{name}.asc")], complaints) == []
    (complaint,) = complaints
    assert complaint.message == f"key 1 of 1 cannot be used: {why}"
    assert hint in (complaint.hint or "")


@pytest.mark.parametrize("name", ["sha1", "rsa1024", "secp256k1"])
@pytest.mark.parametrize("is_first", [False, True])
def test_it_disables_no_other_key_of_the_same_entry(name: str, is_first: bool) -> None:
    bad, good = joined(*packets(f"{name}.asc")), read("author.key")
    complaints: list[SignatureError] = []
    found = read_certificates([bad + good if is_first else good + bad], complaints)
    assert [each.fingerprint for each in found] == [AUTHOR]
    assert len(complaints) == 1


@pytest.mark.parametrize("is_one_entry", [False, True])
def test_copies_of_a_key_are_one(is_one_entry: bool) -> None:
    copies = [joined(*packets(f"{name}.asc")) for name in ("prolonged", "prolonged-before")]
    for each in (copies, copies[::-1]):
        (found,) = read_certificates([b"".join(each)] if is_one_entry else each, [])
        assert found.keys[0].end is None
        assert found.keys[0].since == datetime(2020, 1, 1, 12, tzinfo=UTC)


def test_one_revoked_copy_revokes_the_key() -> None:
    revoked = packets("revoked.asc")
    copy = joined(*(each for each in revoked if str(each.signature_type) != "SignatureType.KeyRevocation"))
    assert [each.is_revoked for each in read_certificates([copy], [])] == [False]
    for entries in ([copy, joined(*revoked)], [joined(*revoked), copy], [copy + joined(*revoked)]):
        assert [each.is_revoked for each in read_certificates(entries, [])] == [True]


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([b""] * (MOST_KEYS + 1), id="entries"),
        pytest.param([read("author.key") + read("author.key")] * MOST_KEYS, id="keys in them"),
        pytest.param([read("author.key") * 2_000], id="keys in one"),
    ],
)
def test_too_many_keys(keys: list[bytes]) -> None:
    """They are counted before anything is made of them."""
    refusal(SignatureError, "signature", read_certificates, keys, [])


def test_copies_that_are_too_large_together() -> None:
    """None is passed over: it may be the one that says that the key is revoked."""
    primary, *rest = packets("author.asc")
    names = [b"%d" % number * (KEY_BYTES * 2 // 3) for number in range(2)]
    copies = [joined(primary, b"\xcd\xff%b%b" % (len(name).to_bytes(4, "big"), name), *rest) for name in names]
    assert [each.fingerprint for each in read_certificates(copies[:1], [])] == [AUTHOR]
    error = refusal(SignatureError, "signature", read_certificates, copies, [])
    assert AUTHOR.upper() in error.message
