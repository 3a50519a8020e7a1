"""Whose signature is needed, and whose will do."""

from __future__ import annotations

from typing import Any

import pytest

from getmodules import ConfigError
from getmodules.providers import SignaturePolicy
from tests.support.refusals import refusal
from tests.support.releases import AUTHOR, cases

OPENTOFU = "registry.opentofu.org"


@pytest.mark.parametrize("case", cases("hash_dispositions.json")["enforce_gpg_cases"])
def test_when_a_signature_is_demanded_is_as_in_opentofu(case: dict[str, Any]) -> None:
    value = case["OPENTOFU_ENFORCE_GPG_VALIDATION"]
    policy = SignaturePolicy.from_environment({} if value is None else {"OPENTOFU_ENFORCE_GPG_VALIDATION": value})
    demanded = policy.demands_signature(case["provider_host"], case["signing_keys_in_response"])
    assert demanded is case["must_validate"]


@pytest.mark.parametrize(
    ("value", "enforced"),
    [("true", True), ("TRUE", False), ("1", False), ("", False), (" true", False)],
)
def test_only_the_exact_word_switches_something_on(value: str, enforced: bool) -> None:
    policy = SignaturePolicy.from_environment(
        {"OPENTOFU_ENFORCE_GPG_VALIDATION": value, "OPENTOFU_ENFORCE_GPG_EXPIRATION": value}
    )
    assert policy.is_enforced_for(OPENTOFU) is enforced
    assert policy.refuse_expired_keys is enforced
    assert policy.is_enforced_for("registry.example")


def test_a_list_of_keys_demands_a_signature_everywhere() -> None:
    policy = SignaturePolicy.from_environment({}, [AUTHOR])
    assert policy.is_enforced_for(OPENTOFU)
    assert policy.demands_signature(OPENTOFU, 0)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(AUTHOR, id="digits"),
        pytest.param("0x" + AUTHOR.upper(), id="capitals"),
        pytest.param(" ".join(AUTHOR[i : i + 4] for i in range(0, 40, 4)), id="as gpg shows it"),
    ],
)
def test_a_fingerprint_as_people_copy_it(written: str) -> None:
    assert SignaturePolicy(trusted_keys=frozenset({written})).trusted_keys == {AUTHOR}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        pytest.param([], "empty", id="an empty list"),
        pytest.param([AUTHOR[-16:]], "not the fingerprint", id="a key id"),
        pytest.param([AUTHOR[-8:]], "not the fingerprint", id="a short key id"),
        pytest.param([AUTHOR, ""], "not the fingerprint", id="nothing"),
        pytest.param([AUTHOR[:-1] + "g"], "not the fingerprint", id="no digit"),
    ],
)
def test_what_is_no_list_of_trusted_keys(keys: list[str], words: str) -> None:
    error = refusal(ConfigError, "config", SignaturePolicy.from_environment, {}, keys)
    assert words in error.message
    assert error.hint
