"""Digests are valid by construction."""

from __future__ import annotations

import pytest

from getmodules import Digest

LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
WEAK = {"md5": 32, "sha1": 40}


@pytest.mark.parametrize("algorithm", LENGTHS)
def test_a_strong_digest_reads_as_it_is_written(algorithm: str) -> None:
    text = f"{algorithm}:{'0a' * (LENGTHS[algorithm] // 2)}"
    digest = Digest.parse(text)
    assert str(digest) == text
    assert not digest.is_weak


@pytest.mark.parametrize("algorithm", WEAK)
def test_a_weak_digest_only_where_it_is_asked_for(algorithm: str) -> None:
    text = f"{algorithm}:{'0' * WEAK[algorithm]}"
    assert Digest.parse(text, weak=True).is_weak
    with pytest.raises(ValueError, match="too weak"):
        Digest.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "algorithm:hex", id="empty"),
        pytest.param("0" * 64, "algorithm:hex", id="no algorithm"),
        pytest.param(":" + "0" * 64, "unknown", id="an empty algorithm"),
        pytest.param("sha256:", "hexadecimal", id="no digits"),
        pytest.param("sha256:" + "0" * 63, "64 digits, this one 63", id="short"),
        pytest.param("sha256:" + "0" * 65, "this one 65", id="long"),
        pytest.param("sha256:" + "A" * 64, "lower-case", id="capitals"),
        pytest.param("SHA256:" + "0" * 64, "unknown", id="the algorithm in capitals"),
        pytest.param("sha256:" + "0" * 63 + "\n", "hexadecimal", id="a line feed"),
        pytest.param("sha256:" + "٠" * 64, "hexadecimal", id="digits of another script"),
        pytest.param("sha256:../" + "0" * 61, "hexadecimal", id="a path"),
        pytest.param("sha3-256:" + "0" * 64, "unknown", id="unknown algorithm"),
        pytest.param("x" * 100_000 + ":0", "unknown", id="an endless algorithm"),
    ],
)
def test_what_is_no_digest(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        Digest.parse(text)
    assert len(str(caught.value)) < 200


def test_digests_are_values() -> None:
    one, other = Digest("sha256", "0" * 64), Digest("sha256", "1" * 64)
    assert one == Digest("sha256", "0" * 64)
    assert one < other
    assert len({one, Digest("sha256", "0" * 64)}) == 1
