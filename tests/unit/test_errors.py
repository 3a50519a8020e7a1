"""The tree of errors: codes, exit codes, and what an error says of itself."""

from __future__ import annotations

import json
import re

import pytest

from getmodules import errors
from getmodules.errors import GetModulesError, exit_code

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, GetModulesError) and value is not GetModulesError
]


@pytest.mark.parametrize(
    ("kind", "code", "number"),
    [
        ("ConfigError", "config", 2),
        ("AddressError", "address", 2),
        ("UnknownSchemeError", "unknown-scheme", 2),
        ("PluginError", "plugin", 1),
        ("PluginLoadError", "plugin-load", 1),
        ("PluginConflictError", "plugin-conflict", 1),
        ("PluginContractError", "plugin-contract", 1),
        ("FetchError", "fetch", 1),
        ("NetworkError", "network", 1),
        ("NotFoundError", "not-found", 1),
        ("RateLimitedError", "rate-limited", 1),
        ("ToolMissingError", "tool-missing", 1),
        ("AuthenticationError", "authentication", 4),
        ("OfflineError", "offline", 6),
        ("ContentError", "content", 3),
        ("UnsafeContentError", "unsafe-content", 3),
        ("CorruptArchiveError", "corrupt-archive", 3),
        ("UnsupportedContentError", "unsupported-content", 3),
        ("LimitExceededError", "limit-exceeded", 3),
        ("SubdirectoryNotFoundError", "subdirectory-not-found", 1),
        ("VerificationError", "verification", 3),
        ("DigestMismatchError", "digest-mismatch", 3),
        ("LockMismatchError", "lock-mismatch", 3),
        ("SignatureError", "signature", 3),
        ("InstallError", "install", 1),
        ("DestinationExistsError", "destination-exists", 1),
        ("LockStaleError", "lock-stale", 5),
    ],
)
def test_codes_are_promises(kind: str, code: str, number: int) -> None:
    error = getattr(errors, kind)("what")
    assert (error.code, error.exit_code) == (code, number)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_part_makes_a_finer_code(cls: type[GetModulesError]) -> None:
    for part in cls.parts:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", part)
        assert cls("what", part=part).code == f"{cls.base_code}/{part}"
    with pytest.raises(AssertionError, match="not listed"):
        cls("what", part="never-heard-of")


def test_each_code_belongs_to_one_class() -> None:
    codes = [cls.base_code for cls in CLASSES]
    assert len(codes) == len(set(codes))


def test_the_nearest_address_stays() -> None:
    error = errors.FetchError("what").at("https://near").at("https://far")
    assert error.address == "https://near"


def test_the_nearest_place_stays() -> None:
    assert errors.NetworkError("what").failed_at is None
    assert errors.NetworkError("what").failing_at("near:443").failing_at("far:443").failed_at == "near:443"


def test_a_subdirectory_that_is_missing_was_not_found() -> None:
    assert issubclass(errors.SubdirectoryNotFoundError, errors.NotFoundError)


def test_the_nearest_hint_stays() -> None:
    error = errors.CorruptArchiveError("what").advise("near").advise("far")
    assert (error.hint, error.__notes__) == ("near", ["hint: near"])


def test_where_it_happened_is_said_once() -> None:
    error = errors.ContentError("bad").within("over there").within("over there")
    assert error.message == str(error) == "over there: bad"


def test_who_brought_it_is_said_once() -> None:
    error = errors.ContentError("bad").brought_by("plugin 'p' (d 1)").brought_by("plugin 'p' (d 1)")
    assert error.message == str(error) == "bad (brought by plugin 'p' (d 1))"


def test_an_error_as_json() -> None:
    error = errors.UnsafeContentError("what", part="bad-name", hint="do", address="https://h")
    assert json.loads(json.dumps(error.as_json())) == {
        "code": "unsafe-content/bad-name",
        "message": "what",
        "hint": "do",
        "address": "https://h",
    }


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        pytest.param([], 0, id="none"),
        pytest.param(["FetchError"], 1, id="one"),
        pytest.param(["FetchError", "AddressError"], 2, id="2 before 1"),
        pytest.param(["AddressError", "LockStaleError"], 5, id="5 before 2"),
        pytest.param(["LockStaleError", "OfflineError"], 6, id="6 before 5"),
        pytest.param(["OfflineError", "AuthenticationError"], 4, id="4 before 6"),
        pytest.param(["AuthenticationError", "SignatureError"], 3, id="3 before all"),
    ],
)
def test_the_exit_code_of_several(kinds: list[str], code: int) -> None:
    assert exit_code(getattr(errors, kind)("what") for kind in kinds) == code
    assert exit_code(getattr(errors, kind)("what") for kind in reversed(kinds)) == code
