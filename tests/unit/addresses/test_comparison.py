"""The one spelling in which URLs are compared, and patterns."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from getmodules import AddressError, ConfigError
from getmodules.addresses.comparison import Pattern, bare_url, comparable
from tests.support.refusals import refusal


@pytest.mark.parametrize(
    ("url", "compared"),
    [
        pytest.param("https://H.Example/P", "https://h.example/P", id="case of the host, not of the path"),
        pytest.param("HTTPS://h.example/p", "https://h.example/p", id="case of the scheme"),
        pytest.param("https://h.example:443/p", "https://h.example/p", id="default port"),
        pytest.param("http://h.example:443/p", "http://h.example:443/p", id="default port of another scheme"),
        pytest.param("oci://h.example:443/p", "oci://h.example/p", id="default port of oci"),
        pytest.param("ssh://git@h.example:22/p", "ssh://h.example/p", id="default port and user of ssh"),
        pytest.param("https://h.example./p", "https://h.example/p", id="the root's dot"),
        pytest.param("https://h.example.:8443/p", "https://h.example:8443/p", id="the root's dot, and a port"),
        pytest.param("https://allowed.example@evil.example/p", "https://evil.example/p", id="user like a host"),
        pytest.param("https://h.example/%61%2f%c3%a4", "https://h.example/a%2F%C3%A4", id="escapes"),
        pytest.param("https://h.example/ä", "https://h.example/%C3%A4", id="no ASCII"),
        pytest.param("https://h.example/a/./b/.", "https://h.example/a/b", id="dots"),
        pytest.param("https://h.example/a/%2e/b", "https://h.example/a/b", id="dots, percent-encoded"),
        pytest.param("https://h.example", "https://h.example/", id="no path"),
        pytest.param("https://h.example/*", "https://h.example/%2A", id="a star, which is none of a pattern's"),
        pytest.param("https://h.example/%2a", "https://h.example/%2A", id="a star, percent-encoded"),
        pytest.param("https://[0:0::1]/p", "https://[::1]/p", id="IPv6"),
        pytest.param("oci://docker.io/nginx", "oci://docker.io/library/nginx", id="Docker's own images"),
        pytest.param("oci://registry-1.docker.io/a/b", "oci://docker.io/a/b", id="Docker's API"),
        pytest.param("oci://index.docker.io/a/b", "oci://docker.io/a/b", id="Docker's other name"),
        pytest.param("oci://docker.io/", "oci://docker.io/", id="Docker, without a repository"),
        pytest.param("oci://registry-1.docker.io:443/a/b", "oci://docker.io/a/b", id="Docker's API, with its port"),
        pytest.param("oci://docker.io.:443/nginx", "oci://docker.io/library/nginx", id="Docker, with dot and port"),
    ],
)
def test_urls_are_compared_in_one_spelling(url: str, compared: str) -> None:
    assert comparable(url) == compared


@pytest.mark.parametrize("url", ["https://h.example/a/../b", "https://h.example/a/%2e%2E/b", "https://h.example/a\\b"])
def test_what_can_be_read_in_two_ways_is_not_compared(url: str) -> None:
    with pytest.raises(AddressError):
        comparable(url)


def test_a_bare_url_has_no_query_and_no_user() -> None:
    assert bare_url("https://u:p@h.example/a?token=s3cr3t#x") == "https://h.example/a"


@pytest.mark.parametrize(
    ("pattern", "url", "fits"),
    [
        pytest.param("oci://h.example/*", "oci://h.example/acme/vpc", True, id="any path"),
        pytest.param("oci://h.example/*", "oci://h.example.evil.example/p", False, id="a longer host"),
        pytest.param("oci://h.example*", "oci://h.example.evil.example/p", True, id="no slash before the star"),
        pytest.param("oci://h.example/*", "oci://h.example:5000/p", False, id="another port"),
        pytest.param("oci://h.example/acme/*/vpc", "oci://h.example/acme/a/b/vpc", True, id="a star has slashes"),
        pytest.param("oci://h.example/acme/*/vpc", "oci://h.example/acme/vpc", False, id="two slashes are two"),
        pytest.param("oci://h.example/p", "oci://h.example/p", True, id="no star"),
        pytest.param("oci://h.example/p", "oci://h.example/pq", False, id="no star, longer"),
        pytest.param("oci://h.example/a?c", "oci://h.example/abc", False, id="a question mark is itself"),
        pytest.param("oci://h.example/[ab]c", "oci://h.example/ac", False, id="brackets are themselves"),
        pytest.param("oci://h.example/a.c", "oci://h.example/abc", False, id="a dot is itself"),
        pytest.param("git::https://h.example/*", "https://h.example/r.git", True, id="force"),
        pytest.param("git::ssh://git@h.example/*", "ssh://git@h.example/r.git", True, id="user"),
        pytest.param("OCI://H.Example:443/P", "oci://h.example/P", True, id="case and default port"),
        pytest.param("https://h.example./%61", "https://h.example/a", True, id="dot and escapes"),
        pytest.param("https://h.example", "https://h.example/", True, id="no path"),
        pytest.param("https://h.example", "https://h.example/p", False, id="no path, and there is one"),
        pytest.param("https://[0::1]/*", "https://[::1]/p", True, id="IPv6"),
        pytest.param("*", "oci://h.example/p", True, id="everything"),
        pytest.param("*://h.example/*", "oci://h.example/p", True, id="any scheme"),
        pytest.param("*.Example/*", "https://h.example/p", True, id="the end of a host"),
        pytest.param("https://*", "https://h.example/p", True, id="a scheme"),
        pytest.param("oci://docker.io/nginx", "oci://registry-1.docker.io/library/nginx", True, id="Docker"),
        pytest.param("oci://registry-1.docker.io/*", "oci://docker.io/nginx", True, id="Docker's API"),
        pytest.param("*ab*ab", "oci://h/ab", False, id="pieces do not overlap"),
        pytest.param("https://h.example:" + "9" * 5_000, "https://h.example/", False, id="a port without an end"),
        pytest.param("*a*b", "oci://a/b", True, id="in order"),
        pytest.param("https://h.example/%2a", "https://h.example/*", True, id="a star itself"),
        pytest.param("https://h.example/%2A", "https://h.example/p", False, id="a star itself, and not any character"),
        pytest.param("*b/*a", "oci://a/b", False, id="in another order"),
    ],
)
def test_patterns(pattern: str, url: str, *, fits: bool) -> None:
    assert Pattern.of(pattern).fits(comparable(url)) is fits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("ghcr.io/*", "no scheme", id="no scheme"),
        pytest.param("/etc/x", "no scheme", id="a path"),
        pytest.param("https://bücher.example/*", "not ASCII", id="a host that is not ASCII"),
        pytest.param("*://h.example:443/*", "usual port", id="a usual port of any scheme"),
    ],
)
def test_patterns_that_can_fit_nothing(text: str, words: str) -> None:
    error = refusal(ConfigError, "config", Pattern.of, text)
    assert words in error.message
    assert error.hint


@pytest.mark.parametrize("text", ["a" * 200_000, "a+" * 100_000 + "/*", "a:" * 100_000 + "*/x"])
def test_a_long_pattern_takes_no_time(text: str) -> None:
    began = time.monotonic()
    with suppress(ConfigError):
        Pattern.of(text)
    assert time.monotonic() - began < 1


def test_many_wildcards_take_no_time() -> None:
    began = time.monotonic()
    assert not Pattern.of("*" + "a*" * 200 + "b").fits("https://h.example/" + "a" * 5_000)
    assert time.monotonic() - began < 1
