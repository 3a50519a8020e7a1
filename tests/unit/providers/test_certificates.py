"""Keys as registries list them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from getmodules import SignatureError
from getmodules.providers.certificates import KEY_BYTES, MOST_KEYS, key_id, read_certificates
from tests.refusals import refusal
from tests.releases import AUTHOR, AUTHOR_ID, EXPIRED, OTHER, SUBEXPIRED, SUBKEYS, read

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
    assert list(found.ends.values()) == ends
    assert next(iter(found.ends)) == found.fingerprint


def test_a_key_is_known_by_its_fingerprint_and_by_its_id() -> None:
    (found,) = read_certificates([read("author.asc")], [])
    assert found.has_key(AUTHOR)
    assert found.has_key(AUTHOR_ID.lower())
    assert not found.has_key(AUTHOR[-8:])
    assert not found.has_key(None)


def test_the_id_of_a_version_6_key_is_at_its_start() -> None:
    assert key_id("ab" * 8 + "cd" * 24) == "ab" * 8
    assert key_id("cd" * 12 + "ab" * 8) == "ab" * 8


def test_each_of_several_subkeys_has_its_end() -> None:
    from pysequoia import Tsk

    cert = Tsk.generate("several@example.com", validity_seconds=3_600).extract_certificate()
    (found,) = read_certificates([bytes(cert)], [])
    assert len(found.ends) == 3
    assert set(found.ends.values()) == {cert.expiration}


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
    assert complaint.message.startswith("key 1 of 2 cannot be read: ")
    assert "\n" not in complaint.message


def test_a_key_whose_own_signatures_are_broken_says_so() -> None:
    complaints: list[SignatureError] = []
    assert read_certificates([read("sha1.asc")], complaints) == []
    assert [complaint.message for complaint in complaints] == [
        "key 1 of 1 cannot be read: its own signatures are made with SHA1, which is broken"
    ]


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([b""] * (MOST_KEYS + 1), id="entries"),
        pytest.param([read("author.key") + read("author.key")] * MOST_KEYS, id="keys in them"),
    ],
)
def test_too_many_keys(keys: list[bytes]) -> None:
    refusal(SignatureError, "signature", read_certificates, keys, [])
