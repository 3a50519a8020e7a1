"""Secrets are masked, whatever they are wrapped in; text from outside cannot act on a terminal."""

from __future__ import annotations

import copy
import pickle
import time

import pytest

from getmodules import Secret
from getmodules.util.redact import is_secret_argument, printable, quoted, redact, redact_address

KEY = "S3cr3t"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(f"https://u:{KEY}@h/x", "https://u:****@h/x", id="password"),
        pytest.param(f"https://u:@{KEY}@h/x", "https://u:****@h/x", id="an @ in a password"),
        pytest.param(f"https://{KEY}@h/x", "https://****@h/x", id="a lone user over https may be a token"),
        pytest.param(f"HTTP://{KEY}@h/x", "HTTP://****@h/x", id="in capitals"),
        pytest.param(f"s3://{KEY}@h/x", "s3://****@h/x", id="for any scheme"),
        pytest.param("ssh://git@h/x", "ssh://git@h/x", id="the user name of ssh stays"),
        pytest.param(f"ssh://git:{KEY}@h/x", "ssh://git:****@h/x", id="a password for ssh"),
        pytest.param(f"ssh://git%3A{KEY}@h/x", "ssh://****@h/x", id="an encoded colon"),
        pytest.param("git@h:o/r.git", "git@h:o/r.git", id="the scp form stays"),
        pytest.param(f"u:{KEY}@h:o/r", "u:****@h:o/r", id="the scp form with a password"),
        pytest.param(f"git::https://u:{KEY}@h/x", "git::https://u:****@h/x", id="after a force"),
        pytest.param(f"https://u:a/{KEY}@h/x", "https://u:****@h/x", id="a password that is no part of a URL"),
        pytest.param(f"https//u:{KEY}@h/x", "https//u:****@h/x", id="a scheme without its colon"),
        pytest.param(f"git::https//u:a/{KEY}@h/x", "git::https//u:****@h/x", id="neither colon nor a proper password"),
        pytest.param(f"//u:{KEY}@h/x", "//u:****@h/x", id="no scheme at all"),
        pytest.param(f"Https//{KEY}@h/x", "Https//****@h/x", id="a token after a scheme without its colon"),
        pytest.param("github.com/o/r//modules/vpc@1.2", "github.com/o/r//modules/vpc@1.2", id="an @ in a subdirectory"),
        pytest.param("h/r:1@sha256:ab", "h/r:1@sha256:ab", id="a tag and a digest without a scheme"),
        pytest.param(f"(u(v:{KEY}@h", "(u(v:****@h", id="brackets before and in a user name"),
        pytest.param(f"(:{KEY}@h", "(:****@h", id="a password without a user in brackets"),
        pytest.param(f"a:/b:x://c:/d:x/{KEY}@h", "a:/b:x://c:/d:****@h", id="after what is no password"),
        pytest.param(
            f"/x?b=%2e\udcff.u:{KEY}@h", "/x?b=.%5Cudcff.u:****@h", id="a byte that is not UTF-8, beside encoded ones"
        ),
        pytest.param(f"https://h/x?sshkey={KEY}", "https://h/x?sshkey=****", id="an argument"),
        pytest.param(f"https://h/x?a=b&token={KEY}&c=d", "https://h/x?a=b&token=****&c=d", id="among others"),
        pytest.param(f"https://h/x?TOKEN={KEY}", "https://h/x?TOKEN=****", id="an argument in capitals"),
        pytest.param(f"https://h/x?%74oken={KEY}", "https://h/x?%74oken=****", id="an encoded name"),
        pytest.param(f"https://h/x?a=1;token={KEY}", "https://h/x?a=1;token=****", id="after a semicolon"),
        pytest.param(f"https://h/x?token={KEY};{KEY}&a=1", "https://h/x?token=****&a=1", id="with a semicolon"),
        pytest.param(f"https://h/x?token={KEY}#{KEY}", "https://h/x?token=****", id="with a fragment"),
        pytest.param("https://h/x?token=", "https://h/x?token=", id="an empty one has nothing to hide"),
        pytest.param("https://h/x?ref=v1&depth=1", "https://h/x?ref=v1&depth=1", id="other arguments"),
        pytest.param("https://h:80/pkg@1.2.3", "https://h:80/pkg@1.2.3", id="an @ in the path, after a port"),
        pytest.param("http://[::1]:80/a@b", "http://[::1]:80/a@b", id="an IPv6 host"),
        pytest.param("oci://h/r:1@sha256:ab", "oci://h/r:1@sha256:ab", id="a tag and a digest"),
        pytest.param("file:///a@b", "file:///a@b", id="a path with an @"),
        pytest.param(
            f"/x?checksum=file:https%3A%2F%2Fu%3A{KEY}%40h%2Fs", "/x?checksum=file:https://u:****@h/s", id="encoded URL"
        ),
        pytest.param(f"/x?u=https://h/%3Ftoken%3D{KEY}", "/x?u=https://h/%3Ftoken%3D****", id="encoded argument"),
        pytest.param(
            f"/x?u=%2568ttps://h/%253Ftoken%253D{KEY}", "/x?u=https://h/%3Ftoken%3D****", id="twice encoded argument"
        ),
    ],
)
def test_an_address_is_shown(text: str, shown: str) -> None:
    assert redact_address(text) == shown
    assert redact(text) == shown
    assert redact_address(shown) == shown, "once is enough"


