"""Steps that are about one package, and all steps together."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from getmodules import Digest, DigestMismatchError, GetModulesError, LockMismatchError
from getmodules.providers import (
    ArchiveChecksum,
    Authority,
    ExpectedHashes,
    Hash,
    HashDisposition,
    HashDispositions,
    LocalChecksum,
    Package,
    authenticate_all,
)
from tests.support.refusals import refusal
from tests.support.releases import LINUX, invented

ZH, H1 = Hash("zh", "a"), Hash("h1", "b")
OTHER = Hash("zh", "other")
VERIFIED = HashDisposition(verified_locally=True, platform=LINUX)


@dataclass
class Step:
    """Remembers that it was asked."""

    found: HashDispositions
    asked: list[Package] = field(default_factory=list)
    error: GetModulesError | None = None

    def authenticate(self, package: Package) -> HashDispositions:
        self.asked.append(package)
        if self.error is not None:
            raise self.error
        return self.found


def test_what_all_steps_found_is_merged() -> None:
    package = invented()
    steps = [
        Step(HashDispositions.of([ZH], HashDisposition(reported_by_registry=True))),
        Step(HashDispositions()),
        Step(HashDispositions.of([ZH, H1], VERIFIED)),
    ]
    found = authenticate_all(package, steps)
    assert dict(found) == {
        ZH: HashDisposition(reported_by_registry=True, verified_locally=True, platform=LINUX),
        H1: VERIFIED,
    }
    assert [step.asked for step in steps] == [[package]] * 3


def test_the_first_refusal_ends_it() -> None:
    steps = [
        Step(HashDispositions()),
        Step(HashDispositions(), error=DigestMismatchError("no")),
        Step(HashDispositions()),
    ]
    refusal(DigestMismatchError, "digest-mismatch", authenticate_all, invented(), steps)
    assert [len(step.asked) for step in steps] == [1, 1, 0]


def test_without_a_step_nothing_is_known() -> None:
    assert authenticate_all(invented(), []) == HashDispositions()


# ------------------------------------------------------------------------------------------ expected hashes


@pytest.mark.parametrize(
    ("expected", "package", "matching"),
    [
        pytest.param({ZH, OTHER}, invented(), {ZH}, id="the zip"),
        pytest.param({H1, OTHER}, invented(), {H1}, id="the content of a zip"),
        pytest.param({H1, ZH}, invented(), {H1, ZH}, id="both"),
        pytest.param({H1, ZH}, invented(zh=None), {H1}, id="unpacked"),
        pytest.param({H1, Hash("h9", "b")}, invented(), {H1}, id="and an unknown scheme"),
    ],
)
@pytest.mark.parametrize("authority", [Authority.LOCK, Authority.MIRROR])
def test_one_match_is_enough(expected: set[Hash], package: Package, matching: set[Hash], authority: Authority) -> None:
    found = ExpectedHashes(frozenset(expected), authority).authenticate(package)
    assert dict(found) == dict.fromkeys(matching, VERIFIED)


def test_all_hashes_of_a_trusted_mirror_are_reported() -> None:
    unknown = Hash("h9", "x")
    found = ExpectedHashes(frozenset({ZH, OTHER, unknown}), Authority.TRUSTED_MIRROR).authenticate(invented())
    told = HashDisposition(reported_by_trusted_mirror=True, platform=LINUX)
    assert dict(found) == {ZH: VERIFIED, OTHER: told, unknown: told}


@pytest.mark.parametrize(
    ("authority", "kind", "code"),
    [
        pytest.param(Authority.LOCK, LockMismatchError, "lock-mismatch", id="lock"),
        pytest.param(Authority.MIRROR, DigestMismatchError, "digest-mismatch", id="mirror"),
        pytest.param(Authority.TRUSTED_MIRROR, DigestMismatchError, "digest-mismatch", id="trusted mirror"),
    ],
)
@pytest.mark.parametrize(
    ("expected", "package", "words"),
    [
        pytest.param({OTHER}, invented(), "its own are h1:b and zh:a", id="another zip"),
        pytest.param({Hash("h9", "b")}, invented(), "known here (h1, zh)", id="unknown schemes alone"),
        pytest.param({Hash("zh", "b")}, invented(), "its own are", id="the value of another scheme"),
        pytest.param({ZH}, invented(zh=None), "this package is unpacked", id="a zip's hash for a directory"),
        pytest.param(set(), invented(), "known here", id="nothing is expected"),
    ],
)
def test_no_match(
    authority: Authority, kind: type[GetModulesError], code: str, expected: set[Hash], package: Package, words: str
) -> None:
    step = ExpectedHashes(frozenset(expected), authority)
    error = refusal(kind, code, step.authenticate, package)
    assert words in error.message
    assert authority.value in error.message


# ----------------------------------------------------------------------------------------------- checksums


def test_a_packed_package_is_remembered_by_its_zip() -> None:
    assert dict(LocalChecksum().authenticate(invented())) == {ZH: VERIFIED}
    assert LocalChecksum().authenticate(invented(zh=None)) == HashDispositions()


HEX = "0a" * 32


def test_the_checksum_of_an_archive() -> None:
    found = ArchiveChecksum(Digest("sha256", HEX)).authenticate(invented(zh=HEX))
    assert dict(found) == {Hash("zh", HEX): VERIFIED}


@pytest.mark.parametrize(
    ("package", "words"),
    [
        pytest.param(invented(zh="0b" * 32), "should be zh:0a0a", id="another archive"),
        pytest.param(invented(zh=None), "unpacked", id="no archive"),
    ],
)
def test_the_wrong_archive(package: Package, words: str) -> None:
    step = ArchiveChecksum(Digest("sha256", HEX))
    assert words in refusal(DigestMismatchError, "digest-mismatch", step.authenticate, package).message
