"""The grammars of repositories, tags and digests."""

from __future__ import annotations

import time

import pytest

from getmodules import AddressError
from getmodules.addresses.grammar import parse_query
from getmodules.getters.oci.reference import MAX_NAME, check_repository, check_tag, check_version, parse_digest
from tests.support.refusals import refusal

SHA256 = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    "name",
    ["a", "0", "a/b/c", "a.b", "a_b", "a__b", "a-b", "a---b", "a.b_c__d-e/f0", "library/vpc", "a" * 200],
)
def test_a_repository(name: str) -> None:
    check_repository("h.example", name)


@pytest.mark.parametrize(
    "name",
    [
        "A", "aB", "a/", "/a", "a//b", "-a", "a-", ".a", "a.", "_a", "a_", "a___b", "a..b", "a.-b", "a._b", "a b",
        "a\n", "ä", "a%20b", "a+b", "a~b", "١",
    ],
)  # fmt: skip
def test_what_is_no_repository(name: str) -> None:
    refusal(AddressError, "address", check_repository, "h.example", name)


def test_no_repository_at_all() -> None:
    assert "oci://HOST/REPOSITORY" in (refusal(AddressError, "address", check_repository, "h", "").hint or "")


def test_host_and_name_have_a_common_length() -> None:
    host = "h.example:5000"
    check_repository(host, "a" * (MAX_NAME - len(host) - 1))
    error = refusal(AddressError, "address", check_repository, host, "a" * (MAX_NAME - len(host)))
    assert "255" in error.message


@pytest.mark.parametrize("name", ["a-" * 120 + "!", "a" * 240 + "!", "-" * 250, "a__" * 80 + "_"])
def test_hostile_names_are_judged_at_once(name: str) -> None:
    start = time.process_time()
    refusal(AddressError, "address", check_repository, "h", name)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("vpc:1.0.0", "oci://h:5000/vpc?tag=1.0.0", id="a tag"),
        pytest.param("acme/vpc:latest", "oci://h:5000/acme/vpc?tag=latest", id="a tag, deeper"),
        pytest.param(f"vpc@{SHA256}", f"oci://h:5000/vpc?digest={SHA256}", id="a digest"),
        pytest.param(f"vpc:1@{SHA256}", f"oci://h:5000/vpc?digest={SHA256}", id="both: the digest counts"),
        pytest.param("VPC", "lower case", id="capitals"),
        pytest.param("a+b", "a-z", id="another character"),
    ],
)
def test_a_hint_has_the_right_spelling(name: str, hint: str) -> None:
    assert hint in (refusal(AddressError, "address", check_repository, "h:5000", name).hint or "")


@pytest.mark.parametrize("tag", ["1.0.0", "latest", "_x", "v1.0.0_build.5", "A-b.C_d", "a" * 128, "1"])
def test_a_tag(tag: str) -> None:
    check_tag(tag)


@pytest.mark.parametrize(
    ("tag", "hint"),
    [
        pytest.param("", "allowed", id="empty"),
        pytest.param("a" * 129, "128", id="too long"),
        pytest.param(".a", "allowed", id="a dot in front"),
        pytest.param("-a", "allowed", id="a dash in front"),
        pytest.param("a/b", "allowed", id="a slash"),
        pytest.param("a:b", "allowed", id="a colon"),
        pytest.param("a\n", "allowed", id="a line feed"),
        pytest.param("café", "allowed", id="beyond ASCII"),
        pytest.param("1.0+x", "'_'", id="a plus"),
        pytest.param("1.0.0//sub", "before the '?'", id="a subdirectory"),
        pytest.param("../x", "allowed", id="dots"),
    ],
)
def test_what_is_no_tag(tag: str, hint: str) -> None:
    assert hint in (refusal(AddressError, "address", check_tag, tag).hint or "")


@pytest.mark.parametrize("length", [("sha256", 64), ("sha384", 96), ("sha512", 128)], ids=lambda pair: pair[0])
def test_a_digest(length: tuple[str, int]) -> None:
    text = f"{length[0]}:{'f' * length[1]}"
    assert str(parse_digest(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "nope", ":abcd", "sha256:", "sha256:abc", SHA256.upper(), SHA256 + "0", SHA256[:-1], "md5:" + "0" * 32,
        "sha1:" + "0" * 40, "sha256:../../etc/passwd", SHA256 + "\n", "x" * 20_000,
    ],
)  # fmt: skip
def test_what_is_no_digest(text: str) -> None:
    error = refusal(AddressError, "address", parse_digest, text)
    assert len(error.message) < 500
    assert "sha256:HEX" in (error.hint or "")


@pytest.mark.parametrize("query", ["", "tag=a", f"digest={SHA256}"])
def test_a_version(query: str) -> None:
    check_version(parse_query(query))


@pytest.mark.parametrize("query", [f"tag=a&digest={SHA256}", "tag=", "digest=", "tag", "digest"])
def test_what_is_no_version(query: str) -> None:
    refusal(AddressError, "address", check_version, parse_query(query))
