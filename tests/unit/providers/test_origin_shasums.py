"""SHA256SUMS, one form of line and no other."""

from __future__ import annotations

import pytest

from getmodules import Digest, VerificationError
from getmodules.providers import parse_shasums
from getmodules.providers.origin import DOCUMENT_BYTES
from tests.support.refusals import refusal
from tests.support.releases import SHASUMS

HEX = b"0a" * 32
LINE = HEX + b"  a.zip\n"


def test_a_release() -> None:
    listed = parse_shasums(SHASUMS)
    assert [name.rpartition("_")[2] for name in listed] == ["manifest.json", "arm64.zip", "amd64.zip"]
    assert all(digest.algorithm == "sha256" for digest in listed.values())


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(LINE, id="text mode"),
        pytest.param(HEX + b" *a.zip\n", id="binary mode"),
        pytest.param(LINE.rstrip(), id="no line end at the end"),
    ],
)
def test_spellings_of_one_line(document: bytes) -> None:
    assert dict(parse_shasums(document)) == {"a.zip": Digest("sha256", HEX.decode())}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param(b"", "an empty line: line 1", id="empty"),
        pytest.param(b"\n", "an empty line: line 1", id="one empty line"),
        pytest.param(LINE + b"\n" + HEX + b"  b.zip\n", "an empty line: line 2", id="an empty line between"),
        pytest.param(LINE + b"\n", "an empty line: line 2", id="an empty line at the end"),
        pytest.param(LINE.replace(b"\n", b"\r\n"), "line 1", id="CR"),
        pytest.param(HEX.upper() + b"  a.zip\n", "line 1", id="capitals"),
        pytest.param(HEX[:-1] + b"  a.zip\n", "line 1", id="short"),
        pytest.param(HEX + b"0  a.zip\n", "line 1", id="long"),
        pytest.param(HEX + b" a.zip\n", "line 1", id="one blank"),
        pytest.param(HEX + b"\ta.zip\n", "line 1", id="a tab"),
        pytest.param(HEX + b"   a.zip\n", "line 1", id="three blanks"),
        pytest.param(HEX + b"  \n", "line 1", id="no name"),
        pytest.param(HEX + b"  a b.zip\n", "line 1", id="a blank in a name"),
        pytest.param(LINE + HEX + b"  ../b.zip\n", "line 2", id="a path"),
        pytest.param(LINE + HEX + b"  a\\b.zip\n", "line 2", id="a backslash"),
        pytest.param(LINE + LINE, "again in line 2", id="a name twice"),
        pytest.param(LINE + b"# comment\n", "line 2", id="a comment"),
        pytest.param(LINE + "é\n".encode(), "not ASCII in line 2", id="not ASCII"),
        pytest.param(b"SHA256 (a.zip) = " + HEX + b"\n", "line 1", id="BSD"),
        pytest.param(b"\0" + LINE, "line 1", id="NUL"),
        pytest.param(b"<!DOCTYPE html>\n", "line 1", id="a web page"),
        pytest.param(b"a" * (DOCUMENT_BYTES + 1), "more than the", id="too large"),
    ],
)
def test_what_is_refused(document: bytes, words: str) -> None:
    error = refusal(VerificationError, "verification", parse_shasums, document)
    assert words in error.message
    assert len(error.message) < 300
    assert "\x00" not in error.message
