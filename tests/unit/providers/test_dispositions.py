"""Merging loses nothing, and takes no contradiction. That it is commutative and associative: tests/property."""

from __future__ import annotations

import pytest

from getmodules import VerificationError
from getmodules.providers import Hash, HashDisposition, HashDispositions
from tests.support.refusals import refusal
from tests.support.releases import DARWIN, LINUX

A, B = Hash("zh", "a"), Hash("zh", "b")


def test_each_field_is_united() -> None:
    one = HashDisposition(signed_by=frozenset({"K"}), reported_by_registry=True)
    other = HashDisposition(
        signed_by=frozenset({"L"}), verified_locally=True, reported_by_trusted_mirror=True, platform=LINUX
    )
    assert one.merge(other) == HashDisposition(
        signed_by=frozenset({"K", "L"}),
        reported_by_registry=True,
        verified_locally=True,
        reported_by_trusted_mirror=True,
        platform=LINUX,
    )


def test_hashes_of_either_side_are_kept() -> None:
    left = HashDispositions({A: HashDisposition(verified_locally=True)})
    right = HashDispositions({B: HashDisposition(reported_by_registry=True)})
    merged = left.merge(right)
    assert dict(merged) == {**left, **right}
    assert (len(left), len(right)) == (1, 1)


def test_two_platforms_for_one_hash_are_a_contradiction() -> None:
    left = HashDispositions.of([A], HashDisposition(platform=LINUX))
    right = HashDispositions.of([A], HashDisposition(platform=DARWIN))
    messages = {
        refusal(VerificationError, "verification", one.merge, other).message
        for one, other in ((left, right), (right, left))
    }
    assert messages == {"the hash zh:a is said to be that of two platforms: darwin_arm64 and linux_amd64"}


def test_the_keys_are_those_of_all_hashes() -> None:
    found = HashDispositions(
        {A: HashDisposition(signed_by=frozenset({"Z", "A"})), B: HashDisposition(signed_by=frozenset({"M", "A"}))}
    )
    assert found.key_ids == ("A", "M", "Z")
    assert HashDispositions().key_ids == ()


def test_it_is_a_value() -> None:
    source = {A: HashDisposition()}
    found = HashDispositions(source)
    source[B] = HashDisposition()
    assert list(found) == [A]
    assert found == HashDispositions({A: HashDisposition()})
    assert hash(found) == hash(HashDispositions({A: HashDisposition()}))
    assert "zh" in repr(found)
    with pytest.raises(TypeError):
        found[B] = HashDisposition()  # type: ignore[index]
    with pytest.raises(AttributeError):
        found._by_hash = {}  # type: ignore[misc]
