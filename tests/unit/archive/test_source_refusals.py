from __future__ import annotations

import pytest

from getmodules.archive.source import ambiguous, corrupt, looks_like, unexpected_format, unsupported


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"PK\x03\x04", "zip"), (b"\x1f\x8b\x08", "gzip"), (b"BZh9", "bzip2"), (b"\xfd7zXZ\0", "xz"),
        (b"(\xb5/\xfd", "zstd"), (b"7z\xbc\xaf'\x1c", "7z"), (b"\xef\xbb\xbf\n<!doctype HTML>", "a web page (HTML)"),
        (b'{"errors": []}', "JSON"), (b"<?xml", "XML"), (bytes(257) + b"ustar", "tar"), (b"hello", None), (b"", None),
    ],
)  # fmt: skip
def test_what_bytes_look_like(head: bytes, name: str | None) -> None:
    assert looks_like(head) == name


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"", "the archive is empty, not zip"),
        (b"BZh", "this looks like bzip2, not zip"),
        (b"hello", "this is no zip archive: why"),
        (b"PK\x03\x04", "this is no zip archive: why"),
    ],
)
def test_what_was_found_is_said(head: bytes, message: str) -> None:
    assert unexpected_format("zip", head, "why").message == message


def test_codes() -> None:
    errors = [corrupt("x"), ambiguous("x"), unsupported("x", hint="y")]
    assert [error.code for error in errors] == [
        "corrupt-archive", "unsafe-content/ambiguous-archive", "unsupported-content",
    ]  # fmt: skip
    assert errors[2].hint == "y"
