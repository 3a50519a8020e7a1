"""A hash is a scheme and a value; what nobody knows is kept."""

from __future__ import annotations

import pytest

from getmodules import Digest
from getmodules.providers import Hash
from getmodules.providers.hashes import sorted_hashes, zip_hash


@pytest.mark.parametrize(
    ("text", "known"),
    [
        pytest.param("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", True, id="h1"),
        pytest.param("zh:" + "0a" * 32, True, id="zh"),
        pytest.param("h2:abc", False, id="a scheme of tomorrow"),
        pytest.param("H1:abc", False, id="schemes have no second spelling"),
        pytest.param("x:a:b", False, id="a colon in the value"),
        pytest.param("x:", False, id="no value, as the engines allow"),
    ],
)
def test_a_hash_reads_as_it_is_written(text: str, known: bool) -> None:
    hash_ = Hash.parse(text)
    assert str(hash_) == text
    assert hash_.is_known is known


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "starts with the name", id="empty"),
        pytest.param("abcdef", "starts with the name", id="no scheme"),
        pytest.param(":abcdef", "starts with the name", id="an empty scheme"),
        pytest.param("h 1:a", "starts with the name", id="a blank in the scheme"),
        pytest.param("h1:a b", "no hash has", id="a blank in the value"),
        pytest.param('h1:a"', "no hash has", id="a quote"),
        pytest.param("h1:a\\", "no hash has", id="a backslash"),
        pytest.param("h1:a\n", "no hash has", id="a line feed"),
        pytest.param("h1:é", "no hash has", id="not ASCII"),
        pytest.param("h1:" + "a" * 600, "at most", id="endless"),
    ],
)
def test_what_is_no_hash(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Hash.parse(text)


def test_the_order_is_that_of_the_bytes_and_each_hash_stands_once() -> None:
    texts = ["zh:b", "h1:x", "h10:a", "h1:x", "zh:a", "a:z"]
    assert [str(each) for each in sorted_hashes(map(Hash.parse, texts))] == ["a:z", "h10:a", "h1:x", "zh:a", "zh:b"]


def test_the_hash_of_a_zip_is_its_sha256() -> None:
    assert str(zip_hash(Digest("sha256", "0a" * 32))) == "zh:" + "0a" * 32
    with pytest.raises(ValueError, match="not a sha512"):
        zip_hash(Digest("sha512", "0a" * 64))
