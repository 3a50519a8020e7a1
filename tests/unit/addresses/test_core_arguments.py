"""The core's own arguments, read once."""

from __future__ import annotations

from typing import Any

import pytest

from getmodules import AddressError, Digest
from getmodules.addresses.core_arguments import Treatment, parse_checksum
from getmodules.addresses.grammar import parse_query
from tests.support.refusals import refusal

FORMATS = ("tar", "tar.gz", "tgz", "zip")
HEX = {"md5": "0" * 32, "sha1": "1" * 40, "sha256": "2" * 64, "sha384": "3" * 96, "sha512": "4" * 128}


def _treatment(query: str) -> Treatment:
    return Treatment.of(parse_query(query), FORMATS)


@pytest.mark.parametrize(
    ("query", "archive"),
    [
        pytest.param("", None, id="absent: found out later"),
        pytest.param("archive=zip", "zip", id="a format"),
        pytest.param("archive=tar.gz", "tar.gz", id="a format with a dot"),
        *(pytest.param(f"archive={no}", False, id=no) for no in ("0", "f", "F", "false", "False", "FALSE")),
        pytest.param("filename=main.tf", False, id="filename implies false"),
    ],
)
def test_archive(query: str, archive: Any) -> None:
    assert _treatment(query).archive == archive


@pytest.mark.parametrize("value", ["", "rar", "true", "1", "no", "ZIP", "fALSE", ".zip"])
def test_an_archive_that_nobody_reads(value: str) -> None:
    error = refusal(AddressError, "address", _treatment, f"archive={value}")
    assert all(name in (error.hint or "") for name in FORMATS)


@pytest.mark.parametrize("algorithm", HEX)
@pytest.mark.parametrize("bare", [False, True], ids=["named", "by length"])
def test_a_checksum(algorithm: str, bare: bool) -> None:
    digits = HEX[algorithm]
    checksum = _treatment(f"checksum={digits if bare else f'{algorithm}:{digits}'}").checksum
    assert checksum == Digest(algorithm, digits)


@pytest.mark.parametrize(
    ("value", "source"),
    [
        pytest.param("file:./SUMS", "./SUMS", id="relative"),
        pytest.param("file:/SUMS", "/SUMS", id="absolute"),
        pytest.param("file:https://h/SUMS", "https://h/SUMS", id="a URL"),
        pytest.param("file:///SUMS", "file:///SUMS", id="a file URL, where the marker is the scheme"),
        pytest.param("file:file:///SUMS", "file:///SUMS", id="a file URL with the marker"),
    ],
)
def test_a_checksum_file(value: str, source: str) -> None:
    assert parse_checksum(parse_query(f"checksum={value}")) == source


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        pytest.param("", "sha256:HEX", id="empty"),
        pytest.param("file:", "SHA256SUMS", id="a file without a name"),
        pytest.param("2" * 63, "sha256:HEX", id="bare, an odd length"),
        pytest.param("2" * 56, "sha256:HEX", id="bare, of sha224"),
        pytest.param("sha256:" + "2" * 63, "sha256:HEX", id="named, short"),
        pytest.param("sha256:" + "2" * 65, "sha256:HEX", id="named, long"),
        pytest.param("sha256:" + "A" * 64, "a" * 64, id="capitals"),
        pytest.param("sha256:" + "g" * 64, "sha256:HEX", id="no hexadecimal digits"),
        pytest.param("sha256:" + "٢" * 64, "sha256:HEX", id="digits of another script"),
        pytest.param("sha224:" + "2" * 56, "sha256:HEX", id="an algorithm that we do not take"),
        pytest.param("SHA256:" + "2" * 64, "sha256:HEX", id="an algorithm in capitals"),
        pytest.param(":" + "2" * 64, "sha256:HEX", id="no algorithm"),
        pytest.param("md5:" + "2" * 64, "sha256:HEX", id="the length of another algorithm"),
    ],
)
def test_a_checksum_that_is_refused(value: str, hint: str) -> None:
    error = refusal(AddressError, "address", _treatment, f"checksum={value}")
    assert hint in (error.hint or "")
    assert len(error.message) < 300


def test_nothing_said_is_nothing_done() -> None:
    assert _treatment("other=1") == Treatment(archive=None, checksum=None, filename=None)
