"""Addresses of git: what is refused before git is started."""

from __future__ import annotations

import base64

import pytest

from getmodules import AddressError
from getmodules.getters.git import check_ref
from tests.refusals import refusal, words_of
from tests.sites import first_party

KEY = base64.b64encode(b"a private key").decode()


@pytest.mark.parametrize(
    "ref",
    [
        "main", "v1.0.0", "feature/x", "refs/tags/v1", "refs/heads/a/b", "a" * 40, "pkg@1.2.3", "1.0+build", "_x",
        "a=b", "a.lockfile", "x-", "HEAD",
    ],
)  # fmt: skip
def test_a_ref(ref: str) -> None:
    check_ref(ref)


@pytest.mark.parametrize(
    "ref",
    [
        pytest.param("", id="empty"),
        pytest.param("-x", id="an option"),
        pytest.param("--upload-pack=x", id="a long option"),
        pytest.param("a..b", id="a range"),
        pytest.param("HEAD@{1}", id="the reflog"),
        pytest.param("@", id="an @ alone"),
        pytest.param("a//b", id="two slashes"),
        pytest.param("/a", id="a slash in front"),
        pytest.param("a/", id="a slash behind"),
        pytest.param("a/.b", id="a hidden part"),
        pytest.param(".a", id="a dot in front"),
        pytest.param("a.", id="a dot behind"),
        pytest.param("a.lock", id="a lock"),
        pytest.param("a.lock/b", id="a lock in the middle"),
        pytest.param("a b", id="a blank"),
        pytest.param("a~1", id="a parent"),
        pytest.param("a^{}", id="peeled"),
        pytest.param("a:b", id="a refspec"),
        pytest.param("+a", id="a forced refspec"),
        pytest.param("a*", id="a glob"),
        pytest.param("a\\b", id="a backslash"),
        pytest.param("a\n", id="a line feed"),
        pytest.param("ä", id="beyond ASCII"),
        pytest.param("١", id="a digit of another script"),
    ],
)
def test_what_is_no_ref(ref: str) -> None:
    refusal(AddressError, "address", check_ref, ref)


@pytest.mark.parametrize(
    "source",
    [
        "git::https://h/r.git?ref=v1&depth=1&submodules=false",
        f"git::ssh://git@h/r.git?sshkey={KEY}",
        "git::https://h/r.git?depth=999999999",
        "git::https://h:8443/r",
        "git::http://h/r",
        "git::git://h/r",
        "git::file:///srv/r.git",
        "git::ssh://git@h/~/r.git",
    ],
)
def test_an_address(source: str) -> None:
    assert str(first_party().detect(source)) == source


@pytest.mark.parametrize(
    ("source", "word"),
    [
        pytest.param("git::https://h/r?ref=a&ref=b", "twice", id="two refs"),
        pytest.param("git::https://h/r?depth=0", "depth", id="depth 0"),
        pytest.param("git::https://h/r?depth=-1", "depth", id="negative depth"),
        pytest.param("git::https://h/r?depth=", "depth", id="empty depth"),
        pytest.param("git::https://h/r?depth=1e3", "depth", id="an exponent"),
        pytest.param("git::https://h/r?depth=9999999999", "depth", id="an endless depth"),
        pytest.param("git::https://h/r?depth=%D9%A3", "depth", id="a digit of another script"),
        pytest.param("git::https://h/r?submodules=true", "submodules", id="submodules=true"),
        pytest.param("git::https://h/r?submodules=", "submodules", id="submodules, empty"),
        pytest.param("git::https://h/r?branch=x", "branch", id="an unknown argument"),
        pytest.param(f"git::https://h/r?sshkey={KEY}", "ssh://", id="a key for https"),
        pytest.param("git::ssh://h/r?sshkey=", "base64", id="an empty key"),
        pytest.param("git::ssh://h/r?sshkey=%25", "base64", id="a key that is not base64"),
        pytest.param("git::ssh://h/r?sshkey=%C3%A9", "base64", id="a key beyond ASCII"),
        pytest.param("git::ext://sh/x", "transport", id="ext"),
        pytest.param("git::fd://x/y", "transport", id="fd"),
        pytest.param("git::ftp://h/r", "transport", id="ftp"),
        pytest.param("git::s3://h/r", "transport", id="s3"),
        pytest.param("git::https://h", "no repository", id="only a host"),
        pytest.param("git::https://h/", "no repository", id="only a host and a slash"),
        pytest.param("git::https:///r", "names a host", id="no host"),
        pytest.param("git::file://h/r", "names a host", id="a file on another host"),
        pytest.param("git::file:///", "no repository", id="the root directory"),
    ],
)
def test_an_address_that_is_refused(source: str, word: str) -> None:
    error = refusal(AddressError, "address", first_party().detect, source)
    assert word in error.message
    assert KEY not in words_of(error)
