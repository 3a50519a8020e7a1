"""Addresses of ``oci:`` and ``oci-layout:``; the vectors are in test_detection."""

from __future__ import annotations

import pytest

from getmodules import AddressError
from tests.refusals import refusal
from tests.sites import first_party

SHA256 = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    "source",
    [
        "oci://h.example/r",
        "oci://h.example:5000/a/b//sub?tag=1.0",
        f"oci://h.example/r?digest={SHA256}",
        "oci://127.0.0.1:5000/r",
        "oci://localhost/r",
        "oci-layout:///srv/layout?tag=1.0",
        f"oci-layout:///srv/layout//sub?digest={SHA256}",
    ],
)
def test_an_address(source: str) -> None:
    assert str(first_party().detect(source)) == source


@pytest.mark.parametrize(
    ("source", "word"),
    [
        pytest.param("oci://h/R", "repository", id="capitals"),
        pytest.param("oci://h/r/", "repository", id="a final slash"),
        pytest.param("oci://h//r", "no repository", id="two slashes"),
        pytest.param("oci:///r", "no registry", id="no host"),
        pytest.param("oci://u@h/r", "user name", id="a user name"),
        pytest.param("oci://h/r#x", "fragment", id="a fragment"),
        pytest.param("oci://h/r?tag=", "tag", id="an empty tag"),
        pytest.param("oci://h/r?digest=", "digest", id="an empty digest"),
        pytest.param(f"oci://h/r?tag=1&digest={SHA256}", "exclude", id="both"),
        pytest.param("oci://h/r?ref=x", "no argument", id="an unknown argument"),
        pytest.param("oci::https://h/r", "no other URL", id="another URL"),
        pytest.param("oci::h/r", "no URL", id="a bare name"),
        pytest.param("oci-layout://h/r", "path", id="a layout on a host"),
        pytest.param("oci-layout::https://h/r", "path", id="a layout by http"),
        pytest.param("oci-layout::./x?tag=a/b", "tag", id="a bad tag of a layout"),
    ],
)
def test_an_address_that_is_refused(source: str, word: str) -> None:
    assert word in refusal(AddressError, "address", first_party().detect, source, base="/b").message
