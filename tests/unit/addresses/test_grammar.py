"""The grammar: what is cut where, and what can be no address in any scheme."""

from __future__ import annotations

import pytest

from getmodules import AddressError
from getmodules.addresses.grammar import MAX_LENGTH, clean_subdir, join_subdirs, parse, parse_query
from getmodules.addresses.types import SourceAddress
from tests.support.refusals import refusal, words_of


def _cut(text: str) -> tuple[str | None, str, str, str]:
    address = parse(text)
    return address.force, address.body, address.subdir, address.arguments.query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("body", (None, "body", "", ""), id="a body alone"),
        pytest.param("git::b", ("git", "b", "", ""), id="force"),
        pytest.param("GIT::b", ("git", "b", "", ""), id="force in capitals"),
        pytest.param("oci-layout::./d", ("oci-layout", "./d", "", ""), id="force with a scheme's letters"),
        pytest.param("a+b.c-d::x", ("a+b.c-d", "x", "", ""), id="force with all of a scheme's letters"),
        pytest.param("http://[::1]:80/x", (None, "http://[::1]:80/x", "", ""), id="colons of an IPv6 host"),
        pytest.param("h/p//sub", (None, "h/p", "sub", ""), id="subdirectory"),
        pytest.param("a//b//c", (None, "a", "b/c", ""), id="only the first // splits"),
        pytest.param("https://h/p//s", (None, "https://h/p", "s", ""), id="the scheme's // is skipped"),
        pytest.param("https://h//s", (None, "https://h", "s", ""), id="right after the host"),
        pytest.param("h/p//", (None, "h/p", "", ""), id="an empty subdirectory"),
        pytest.param("h/p?a=b//c", (None, "h/p", "", "a=b//c"), id="a // in the query"),
        pytest.param("h/p?u=https://x//y", (None, "h/p", "", "u=https://x//y"), id="a URL in the query"),
        pytest.param("h/p//s?a=1&b=2", (None, "h/p", "s", "a=1&b=2"), id="the query goes back onto the package"),
        pytest.param("h/p?", (None, "h/p", "", ""), id="an empty query"),
        pytest.param("h/p?a=b?c", (None, "h/p", "", "a=b?c"), id="only the first ? splits"),
    ],
)
def test_an_address_is_cut(text: str, expected: tuple[str | None, str, str, str]) -> None:
    assert _cut(text) == expected


@pytest.mark.parametrize(
    ("typed", "clean"),
    [
        pytest.param("a//b", "a/b", id="double slash"),
        pytest.param("a/./b/", "a/b", id="dot and slash at the end"),
        pytest.param(".", "", id="the package itself"),
        pytest.param("a%20b", "a b", id="escape"),
        pytest.param("a%2Fb", "a/b", id="escaped slash"),
        pytest.param("a+b", "a+b", id="plus"),
        pytest.param("caf%C3%A9", "café", id="UTF-8"),
        pytest.param("100%", "100%", id="a percent sign that is no escape"),
        pytest.param("..a/b..", "..a/b..", id="dots in names"),
        pytest.param("mod-*/x[12]", "mod-*/x[12]", id="glob"),
    ],
)
def test_a_subdirectory_is_cleaned(typed: str, clean: str) -> None:
    assert clean_subdir(typed) == clean


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param("..", id="alone"),
        pytest.param("a/../b", id="where it would stay inside"),
        pytest.param("../../x", id="at the start"),
        pytest.param("a/..", id="at the end"),
        pytest.param("a\\..\\b", id="between backslashes"),
        pytest.param("%2e%2e/x", id="percent-encoded"),
        pytest.param("%2E./x", id="half percent-encoded"),
        pytest.param("%252e%252e/x", id="twice percent-encoded"),
        pytest.param("a%2f..%2fb", id="between encoded slashes"),
        pytest.param("a%5c..%5cb", id="between encoded backslashes"),
        pytest.param("%25252525252e./x", id="encoded more often than anybody would look"),
    ],
)
def test_a_subdirectory_never_leads_out(typed: str) -> None:
    assert "'..'" in refusal(AddressError, "address", clean_subdir, typed).message


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        pytest.param("/etc", "absolute", id="absolute"),
        pytest.param("%2Fetc", "absolute", id="absolute, encoded"),
        pytest.param("a\\b", "backslash", id="backslash"),
        pytest.param("a%5Cb", "backslash", id="backslash, encoded"),
        pytest.param("a%00b", "control", id="NUL"),
        pytest.param("a%0Ab", "control", id="line feed"),
        pytest.param("a%FFb", "UTF-8", id="not UTF-8"),
        pytest.param("a#b", "fragment", id="fragment"),
    ],
)
def test_a_subdirectory_that_is_refused(typed: str, word: str) -> None:
    assert word in refusal(AddressError, "address", clean_subdir, typed).message


