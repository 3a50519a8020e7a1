"""The summary and the lock rule, judged by what OpenTofu's own code said (tests/cases/hash_dispositions.json)."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from getmodules.addresses.versions import Version
from getmodules.providers import (
    Hash,
    HashDisposition,
    HashDispositions,
    ProviderAddress,
    ProviderLock,
    SignaturePolicy,
    Summary,
    hashes_to_lock,
    summarize,
)
from tests.support.releases import ADDRESS, cases

CASES = cases("hash_dispositions.json")["cases"]
INSTALLED = "<h1 of the installed directory>"
H1 = Hash("h1", "installed")
VERSION = Version(1, 0, 0)
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def _dispositions(result: dict[str, dict[str, Any]]) -> HashDispositions:
    return HashDispositions(
        {
            Hash.parse(text): HashDisposition(
                signed_by=frozenset(each["signed_by_gpg_key_ids"]),
                reported_by_registry=each["reported_by_registry"],
                verified_locally=each["verified_locally"],
                reported_by_trusted_mirror=each["reported_by_trusted_mirror"],
            )
            for text, each in result.items()
        }
    )


def _merged(case: dict[str, Any]) -> HashDispositions:
    return reduce(HashDispositions.merge, map(_dispositions, case["results"]), HashDispositions())


@each_case
def test_merging(case: dict[str, Any]) -> None:
    assert _merged(case) == _dispositions(case.get("merged", {}))
    assert ", ".join(_merged(case).key_ids) == case["gpg_key_ids_string"]


@each_case
def test_the_summary(case: dict[str, Any]) -> None:
    assert summarize(_merged(case)).value == case["summary"]


@each_case
def test_what_enters_the_lock(case: dict[str, Any]) -> None:
    host = ProviderAddress.parse(case["provider"]).host
    policy = SignaturePolicy.from_environment(
        {"OPENTOFU_ENFORCE_GPG_VALIDATION": case["OPENTOFU_ENFORCE_GPG_VALIDATION"]}
    )
    locked = hashes_to_lock(VERSION, H1, _merged(case), prior=None, signature_needed=policy.is_enforced_for(host))
    assert {INSTALLED if hash_ == H1 else str(hash_) for hash_ in locked} == set(case["recorded_in_lock"])


def test_the_word_of_a_trusted_mirror_alone_is_no_checksum() -> None:
    told = HashDispositions.of([H1], HashDisposition(reported_by_trusted_mirror=True))
    assert summarize(told) is Summary.SIGNING_SKIPPED


def test_a_platform_alone_says_nothing() -> None:
    assert summarize(HashDispositions.of([H1], HashDisposition())) is Summary.UNAUTHENTICATED


@pytest.mark.parametrize(
    ("disposition", "without_signature", "with_signature"),
    [
        pytest.param(HashDisposition(verified_locally=True), True, True, id="calculated here"),
        pytest.param(HashDisposition(reported_by_registry=True), True, False, id="the registry's word"),
        pytest.param(HashDisposition(reported_by_trusted_mirror=True), True, False, id="a trusted mirror's word"),
        pytest.param(
            HashDisposition(reported_by_registry=True, signed_by=frozenset({"K"})), True, True, id="signed and reported"
        ),
        pytest.param(HashDisposition(), False, False, id="nothing is known"),
    ],
)
def test_the_rule(disposition: HashDisposition, without_signature: bool, with_signature: bool) -> None:
    other = Hash("zh", "other")
    for needed, expected in ((False, without_signature), (True, with_signature)):
        found = HashDispositions.of([other], disposition)
        locked = hashes_to_lock(VERSION, H1, found, prior=None, signature_needed=needed)
        assert locked == ({H1, other} if expected else {H1})


@pytest.mark.parametrize(
    ("prior_version", "kept"), [pytest.param("1.0.0", True, id="same"), pytest.param("1.0.1", False, id="another")]
)
def test_hashes_of_the_same_version_stay(prior_version: str, kept: bool) -> None:
    unknown = Hash("h9", "of tomorrow".replace(" ", "-"))
    prior = ProviderLock(address=ADDRESS, version=Version.parse(prior_version), hashes=frozenset({unknown}))
    locked = hashes_to_lock(VERSION, H1, HashDispositions(), prior=prior, signature_needed=True)
    assert locked == ({H1, unknown} if kept else {H1})
