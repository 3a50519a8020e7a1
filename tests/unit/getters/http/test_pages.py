"""Web pages where archives were wanted."""

from __future__ import annotations

import pytest

from getmodules.addresses.url import check_url
from getmodules.getters.http.pages import git_spelling, is_page, page_instead
from tests.support.fakes import ZIP


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com/o/r", "git::https://github.com/o/r.git"),
        ("https://github.com/o/r/", "git::https://github.com/o/r.git"),
        ("https://www.github.com/o/r.git", "git::https://github.com/o/r.git"),
        ("https://github.com/o/r/tree/v1", "git::https://github.com/o/r.git?ref=v1"),
        ("https://github.com/o/r/tree/v1/a/b", "git::https://github.com/o/r.git//a/b?ref=v1"),
        ("https://gitlab.com/g/s/p", "git::https://gitlab.com/g/s/p.git"),
        ("https://gitlab.com/g/s/p/-/tree/main/a", "git::https://gitlab.com/g/s/p.git//a?ref=main"),
        ("https://bitbucket.org/o/r/src/main/a/", "git::https://bitbucket.org/o/r.git//a?ref=main"),
        ("https://codeberg.org/o/r/src/branch/main", "git::https://codeberg.org/o/r.git?ref=main"),
        ("https://u:p@github.com/o/r", "git::https://github.com/o/r.git"),
        ("https://github.com/o", None),
        ("https://github.com/o/r/releases", None),
        ("https://gitlab.com/g", None),
        ("https://gitlab.com/g/p/-/issues", None),
        ("https://github.com.evil.example/o/r", None),
        ("https://example.com/o/r", None),
    ],
)
def test_how_a_page_is_written_as_its_repository(url: str, expected: str | None) -> None:
    assert git_spelling(check_url(url)) == expected


def test_the_subdirectory_that_was_wanted_stays() -> None:
    assert git_spelling(check_url("https://github.com/o/r"), "net") == "git::https://github.com/o/r.git//net"
    assert git_spelling(check_url("https://github.com/o/r/tree/v1/a"), "b") == (
        "git::https://github.com/o/r.git//a/b?ref=v1"
    )


@pytest.mark.parametrize(
    ("beginning", "media_type", "expected"),
    [
        pytest.param(b"<!DOCTYPE html>", "text/html", True, id="html"),
        pytest.param(b"\xef\xbb\xbf\r\n <HTML lang=x>", "text/html", True, id="with a byte order mark"),
        pytest.param(b"<!doctype html>", "application/zip", True, id="html, and the server says zip"),
        pytest.param(b"<html>", None, True, id="html without a type"),
        pytest.param(b'{"error": 1}', "application/json; charset=utf-8", False, id="a type with parameters is no type"),
        pytest.param(b'{"error": 1}', "application/json", True, id="json"),
        pytest.param(b'{"error": 1}', "application/problem+json", True, id="a kind of json"),
        pytest.param(b'{"error": 1}', "application/zip", False, id="a tar may begin so"),
        pytest.param(b"", "text/html", False, id="nothing"),
        pytest.param(ZIP[:64], "text/html", False, id="an archive, and the server says html"),
        pytest.param(b"Please log in first", "text/html", True, id="html, and no markup"),
        pytest.param(b"Not allowed", "text/plain", False, id="text, as a tar may begin"),
        pytest.param(b'<meta http-equiv="refresh" content="0">', None, True, id="a page that leads on"),
        pytest.param(b"a.tf" + bytes(96) + b"0000644\0", "text/html", False, id="a tar, and the server says html"),
        pytest.param(b"<main.tf\0", "application/x-tar", False, id="a name"),
    ],
)
def test_what_is_a_page(beginning: bytes, media_type: str | None, expected: bool) -> None:
    assert is_page(beginning, media_type) is expected


@pytest.mark.parametrize(
    ("url", "media_type", "words"),
    [
        ("https://github.com/o/r", "text/html", ["h.example", "text/html", "git::https://github.com/o/r.git"]),
        ("https://u:s3cr3t@git.example/o/r", None, ["without a Content-Type", "git::https://git.example/o/r"]),
    ],
)
def test_the_error_says_what_came_and_what_to_write(url: str, media_type: str | None, words: list[str]) -> None:
    error = page_instead(check_url(url), "", "h.example", media_type)
    assert error.code == "unsupported-content/web-page"
    assert all(word in f"{error.message}\n{error.hint}" for word in words)
    assert "s3cr3t" not in f"{error.message}{error.hint}"
