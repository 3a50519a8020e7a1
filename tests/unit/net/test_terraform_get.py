"""Where a web address says that a module is."""

from __future__ import annotations

import time

import pytest

from getmodules import UnsafeContentError
from getmodules.net.terraform_get import PAGE_BYTES, absolute, location_in_page
from tests.support.refusals import refusal

META = '<meta name="terraform-get" content="git::https://h/r?ref=v1">'
FOUND = "git::https://h/r?ref=v1"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(META, FOUND, id="alone"),
        pytest.param(f"<!DOCTYPE html>\n<html><head><meta charset=utf-8>{META}</head></html>", FOUND, id="page"),
        pytest.param(f"<?xml version='1.0'?><html><head>{META}</head></html>", FOUND, id="xhtml"),
        pytest.param("<META CONTENT='git::https://h/r?ref=v1' NAME='Terraform-Get' />", FOUND, id="other spelling"),
        pytest.param("<meta name=terraform-get content=https://h/x.zip>", "https://h/x.zip", id="no quotes"),
        pytest.param('<meta name="terraform-get" content="https://h/x?a=1&amp;b=2">', "https://h/x?a=1&b=2", id="&"),
        pytest.param('<meta name="terraform-get" content=" https://h/x ">', "https://h/x", id="blanks around"),
        pytest.param('<meta title="a>b" name="terraform-get" content="x">', "x", id="> in an attribute"),
        pytest.param('<meta name="terraform-get" name="y" content="x" content="z">', "x", id="the first of two counts"),
        pytest.param(f"{META}<meta name='terraform-get' content='other'>", FOUND, id="the first element counts"),
        pytest.param(f"<title>1 < 2</title>{META}", FOUND, id="< in the title"),
        pytest.param("", None, id="empty"),
        pytest.param("no markup < at all", None, id="no tag"),
        pytest.param(f"<html><body>{META}</body></html>", None, id="in the body"),
        pytest.param(f"<html><head></head>{META}</html>", None, id="behind the head"),
        pytest.param(f"<!-- {META} -->", None, id="comment"),
        pytest.param(f"<!-- {META}", None, id="comment without an end"),
        pytest.param(f"<script>'{META}'</script>", None, id="script"),
        pytest.param(f"<TITLE>{META}</TITLE>", None, id="title"),
        pytest.param(f"<template>{META}</template>", None, id="template"),
        pytest.param(f"<title>{META}", None, id="title without an end"),
        pytest.param('<meta name="terraform-get">', None, id="no content"),
        pytest.param('<meta name="terraform-get" content="">', None, id="empty content"),
        pytest.param('<meta name="terraform-getter" content="x">', None, id="another name"),
        pytest.param('<meta property="terraform-get" content="x">', None, id="another attribute"),
        pytest.param('<meta name="terraform-get" content="x', None, id="cut"),
        pytest.param('<meta name="terraform-get content="x">', None, id="quotes that do not fit"),
    ],
)
def test_what_a_page_names(page: str, expected: str | None) -> None:
    assert location_in_page(page) == expected


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<!--",
        "<!",
        "<a ",
        "<a '",
        "<a \"'",
        "<title>",
        "<title></title",
        "<meta ",
        "<meta a=b ",
        "<meta a=",
        "\"'",
    ],
)
def test_no_page_takes_long(piece: str) -> None:
    page = (piece * PAGE_BYTES)[:PAGE_BYTES]
    began = time.monotonic()
    location_in_page(page)
    location_in_page(f"{page}>")
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://other/x.zip//sub?archive=zip", "https://other/x.zip//sub?archive=zip"),
        ("git::ssh://git@h/r//sub", "git::ssh://git@h/r//sub"),
        ("github.com/o/r", "github.com/o/r"),
        ("/x.zip", "https://h:8443/x.zip"),
        ("/etc/passwd", "https://h:8443/etc/passwd"),
        ("./x.zip//sub?a=//b", "https://h:8443/a/b/x.zip//sub?a=//b"),
        ("../x", "https://h:8443/a/x"),
        ("../../../../x", "https://h:8443/x"),
        ("//evil/x", "//evil/x"),
        ("file:///etc", "file:///etc"),
    ],
)
def test_a_path_is_one_on_the_server(location: str, expected: str) -> None:
    assert absolute(location, "https://h:8443/a/b/c?query=/x") == expected


@pytest.mark.parametrize("location", ["/x\x00", "/x//../y", "./x?a=1&a=2", "/x?%zz", "/x\u202ey"])
def test_a_path_that_is_none(location: str) -> None:
    error = refusal(UnsafeContentError, "unsafe-content/elsewhere", absolute, location, "https://h/a")
    assert error.message.isprintable()
