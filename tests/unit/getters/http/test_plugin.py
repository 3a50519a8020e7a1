"""Addresses of http and https."""

from __future__ import annotations

import pytest

from getmodules import AddressError
from tests.support.refusals import refusal
from tests.support.sites import first_party


@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        ("https://h/a.zip", "https://h/a.zip"),
        ("http://h/a.zip", "http://h/a.zip"),
        ("https://h", "https://h"),
        ("https://h/?a=1", "https://h/?a=1"),
        ("https://h/a?any=thing&goes=too", "https://h/a?any=thing&goes=too"),
        ("http::http://h/a", "http://h/a"),
        ("https://u:p@h/a", "https://u:p@h/a"),
        ("https://h/a//b/?x=1", "https://h/a//b?x=1"),
    ],
)
def test_an_address(source: str, canonical: str) -> None:
    assert str(first_party().detect(source)) == canonical


@pytest.mark.parametrize(
    "source", ["https:///x", "http://", "https://?a=1", "http::ftp://h/x", "https::/x", "http::./x", "https://h///"]
)
def test_an_address_that_is_refused(source: str) -> None:
    refusal(AddressError, "address", first_party().detect, source, base="/b")


def test_an_unknown_argument_belongs_to_the_url() -> None:
    address = first_party().detect("https://h/a.zip?x=1&archive=zip&y=2")
    assert dict(address.package.arguments) == {"x": "1", "archive": "zip", "y": "2"}
