"""URLs: each part is judged, and what can be read in two ways is refused."""

from __future__ import annotations

import pytest

from getmodules import AddressError
from getmodules.addresses import url
from getmodules.addresses.url import check_url
from tests.support.refusals import refusal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://H.Example/P", "https://h.example/P", id="the host in lower case, not the path"),
        pytest.param("HTTPS://h/p", "https://h/p", id="the scheme in lower case"),
        pytest.param("https://h:8080/p", "https://h:8080/p", id="port"),
        pytest.param("https://h:443/p", "https://h:443/p", id="a default port stays"),
        pytest.param("https://h", "https://h", id="no path"),
        pytest.param("https://u:p%40w@h/x", "https://u:p%40w@h/x", id="user and password"),
        pytest.param("https://[::1]/x", "https://[::1]/x", id="IPv6"),
        pytest.param("https://127.0.0.1/x", "https://127.0.0.1/x", id="IPv4"),
        pytest.param("https://h/ä b".replace(" ", "%20"), "https://h/%C3%A4%20b", id="letters beyond ASCII"),
        pytest.param("https://h/a%2Fb", "https://h/a%2Fb", id="escapes stay"),
        pytest.param("file:///a/b", "file:///a/b", id="no host"),
        pytest.param("https://h/pkg@1.2", "https://h/pkg@1.2", id="an @ in the path"),
        pytest.param("https://h./x", "https://h./x", id="a final dot of the host"),
    ],
)
def test_a_url(text: str, expected: str) -> None:
    assert str(check_url(text)) == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("no url", "no URL", id="no URL"),
        pytest.param("https://good\\@evil/", "backslash", id="a backslash that two parsers read differently"),
        pytest.param("https://exa mple.com/x", "blank", id="blank"),
        pytest.param("https://h/x#y", "fragment", id="fragment"),
        pytest.param("https://h:0/x", "port", id="port 0"),
        pytest.param("https://h:65536/x", "port", id="port 65536"),
        pytest.param("https://h:/x", "port", id="empty port"),
        pytest.param("https://h:080/x", "port", id="port with a zero in front"),
        pytest.param("https://h:+80/x", "port", id="port with a sign"),
        pytest.param("https://h:8_0/x", "port", id="port as Python would read it"),
        pytest.param("https://h:٨٠/x", "port", id="port in other digits"),
        pytest.param("https://h:1:2/x", "port", id="two ports"),
        pytest.param("https://a@b@c/x", "two '@'", id="two @"),
        pytest.param("https://u@/x", "no host", id="user without a host"),
        pytest.param("https://-h/x", "not valid", id="a host that begins with -"),
        pytest.param("ssh://-oProxyCommand=touch/y", "not valid", id="an option as host"),
        pytest.param("ssh://-oProxyCommand=x@h/y", "user name", id="an option as user"),
        pytest.param("ssh://%2DoProxyCommand=x@h/y", "user name", id="an encoded option as user"),
        pytest.param("https://a..b/x", "not valid", id="an empty label"),
        pytest.param("https://%68/x", "not valid", id="an encoded host"),
        pytest.param("https://bücher.example/x", "ASCII", id="host beyond ASCII"),
        pytest.param("https://" + "a" * 254 + "/x", "not valid", id="host too long"),
        pytest.param("https://1.2.3/x", "IP", id="a short IPv4"),
        pytest.param("https://0x7f.1/x", "IP", id="a hexadecimal IPv4"),
        pytest.param("https://2130706433/x", "IP", id="an IPv4 as one number"),
        pytest.param("https://127.0.0.01/x", "IP", id="an IPv4 with a zero in front"),
        pytest.param("https://[::1/x", "not valid", id="an open bracket"),
        pytest.param("https://[::1]x/y", "not valid", id="letters after the bracket"),
        pytest.param("https://[fe80::1%25eth0]/x", "IP", id="a zone"),
        pytest.param("https://h/%zz", "no escape", id="bad escape"),
        pytest.param("https://h/%00", "control", id="encoded NUL"),
        pytest.param("https://h/%0d%0aX", "control", id="encoded line end"),
        pytest.param("https://h/a/../b", "'..'", id="dots in the path"),
        pytest.param("https://h/%2e%2e/b", "'..'", id="encoded dots in the path"),
        pytest.param("https://u%0a@h/x", "control", id="a control character in the user"),
        pytest.param("https://u%zz@h/x", "percent-encoded", id="a bad escape in the user"),
        pytest.param('https://u"@h/x', "percent-encoded", id="a quote in the user"),
    ],
)
def test_a_url_that_is_refused(text: str, word: str) -> None:
    assert word in refusal(AddressError, "address", check_url, text).message


def test_the_local_path_of_a_url_has_no_escapes() -> None:
    assert check_url("file:///a%20b/%C3%A9").local_path().as_posix() == "/a b/é"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("https://remembered.example/p", 1, id="nothing secret"),
        pytest.param("https://user:secret@forgotten.example/p", 0, id="a password"),
        pytest.param("https://token@forgotten.example/p", 0, id="a token"),
    ],
)
def test_no_url_is_remembered_that_may_hold_a_secret(text: str, kept: int) -> None:
    url._remembered_url.cache_clear()
    assert check_url(text) == check_url(text)
    assert url._remembered_url.cache_info().currsize == kept