@pytest.mark.parametrize(
    ("outer", "inner", "joined"),
    [("a", "b", "a/b"), ("", "b", "b"), ("a", "", "a"), ("", "", "")],
    ids=["both", "inner", "outer", "none"],
)
def test_subdirectories_are_joined(outer: str, inner: str, joined: str) -> None:
    assert join_subdirs(outer, inner) == joined


@pytest.mark.parametrize(
    ("query", "values"),
    [
        pytest.param("tag=1.0.0+build", {"tag": "1.0.0+build"}, id="a plus is a plus"),
        pytest.param("sshkey=a+b/c==", {"sshkey": "a+b/c=="}, id="base64"),
        pytest.param("a=1%2B1", {"a": "1+1"}, id="an escape"),
        pytest.param("flag", {"flag": ""}, id="without a value"),
        pytest.param("a=", {"a": ""}, id="an empty value"),
        pytest.param("b=2&a=1", {"b": "2", "a": "1"}, id="in the order in which it was typed"),
        pytest.param("ref=feature/x", {"ref": "feature/x"}, id="a slash"),
        pytest.param("%61=1", {"a": "1"}, id="an escaped name"),
    ],
)
def test_a_query_is_read(query: str, values: dict[str, str]) -> None:
    arguments = parse_query(query)
    assert list(arguments.items()) == list(values.items())
    assert arguments.query == query


def test_the_spelling_of_a_query_stays_but_for_what_no_url_can_hold() -> None:
    assert parse_query("a=%2f&b=/&c=é").query == "a=%2f&b=/&c=%C3%A9"


@pytest.mark.parametrize(
    ("query", "word"),
    [
        pytest.param("tag=v1;x=y", "';'", id="semicolon"),
        pytest.param("tag=%zz", "no escape", id="bad escape"),
        pytest.param("tag=%", "no escape", id="lone percent sign"),
        pytest.param("a=1&a=2", "twice", id="repeated"),
        pytest.param("a=1&%61=2", "twice", id="repeated in another spelling"),
        pytest.param("ref=x&ref=y", "twice", id="two refs"),
        pytest.param("a=1&&b=2", "without a name", id="empty pair"),
        pytest.param("=1", "without a name", id="no name"),
        pytest.param("a=1 2", "blank", id="blank"),
        pytest.param("a=%0d%0aX:1", "control", id="encoded line end"),
        pytest.param("a%00=1", "control", id="encoded NUL in a name"),
        pytest.param("a=%ff", "UTF-8", id="not UTF-8"),
        pytest.param("a=1#frag", "fragment", id="fragment"),
    ],
)
def test_a_query_that_is_refused(query: str, word: str) -> None:
    assert word in refusal(AddressError, "address", parse, f"h/p?{query}").message


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(" ", id="a blank"),
        pytest.param(" \u00a0\u2003", id="blanks of other kinds"),
        pytest.param(" h/p", id="blank in front"),
        pytest.param("h/p ", id="blank behind"),
        pytest.param("git::", id="git:: alone"),
        pytest.param("git::?ref=x", id="git:: with only a query"),
        pytest.param("::https://h/p", id="no force before ::"),
        pytest.param("git::ext::sh -c id", id="two forces"),
        pytest.param("git::git::https://h/p", id="the same force twice"),
        pytest.param("?a=1", id="only a query"),
        pytest.param("//a/../../x", id="no package before //"),
        pytest.param("a\tb", id="tab"),
        pytest.param("a\rb", id="CR"),
        pytest.param("a\nb", id="LF"),
        pytest.param("a\x00b", id="NUL"),
        pytest.param("a\x1b[2Jb", id="escape sequence"),
        pytest.param("a\u202eb", id="right-to-left override"),
        pytest.param("a\u200bb", id="zero-width space"),
        pytest.param("a\ud800b", id="lone surrogate"),
        pytest.param("h/" + "a" * MAX_LENGTH, id="a little too long"),
        pytest.param("h/" + "a" * 100_000, id="100 kB"),
    ],
)
def test_what_can_be_no_address(text: str) -> None:
    error = refusal(AddressError, "address", parse, text)
    assert words_of(error).replace("\n", "").isprintable()
    assert len(words_of(error)) < 2_000


def test_a_long_address_is_allowed_for_a_key() -> None:
    assert parse("h/p?sshkey=" + "A" * (MAX_LENGTH - 11)).body == "h/p"


def test_what_was_parsed_is_a_value() -> None:
    assert parse("h/p//s?a=1") == parse("h/p//s?a=1")
    assert isinstance(hash(parse("h/p").arguments), int)
    assert isinstance(parse("h/p"), SourceAddress)
