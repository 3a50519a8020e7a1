"""Checksum files, as the tools write them."""

from __future__ import annotations

import pytest

from getmodules import Digest, VerificationError
from getmodules.pipeline.checksums import checksum_for
from tests.support.refusals import refusal

MD5, SHA1, SHA256, SHA512 = "a" * 32, "b" * 40, "c" * 64, "d" * 128
OTHER = "e" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"{SHA256}  vpc.zip\n", f"sha256:{SHA256}", id="GNU, text"),
        pytest.param(f"{SHA256} *vpc.zip\n", f"sha256:{SHA256}", id="GNU, binary"),
        pytest.param(f"{SHA256}  ./dist/vpc.zip\n", f"sha256:{SHA256}", id="GNU, with a directory"),
        pytest.param(f"{SHA256} vpc.zip\n", f"sha256:{SHA256}", id="one blank"),
        pytest.param(f"{SHA256}\tvpc.zip\n", f"sha256:{SHA256}", id="a tab"),
        pytest.param(f"\ufeff{SHA256}  vpc.zip\n", f"sha256:{SHA256}", id="a byte order mark"),
        pytest.param(f"{SHA256}  vpc.zip\r\n", f"sha256:{SHA256}", id="line ends of Windows"),
        pytest.param(f"{SHA256}  vpc.zip", f"sha256:{SHA256}", id="no line end"),
        pytest.param(f"{SHA256.upper()}  vpc.zip\n", f"sha256:{SHA256}", id="capitals"),
        pytest.param(f"{MD5}  vpc.zip\n", f"md5:{MD5}", id="md5sum"),
        pytest.param(f"{SHA1}  vpc.zip\n", f"sha1:{SHA1}", id="sha1sum"),
        pytest.param(f"{SHA512}  vpc.zip\n", f"sha512:{SHA512}", id="sha512sum"),
        pytest.param(f"SHA256 (vpc.zip) = {SHA256}\n", f"sha256:{SHA256}", id="BSD"),
        pytest.param(f"SHA256(vpc.zip)= {SHA256}\n", f"sha256:{SHA256}", id="openssl 1"),
        pytest.param(f"SHA2-256(vpc.zip)= {SHA256}\n", f"sha256:{SHA256}", id="openssl 3"),
        pytest.param(f"SHA2-512(vpc.zip)= {SHA512}\n", f"sha512:{SHA512}", id="openssl 3, sha512"),
        pytest.param(f"MD5 (vpc.zip) = {MD5}\n", f"md5:{MD5}", id="BSD md5"),
        pytest.param(f"# a comment\n\n{OTHER}  net.zip\n{SHA256}  vpc.zip\n", f"sha256:{SHA256}", id="among others"),
        pytest.param(f"{MD5}  vpc.zip\n{SHA512}  vpc.zip\n{SHA256}  vpc.zip\n", f"sha512:{SHA512}", id="the strongest"),
        pytest.param(f"{SHA256}  vpc.zip\n{SHA256}  a/vpc.zip\n", f"sha256:{SHA256}", id="twice the same"),
        pytest.param(f"{SHA256}\n", f"sha256:{SHA256}", id="a bare digest"),
        pytest.param(f"\ufeff {SHA512.upper()}\r\n\n", f"sha512:{SHA512}", id="a bare digest among blanks"),
        pytest.param(MD5, f"md5:{MD5}", id="a bare md5"),
        pytest.param(f"{OTHER}  my vpc.zip\n{SHA256}  vpc.zip\n", f"sha256:{SHA256}", id="a name that ends like ours"),
    ],
)
def test_a_checksum_is_found(text: str, expected: str) -> None:
    assert checksum_for(text, "vpc.zip") == Digest.parse(expected, weak=True)


def test_a_name_may_have_blanks() -> None:
    assert str(checksum_for(f"{SHA256}  my vpc.zip\n", "my vpc.zip")) == f"sha256:{SHA256}"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("", "no checksum", id="empty"),
        pytest.param(f"{SHA256}\n{OTHER}\n", "no checksum", id="two bare digests"),
        pytest.param(f"{SHA256}\n# vpc.zip\n", "no checksum", id="a bare digest and more"),
        pytest.param(SHA256[:56], "no checksum", id="a bare sha224"),
        pytest.param("z" * 64, "no checksum", id="letters that are no digits"),
        pytest.param(f"{SHA256}  other.zip\n", "no checksum", id="another name"),
        pytest.param(f"{SHA256}  vpc.zip.sig\n", "no checksum", id="a longer name"),
        pytest.param(f"{SHA256}  VPC.zip\n", "no checksum", id="a name in capitals"),
        pytest.param(f"{SHA256[:-1]}  vpc.zip\n", "no checksum", id="a digit too few"),
        pytest.param(f"{SHA256[:56]}  vpc.zip\n", "no checksum", id="sha224"),
        pytest.param(f"SHA3-256 (vpc.zip) = {SHA256}\n", "no checksum", id="sha3"),
        pytest.param(f"SHA512 (vpc.zip) = {SHA256}\n", "no checksum", id="the length of another algorithm"),
        pytest.param("\n<html>not found</html>", "web page", id="a web page"),
        pytest.param(f"{SHA256}  vpc.zip\n{OTHER}  vpc.zip\n", "two sha256", id="two that disagree"),
        pytest.param(f"{SHA256}  a/vpc.zip\n{OTHER}  b/vpc.zip\n", "two sha256", id="two directories"),
    ],
)
def test_no_checksum_is_found(text: str, word: str) -> None:
    error = refusal(VerificationError, "verification", checksum_for, text, "vpc.zip")
    assert word in error.message
    hints = {"two sha256": "write checksum=sha256:HEX", "web page": "login"}
    assert hints.get(word, "lines are written") in (error.hint or "")
