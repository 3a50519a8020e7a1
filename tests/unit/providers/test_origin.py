"""What only the origin registry can say, step by step and as one installation."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from getmodules import DigestMismatchError, GetModulesError, SignatureError, VerificationError
from getmodules.addresses.versions import Version
from getmodules.providers import (
    ArchiveChecksum,
    Hash,
    HashDisposition,
    HashDispositions,
    ListedChecksum,
    Package,
    ReportedHashes,
    SignaturePolicy,
    SignedChecksums,
    Summary,
    authenticate_all,
    hashes_to_lock,
    parse_reports,
    parse_shasums,
    summarize,
)
from getmodules.providers.hashes import zip_hash
from getmodules.providers.origin import Report
from tests.support.refusals import refusal
from tests.support.releases import (
    ADDRESS,
    AUTHOR,
    AUTHOR_ID,
    DARWIN,
    EXPIRED,
    LINUX,
    NOW,
    OTHER,
    PRIVATE_ADDRESS,
    SHASUMS,
    ZIP,
    cases,
    invented,
    package,
    read,
)

REPORTED = HashDisposition(reported_by_registry=True)
SHA256 = parse_shasums(SHASUMS)
DARWIN_ZIP = "terraform-provider-null_1.0.0_darwin_arm64.zip"
LISTED = frozenset(map(zip_hash, SHA256.values()))


def _report(answer: dict[str, Any]) -> Report:
    (report,) = parse_reports(answer)
    return report


# ----------------------------------------------------------------------------------------- the line of a list


def test_the_line_of_the_package() -> None:
    assert ListedChecksum(SHASUMS, ZIP.name).authenticate(package()) == HashDispositions()


@pytest.mark.parametrize(
    ("document", "name", "kind", "code"),
    [
        pytest.param(SHASUMS, "x.zip", VerificationError, "verification", id="not listed"),
        pytest.param(SHASUMS, DARWIN_ZIP, DigestMismatchError, "digest-mismatch", id="another file's name"),
        pytest.param(SHASUMS + b"\n", ZIP.name, VerificationError, "verification", id="an empty line"),
    ],
)
def test_no_line_of_the_package(document: bytes, name: str, kind: type[GetModulesError], code: str) -> None:
    refusal(kind, code, ListedChecksum(document, name).authenticate, package())


def test_an_unpacked_package_has_no_line() -> None:
    error = refusal(
        DigestMismatchError, "digest-mismatch", ListedChecksum(SHASUMS, ZIP.name).authenticate, invented(zh=None)
    )
    assert "unpacked" in error.message


# ------------------------------------------------------------------------------------------ reported hashes

ZH, H1, FOREIGN = Hash("zh", "a"), Hash("h1", "b"), Hash("h1", "foreign")


def _packages(*hashes: str, size: int = 294, other: tuple[str, ...] = ("zh:d", "h1:e")) -> dict[str, Any]:
    return {
        "packages": {
            "linux_amd64": {"hashes": list(hashes), "package_size": size},
            "darwin_arm64": {"hashes": list(other), "package_size": 1},
        }
    }


def test_packages_by_platform() -> None:
    found = ReportedHashes(_report(_packages("zh:a", "h1:b"))).authenticate(invented())
    linux = HashDisposition(reported_by_registry=True, platform=LINUX)
    darwin = HashDisposition(reported_by_registry=True, platform=DARWIN)
    assert dict(found) == {
        ZH: linux,
        H1: HashDisposition(reported_by_registry=True, verified_locally=True, platform=LINUX),
        Hash("zh", "d"): darwin,
        Hash("h1", "e"): darwin,
    }


def test_a_package_that_is_the_same_everywhere_is_that_of_no_platform() -> None:
    report = _report(_packages("zh:a", "h1:b", other=("zh:a", "h1:b")))
    found = ReportedHashes(report).authenticate(invented())
    assert found[ZH] == REPORTED
    assert found[H1] == HashDisposition(reported_by_registry=True, verified_locally=True, platform=LINUX)


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        pytest.param({"hashes": {"zh:a": ["h1:b"], "zh:d": ["h1:e"]}}, {"zh:a", "h1:b", "zh:d", "h1:e"}, id="by zip"),
        pytest.param({"hashes": ["zh:d", "h1:e", "zh:a", "h1:b"]}, {"zh:a", "h1:b", "zh:d", "h1:e"}, id="plain"),
        pytest.param({"hashes": ["zh:a", "h9:z"]}, {"zh:a", "h9:z"}, id="no h1, and an unknown scheme"),
        pytest.param({"hashes": {"zh:a": [], "zh:d": ["h1:e"]}}, {"zh:a", "zh:d", "h1:e"}, id="an h1 of another zip"),
    ],
)
def test_drafts(answer: dict[str, Any], reported: set[str]) -> None:
    found = ReportedHashes(_report(answer)).authenticate(invented())
    assert {str(hash_) for hash_ in found} == reported
    assert all(each.reported_by_registry for each in found.values())
    assert {hash_ for hash_, each in found.items() if each.verified_locally} == ({H1} & set(found))


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        pytest.param(_packages("zh:a", "h1:x"), DigestMismatchError, "digest-mismatch", id="another content"),
        pytest.param({"hashes": {"zh:a": ["h1:x"]}}, DigestMismatchError, "digest-mismatch", id="by zip: content"),
        pytest.param({"hashes": ["zh:a", "h1:x"]}, DigestMismatchError, "digest-mismatch", id="plain: content"),
        pytest.param(_packages("zh:x", "h1:b"), DigestMismatchError, "digest-mismatch", id="another zip"),
        pytest.param(_packages("zh:a", "zh:x"), DigestMismatchError, "digest-mismatch", id="two zips"),
        pytest.param(_packages("h1:b"), DigestMismatchError, "digest-mismatch", id="no zip"),
        pytest.param(_packages("zh:a", size=295), VerificationError, "verification", id="another size"),
        pytest.param({"hashes": {"zh:x": ["h1:b"]}}, VerificationError, "verification", id="by zip: not there"),
        pytest.param({"hashes": ["zh:x", "h1:b"]}, VerificationError, "verification", id="plain: not there"),
        pytest.param(
            {"packages": {"darwin_arm64": {"hashes": ["zh:a"], "package_size": 294}}},
            VerificationError,
            "verification",
            id="another platform's",
        ),
    ],
)
def test_a_registry_that_is_wrong(answer: dict[str, Any], kind: type[GetModulesError], code: str) -> None:
    error = refusal(kind, code, ReportedHashes(_report(answer)).authenticate, invented())
    assert "registry" in error.message
    assert error.hint


@pytest.mark.parametrize(
    "case", cases("hash_dispositions.json")["registry_packages_cases"], ids=lambda case: case["name"]
)
def test_packages_as_opentofu_judges_them(case: dict[str, Any]) -> None:
    content = invented(zh=case.get("shasum", "0"), h1="x", size=case.get("package_file_size", 294))

    def authenticate() -> list[HashDispositions]:
        return [ReportedHashes(report).authenticate(content) for report in parse_reports(case)]

    if "error" in case:
        refusal(VerificationError, "verification", authenticate)
    else:
        assert authenticate() == []


def test_the_registry_says_nothing_about_unpacked_packages() -> None:
    step = ReportedHashes(_report(_packages("zh:a", "h1:b")))
    refusal(DigestMismatchError, "digest-mismatch", step.authenticate, invented(zh=None, size=None))


# ---------------------------------------------------------------------------------------------- signatures

KEY = read("author.asc")


def _signed(**changes: Any) -> SignedChecksums:
    fields: dict[str, Any] = {
        "address": PRIVATE_ADDRESS,
        "document": SHASUMS,
        "signature": read("author.sig"),
        "keys": (KEY,),
        "now": NOW,
    }
    return SignedChecksums(**{**fields, **changes})


@pytest.mark.parametrize("address", [ADDRESS, PRIVATE_ADDRESS], ids=str)
def test_a_signature_covers_all_that_is_listed(address: Any) -> None:
    found = _signed(address=address).authenticate(package())
    signed = HashDisposition(reported_by_registry=True, signed_by=frozenset({AUTHOR_ID}))
    assert dict(found) == dict.fromkeys(LISTED, signed)
    assert found.key_ids == (AUTHOR_ID,)


def test_the_main_registry_may_have_no_key() -> None:
    found = _signed(address=ADDRESS, keys=(), signature=b"").authenticate(package())
    assert dict(found) == dict.fromkeys(LISTED, REPORTED)


def test_without_a_clock_of_the_caller_it_is_now() -> None:
    assert _signed(now=None).authenticate(package()).key_ids == (AUTHOR_ID,)


ENFORCED = SignaturePolicy(enforce=True)
TRUSTED = SignaturePolicy(trusted_keys=frozenset({AUTHOR}))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"keys": ()}, "signature/unknown-key", id="no key, a private registry"),
        pytest.param(
            {"keys": (), "address": ADDRESS, "policy": ENFORCED}, "signature/unknown-key", id="no key, enforced"
        ),
        pytest.param(
            {"keys": (), "address": ADDRESS, "policy": TRUSTED}, "signature/unknown-key", id="no key, a list of keys"
        ),
        pytest.param({"signature": b""}, "signature", id="no signature"),
        pytest.param({"signature": b"", "address": ADDRESS}, "signature", id="no signature, the main registry"),
        pytest.param({"keys": (read("other.asc"),)}, "signature/unknown-key", id="another key"),
        pytest.param({"document": SHASUMS + b"0" * 64 + b"  x\n"}, "signature", id="one line more"),
        pytest.param({"document": SHASUMS.replace(b"amd64", b"arm64x")}, "signature", id="another name"),
        pytest.param(
            {"policy": SignaturePolicy(trusted_keys=frozenset({OTHER}))}, "signature/untrusted-key", id="not trusted"
        ),
    ],
)
def test_what_is_not_signed_as_it_must_be(changes: dict[str, Any], code: str) -> None:
    error = refusal(SignatureError, code, _signed(**changes).authenticate, package())
    assert "Stack backtrace" not in error.message


def test_a_good_signature_over_other_packages_makes_this_one_no_signed_one() -> None:
    step = _signed(document=SHASUMS, signature=read("author.sig"))
    error = refusal(DigestMismatchError, "digest-mismatch", step.authenticate, invented(zh="0b" * 32))
    assert "does not list" in error.message


def test_a_list_that_cannot_be_read_is_refused_before_its_signature() -> None:
    refusal(VerificationError, "verification", _signed(document=b"x").authenticate, package())


def test_an_expired_key_passes_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    step = _signed(signature=read("expired.sig"), keys=(read("expired.asc"),))
    with caplog.at_level(logging.WARNING, "getmodules"):
        found = step.authenticate(package())
    assert found.key_ids == (EXPIRED[-16:].upper(),)
    assert [record.getMessage() for record in caplog.records] == [
        f"the key {EXPIRED[-16:].upper()}, which signed registry.example/test/null, expired on 2021-01-01"
    ]


def test_an_expired_key_is_refused_where_the_policy_says_so() -> None:
    policy = SignaturePolicy(refuse_expired_keys=True)
    step = _signed(signature=read("expired.sig"), keys=(read("expired.asc"),), policy=policy)
    refusal(SignatureError, "signature/expired-key", step.authenticate, package())


# -------------------------------------------------------------------------------------------- all together


def _steps(**changes: Any) -> list[Any]:
    zh, h1 = str(package().zh), str(package().h1)
    answer = {
        "packages": {
            "linux_amd64": {"hashes": [zh, h1], "package_size": ZIP.stat().st_size},
            "darwin_arm64": {"hashes": [str(zip_hash(SHA256[DARWIN_ZIP])), "h1:of-darwin"], "package_size": 1},
        }
    }
    return [
        ArchiveChecksum(SHA256[ZIP.name]),
        ListedChecksum(SHASUMS, ZIP.name),
        ReportedHashes(_report(answer)),
        _signed(**changes),
    ]


@pytest.mark.parametrize(
    ("changes", "needed", "summary", "darwin_content"),
    [
        pytest.param({"address": ADDRESS}, False, Summary.SIGNED, True, id="signed, the main registry"),
        pytest.param({}, True, Summary.SIGNED, False, id="signed, a private registry"),
        pytest.param({"address": ADDRESS, "keys": ()}, False, Summary.SIGNING_SKIPPED, True, id="no key"),
    ],
)
def test_one_installation(changes: dict[str, Any], needed: bool, summary: Summary, darwin_content: bool) -> None:
    """The h1 of another platform is the registry's word alone: no signature covers it."""
    content = package()
    found = authenticate_all(content, _steps(**changes))
    assert summarize(found) is summary
    assert found[content.h1].verified_locally
    locked = hashes_to_lock(Version(1, 0, 0), content.h1, found, prior=None, signature_needed=needed)
    assert locked == {content.h1, *LISTED, *([Hash("h1", "of-darwin")] if darwin_content else [])}


@pytest.mark.parametrize("position", range(4))
def test_the_package_is_looked_at_by_every_step(position: int) -> None:
    """Whichever step stood alone, another package would not pass."""
    impostor = Package(platform=LINUX, h1=Hash("h1", "x"), zh=Hash("zh", "0b" * 32), size=ZIP.stat().st_size)
    refusal(DigestMismatchError, "digest-mismatch", _steps()[position].authenticate, impostor)
