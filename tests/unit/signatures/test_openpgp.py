"""Who signed: with real signatures by real keys, made by GnuPG (tests/cases/openpgp)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from getmodules import SignatureError
from getmodules.signatures.openpgp import MOST_SIGNATURES, SIGNATURE_BYTES, find_signer
from tests.support.forgeries import about, joined, lengthened, packets
from tests.support.refusals import refusal
from tests.support.releases import (
    AUTHOR,
    AUTHOR_ID,
    EARLIER,
    ENCRYPTING,
    EXPIRED,
    NOW,
    OTHER,
    SHASUMS,
    SUBEXPIRED,
    SUBKEYS,
    read,
)

AUTHOR_KEY, OTHER_KEY, EXPIRED_KEY = read("author.asc"), read("other.asc"), read("expired.asc")


@pytest.mark.parametrize(
    ("signature", "key", "fingerprint"),
    [
        pytest.param("author.sig", "author.asc", AUTHOR, id="binary signature, armored key"),
        pytest.param("author.sig.asc", "author.key", AUTHOR, id="armored signature, binary key"),
        pytest.param("text.sig", "author.asc", AUTHOR, id="over text"),
        pytest.param("subkeys.sig", "subkeys.asc", SUBKEYS, id="by a subkey: the primary key is named"),
        pytest.param("both.sig", "author.asc", AUTHOR, id="two signatures, the second one's key"),
        pytest.param("both.sig", "other.asc", OTHER, id="two signatures, the first one's key"),
        pytest.param("encrypting.sig", "encrypting.asc", ENCRYPTING, id="another key of its owner's has ended"),
    ],
)
def test_a_good_signature(signature: str, key: str, fingerprint: str) -> None:
    signer = find_signer(SHASUMS, read(signature), [read(key)], now=NOW)
    assert signer.fingerprint == fingerprint
    assert signer.expired is None


def test_the_id_is_that_which_gpg_shows() -> None:
    assert find_signer(SHASUMS, read("author.sig"), [AUTHOR_KEY], now=NOW).key_id == AUTHOR_ID


@pytest.mark.parametrize(
    ("keys", "fingerprint"),
    [
        pytest.param([OTHER_KEY, AUTHOR_KEY], OTHER, id="the first key that signed"),
        pytest.param([AUTHOR_KEY, OTHER_KEY], AUTHOR, id="in the order of the keys"),
        pytest.param([EXPIRED_KEY, b"junk", AUTHOR_KEY], AUTHOR, id="past keys that did not"),
    ],
)
def test_keys_are_tried_in_order(keys: list[bytes], fingerprint: str) -> None:
    assert find_signer(SHASUMS, read("both.sig"), keys, now=NOW).fingerprint == fingerprint


@pytest.mark.parametrize(
    ("signature", "key", "fingerprint"),
    [
        pytest.param("expired.sig", "expired.asc", EXPIRED, id="a primary key"),
        pytest.param("subexpired.sig", "subexpired.asc", SUBEXPIRED, id="a subkey"),
    ],
)
def test_a_key_that_has_expired_since(signature: str, key: str, fingerprint: str) -> None:
    arguments = (SHASUMS, read(signature), [read(key)])
    signer = find_signer(*arguments, now=NOW)
    assert signer.fingerprint == fingerprint
    assert str(signer.expired) == "2021-01-01 12:00:00+00:00"
    assert find_signer(*arguments, now=EARLIER, refuse_expired=True).expired is None
    error = refusal(SignatureError, "signature/expired-key", find_signer, *arguments, now=NOW, refuse_expired=True)
    assert "2021-01-01" in error.message


def test_a_key_that_was_renewed_in_time_has_not_expired() -> None:
    arguments = (SHASUMS, read("renewed.sig"), [read("renewed.asc")])
    assert find_signer(*arguments, now=NOW, refuse_expired=True).expired is None


def test_a_forged_signature_hides_no_end() -> None:
    """Whoever lists a key can add to it what its owner never signed."""
    primary, user, self_signature, subkey, binding = packets("subexpired.asc")
    forged = lengthened(binding, about(primary, subkey), valid=timedelta(days=60 * 365))
    arguments = (SHASUMS, read("subexpired.sig"), [joined(primary, user, self_signature, subkey, binding, forged)])
    assert str(find_signer(*arguments, now=NOW).expired) == "2021-01-01 12:00:00+00:00"
    refusal(SignatureError, "signature/expired-key", find_signer, *arguments, now=NOW, refuse_expired=True)


BEFORE, AFTER = read("prolonged-before.asc"), read("prolonged.asc")


@pytest.mark.parametrize("keys", [[BEFORE, AFTER], [AFTER, BEFORE], [BEFORE + AFTER]])
def test_copies_from_before_and_after_a_renewal_are_one_key(keys: list[bytes]) -> None:
    assert find_signer(SHASUMS, read("prolonged.sig"), keys, now=NOW, refuse_expired=True).expired is None


def test_one_of_these_copies_says_what_is_missing() -> None:
    arguments = (SHASUMS, read("prolonged.sig"))
    error = refusal(SignatureError, "signature", find_signer, *arguments, [AFTER], now=NOW)
    assert "signed on 2020-06-01, and the copy that is listed vouches for it only since 2020-12-01" in error.message
    assert "from before that" in (error.hint or "")
    error = refusal(
        SignatureError, "signature/expired-key", find_signer, *arguments, [BEFORE], now=NOW, refuse_expired=True
    )
    assert "renewed copy, too" in (error.hint or "")


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("refuse_expired", [False, True])
def test_a_copy_without_its_revocation_revives_no_key(is_first: bool, refuse_expired: bool) -> None:
    revoked = packets("revoked.asc")
    copy = joined(*(each for each in revoked if str(each.signature_type) != "SignatureType.KeyRevocation"))
    assert find_signer(SHASUMS, read("revoked.sig"), [copy], now=NOW).expired is None
    keys = [copy, joined(*revoked)] if is_first else [joined(*revoked), copy]
    arguments = (SHASUMS, read("revoked.sig"), keys)
    refusal(SignatureError, "signature/revoked-key", find_signer, *arguments, now=NOW, refuse_expired=refuse_expired)


def test_a_renewed_copy_ends_no_revocation() -> None:
    """As it would to pysequoia, where the reason was a mild one: whoever has got hold of the key can renew it."""
    renewed, revoked = read("superseded-renewed.asc"), read("superseded.asc")
    arguments = (SHASUMS, read("superseded.sig"))
    assert find_signer(*arguments, [renewed], now=NOW).expired is None
    for keys in ([revoked], [revoked, renewed], [renewed, revoked], [revoked + renewed]):
        refusal(SignatureError, "signature/revoked-key", find_signer, *arguments, keys, now=NOW)


def test_a_revoked_subkey_signs_nothing_and_its_primary_key_still_does() -> None:
    *rest, revocation, binding = packets("retired.asc")
    arguments = (SHASUMS, read("retired.sig"))
    assert find_signer(*arguments, [joined(*rest, binding)], now=NOW).expired is None
    keys = [joined(*rest, revocation, binding)]
    error = refusal(SignatureError, "signature/revoked-key", find_signer, *arguments, keys, now=NOW)
    assert rest[-1].fingerprint is not None
    assert f"the subkey {rest[-1].fingerprint.upper()} of the key " in error.message


def test_armored_signatures_may_follow_one_another() -> None:
    from pysequoia import Sig

    blocks = [str(Sig.from_bytes(read(name))).encode() for name in ("expired.sig", "author.sig")]
    for text in (b"".join(blocks), b"signed twice:\r\n" + b"\r\n".join(blocks).replace(b"\n", b"\r\n")):
        assert find_signer(SHASUMS, text, [AUTHOR_KEY], now=NOW).fingerprint == AUTHOR
    refusal(SignatureError, "signature", find_signer, SHASUMS, blocks[1] * 17, [AUTHOR_KEY], now=NOW)


@pytest.mark.parametrize("refuse_expired", [False, True])
def test_a_valid_key_goes_before_an_expired_one(refuse_expired: bool) -> None:
    both = read("expired.sig") + read("author.sig")
    signer = find_signer(SHASUMS, both, [EXPIRED_KEY, AUTHOR_KEY], now=NOW, refuse_expired=refuse_expired)
    assert signer.fingerprint == AUTHOR


@pytest.mark.parametrize("trusted", [{AUTHOR}, {AUTHOR, EXPIRED}])
def test_of_the_listed_keys_only_trusted_ones_count(trusted: set[str]) -> None:
    keys = [OTHER_KEY, AUTHOR_KEY]
    assert find_signer(SHASUMS, read("both.sig"), keys, now=NOW, trusted=frozenset(trusted)).fingerprint == AUTHOR


@pytest.mark.parametrize(
    ("signature", "key", "code", "words"),
    [
        pytest.param("author.sig", "other.asc", "signature/unknown-key", AUTHOR.upper(), id="by another key"),
        pytest.param("revoked.sig", "revoked.asc", "signature/revoked-key", "revoked", id="a revoked key"),
        pytest.param("afterwards.sig", "expired.asc", "signature/expired-key", "before it signed", id="too late"),
        pytest.param("sha1.sig", "author.asc", "signature", "SHA1, which is broken", id="SHA-1"),
        pytest.param("passing.sig", "author.asc", "signature", "valid until 2020-06-11", id="an expired signature"),
        pytest.param("critical.sig", "encrypting.asc", "signature", "what seal@example.com means", id="a demand"),
        pytest.param("rsa1024.sig", "rsa1024.asc", "signature", "RSA with 1024 bits", id="a weak key"),
        pytest.param(
            "mixed.sig", "mixed.asc", "signature", "the curve brainpoolP256r1", id="a subkey on a strange curve"
        ),
        pytest.param("author.sig", "rsa1024.asc", "signature", f"is by {AUTHOR.upper()}; key 1", id="past a weak key"),
        pytest.param("message.asc", "author.asc", "signature", "signed message", id="a signed message"),
        pytest.param("message.sig", "author.asc", "signature", "cannot be read", id="a binary signed message"),
        pytest.param("author.asc", "author.asc", "signature", "cannot be read", id="a key for a signature"),
        pytest.param("author.sig", "author.sig", "signature", "key 1 of 1", id="a signature for a key"),
    ],
)
def test_what_is_no_good_signature(signature: str, key: str, code: str, words: str) -> None:
    error = refusal(SignatureError, code, find_signer, SHASUMS, read(signature), [read(key)], now=NOW)
    assert words in error.message
    assert "\n" not in error.message


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(SHASUMS[:-1], id="one byte less"),
        pytest.param(SHASUMS + b"\n", id="one byte more"),
        pytest.param(SHASUMS.replace(b"\n", b"\r\n"), id="other line ends"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_another_document(document: bytes) -> None:
    error = refusal(SignatureError, "signature", find_signer, document, read("author.sig"), [AUTHOR_KEY], now=NOW)
    assert "does not fit" in error.message


def test_what_was_changed_is_not_blamed_on_a_key_that_did_not_sign() -> None:
    arguments = (SHASUMS + b"\n", read("encrypting.sig"), [read("encrypting.asc")])
    error = refusal(SignatureError, "signature", find_signer, *arguments, now=NOW)
    assert "does not fit" in error.message


def test_a_signature_from_the_future() -> None:
    arguments = (SHASUMS + b"\n", SIGNATURE, [AUTHOR_KEY])
    error = refusal(SignatureError, "signature", find_signer, *arguments, now=datetime(2020, 3, 1, tzinfo=UTC))
    assert "2020-06-01, which is still to come" in error.message


def test_a_subkey_that_was_slipped_under_a_trusted_key_signs_nothing() -> None:
    """Its binding is that of another key; whoever lists the key could have put it there."""
    from pysequoia.packet import PacketPile

    *_, subkey, binding = PacketPile.from_bytes(read("subkeys.asc"))
    forged = b"".join(map(bytes, [*PacketPile.from_bytes(AUTHOR_KEY), subkey, binding]))
    arguments = (SHASUMS, read("subkeys.sig"), [forged])
    refusal(SignatureError, "signature", find_signer, *arguments, now=NOW, trusted=frozenset({AUTHOR}))


SIGNATURE = read("author.sig")


@pytest.mark.parametrize(
    "signature",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<html>", id="a web page"),
        pytest.param(SIGNATURE[:-1], id="truncated"),
        pytest.param(SIGNATURE + b"x", id="something behind it"),
        pytest.param(SIGNATURE * (MOST_SIGNATURES + 1), id="too many"),
        pytest.param(b"x" * (SIGNATURE_BYTES + 1), id="too large"),
        pytest.param(SIGNATURE[:3] + b"\xf4" + SIGNATURE[4:], id="a type that nobody knows"),
        pytest.param(SIGNATURE[:3] + b"\x13" + SIGNATURE[4:], id="a certification"),
    ],
)
def test_what_is_no_signature(signature: bytes) -> None:
    refusal(SignatureError, "signature", find_signer, SHASUMS, signature, [AUTHOR_KEY], now=NOW)


#: What the signature is calculated over, and the numbers that it consists of.
PROTECTED = [*range(3, 30), *range(len(SIGNATURE) - 64, len(SIGNATURE))]


def test_no_protected_byte_of_a_signature_may_change() -> None:
    for offset in PROTECTED:
        changed = bytearray(SIGNATURE)
        changed[offset] ^= 1
        with pytest.raises(SignatureError):
            find_signer(SHASUMS, bytes(changed), [AUTHOR_KEY], now=NOW)


def test_no_keys() -> None:
    refusal(SignatureError, "signature/unknown-key", find_signer, SHASUMS, SIGNATURE, [], now=NOW)


def test_no_trusted_key_among_those_that_signed() -> None:
    trusted = frozenset({EXPIRED})
    arguments = (SHASUMS, read("both.sig"), [AUTHOR_KEY, OTHER_KEY])
    refusal(SignatureError, "signature/untrusted-key", find_signer, *arguments, now=NOW, trusted=trusted)


def test_the_clock_must_know_its_zone() -> None:
    with pytest.raises(TypeError):
        find_signer(SHASUMS, read("expired.sig"), [EXPIRED_KEY], now=datetime(2026, 1, 1))
