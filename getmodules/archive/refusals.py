"""How readers of archives say no: broken, ambiguous, or not for us."""

from __future__ import annotations

from getmodules.errors import CorruptArchiveError, UnsafeContentError, UnsupportedContentError

_LOOKS = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "a split zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x1f\x9d", "compress (.Z)"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x5d\x00\x00", "lzma"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!", "rar"),
    (b"!<arch>", "ar"),
    (b"%PDF", "PDF"),
    (b"version https://git-lfs", "a Git LFS pointer"),
)
#: By what it looks like, the name under which ``archive=`` knows it; of a compressed file, as nearly all are tars.
FORMATS = {"zip": "zip", "tar": "tar", "gzip": "tar.gz", "bzip2": "tar.bz2", "xz": "tar.xz", "zstd": "tar.zst"}
_TAR_MAGIC = slice(257, 262)
#: How much of an archive :func:`looks_like` wants to see.
HEAD_BYTES = 512


def corrupt(what: str) -> CorruptArchiveError:
    return CorruptArchiveError(what)


def ambiguous(what: str) -> UnsafeContentError:
    """For what two readers could read differently."""
    return UnsafeContentError(what, part="ambiguous-archive")


def unsupported(what: str, hint: str | None = None) -> UnsupportedContentError:
    return UnsupportedContentError(what, hint=hint)


def looks_like(head: bytes) -> str | None:
    """What the first bytes of something that is not what it was said to be look like to a person."""
    for magic, name in _LOOKS:
        if head.startswith(magic):
            return name
    if head[_TAR_MAGIC] == b"ustar":
        return "tar"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "a web page (HTML)"
    if text.startswith((b"<?xml", b"<error")):
        return "XML"
    if text.startswith((b"{", b"[")):
        return "JSON"
    return None


def not_this(expected: str, head: bytes, otherwise: str) -> CorruptArchiveError:
    """The bytes do not begin as ``expected`` does; ``otherwise`` is said when they look like nothing known."""
    found = looks_like(head)
    if not head:
        return CorruptArchiveError(f"the archive is empty, not {expected}")
    if found is None or found == expected:
        return CorruptArchiveError(f"this is no {expected} archive: {otherwise}")
    return CorruptArchiveError(f"this looks like {found}, not {expected}")