@pytest.mark.parametrize("blank", [" ", "\n", "\r\n", "\t"], ids=repr)
def test_a_key_that_was_pasted_with_its_line_ends(blank: str) -> None:
    assert redact_address(f"/x?sshkey={KEY}{blank}{KEY}&a=1") == "/x?sshkey=****&a=1"


def test_a_sentence_goes_on_after_the_address() -> None:
    said = f"cannot reach https://u:{KEY}@h/x?token={KEY} today: ask a@b and https://v:{KEY}@i/"
    assert redact(said) == "cannot reach https://u:****@h/x?token=**** today: ask a@b and https://v:****@i/"
    plain = "https://h.example: connection refused; mail admin@h.example"
    assert redact(plain) == plain


@pytest.mark.parametrize(
    "name",
    [
        "sshkey", "token", "access_token", "private-token", "accessToken", "job.token", "X-Amz-Signature",
        "X-Amz-Security-Token", "X-Amz-Credential", "AWSAccessKeyId", "aws_access_key_id", "aws_access_key_secret",
        "X-Goog-Signature", "sig", "Signature", "key", "api_key", "apikey", "password", "passphrase", "client_secret",
        "clientSecret", "auth", "jwt", "pwd", "%74oken",
    ],
)  # fmt: skip
def test_a_secret_argument(name: str) -> None:
    assert is_secret_argument(name)


@pytest.mark.parametrize(
    "name",
    ["ref", "tag", "digest", "depth", "archive", "checksum", "filename", "design", "monkey", "tokens_used", "keys"],
)
def test_an_argument_that_is_none(name: str) -> None:
    assert not is_secret_argument(name)


@pytest.mark.parametrize(
    "piece",
    [
        "a", "a:/", "?a=", "?a=%41", "?token=", "a://b:c", "%25", "a:", "://", "x://a:x@", "?a=%3Fb=", "'", " a:", "(",
        "a:/b:x", "a:/b:xa", "a:/b:", "//a:b", " //a:", "/", "(a:(",
    ],
)  # fmt: skip
def test_a_long_text_takes_no_longer_than_it_is(piece: str) -> None:
    """Quadratic time would be minutes here."""
    text = piece * (200_000 // len(piece))
    start = time.process_time()
    redact(text)
    redact_address(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("end", ["@h", "://@h"])
def test_nor_does_one_that_ends_in_a_password(end: str) -> None:
    text = "a:/b:x" * 30_000 + end
    start = time.process_time()
    redact(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "start",
    [
        pytest.param("https://u:", id="password"),
        pytest.param("https://", id="token"),
        pytest.param("u:", id="bare password"),
        pytest.param("/x?checksum=file:https%3A%2F%2Fu%3A", id="encoded"),
    ],
)
def test_of_an_endless_address_the_beginning_is_shown(start: str) -> None:
    """Without the password that the end of the beginning falls into."""
    shown = redact_address(start + KEY * 100_000 + "@h/x")
    assert KEY not in shown
    assert shown.endswith("…")
    assert len(redact_address("/a" * 1_000_000)) < 100_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("é 漢", "é 漢", id="letters of all scripts"),
        pytest.param("a\nb", "a\\nb", id="line feed"),
        pytest.param("\x1b[2J", "\\x1b[2J", id="escape sequence"),
        pytest.param("\x9b2J", "\\x9b2J", id="escape sequence in one character"),
        pytest.param("a\u202eb", "a\\u202eb", id="right-to-left override"),
        pytest.param("a\udcffb", "a\\udcffb", id="a byte that is not UTF-8"),
        pytest.param("x" * 200, "x" * 200, id="as long as allowed"),
        pytest.param("x" * 201, "x" * 200 + "…", id="too long"),
    ],
)
def test_text_from_outside_is_harmless(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_escaped_text_is_not_long_either() -> None:
    assert len(printable("\u202e" * 100_000)) < 500


def test_a_secret_gives_itself_away_only_when_asked() -> None:
    secret = Secret(KEY)
    assert secret.reveal() == KEY
    for shown in (str(secret), repr(secret), f"{secret}", f"{[secret]}"):
        assert KEY not in shown
    assert secret == Secret(KEY)
    assert secret != Secret("other")
    assert secret != KEY
    assert len({secret, Secret(KEY)}) == 1
    for leak in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            leak(secret)
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        pytest.param("ghcr.io", "'ghcr.io'", id="harmless"),
        pytest.param("", "''", id="nothing"),
        pytest.param("https://ada:hunter22@h", "'https://ada:****@h'", id="a password"),
        pytest.param("a\x1b[2J\nb", r"'a\\x1b[2J\\nb'", id="control characters"),
        pytest.param("x" * 500, f"'{'x' * 200}…'", id="too long"),
    ],
)
def test_what_was_typed_is_quoted(typed: str, shown: str) -> None:
    assert quoted(typed) == shown
