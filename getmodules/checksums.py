"""Checksum files, as GNU coreutils and BSD write them."""

from __future__ import annotations

import re

from getmodules.errors import VerificationError
from getmodules.util.digest import BY_LENGTH, STRONG, WEAK, Digest
from getmodules.util.redact import printable

#: Two characters before the name, or one as some tools of BSD write it; coreutils read both.
_GNU = re.compile(r"\\?(?P<hex>[0-9A-Fa-f]{32,128})[ \t][ *]?(?P<name>.+)")
_BSD = re.compile(r"(?P<algorithm>[A-Za-z0-9-]+) ?\((?P<name>.+)\) ?= ?(?P<hex>[0-9A-Fa-f]{32,128})")


def checksum_for(text: str, file_name: str) -> Digest:
    """The strongest checksum that ``text`` has for ``file_name``; two that disagree are none. Errors say "it"."""
    found: dict[str, set[str]] = {}
    text = text.removeprefix("\ufeff")  # a mark that editors of Windows put before a text
    for line in text.splitlines():
        digest = _digest(line.strip(), file_name)
        if digest is not None:
            found.setdefault(digest.algorithm, set()).add(digest.hex)
    for algorithm in (*reversed(tuple(STRONG)), *reversed(tuple(WEAK))):
        digests = found.get(algorithm, set())
        if len(digests) > 1:
            raise VerificationError(
                f"it has two {algorithm} checksums for {printable(file_name)!r}",
                hint=f"find out which is right, and write checksum={algorithm}:HEX",
            )
        if digests:
            return Digest(algorithm, digests.pop())
    if text.lstrip().startswith("<"):
        raise VerificationError(
            f"it is a web page, and has no checksum for {printable(file_name)!r}", hint="does its server want a login?"
        )
    raise VerificationError(
        f"it has no checksum for {printable(file_name)!r}",
        hint="lines are written 'HEX  NAME' (GNU) or 'SHA256 (NAME) = HEX' (BSD); the name must be the archive's",
    )


def _digest(line: str, file_name: str) -> Digest | None:
    match = _GNU.fullmatch(line)
    algorithm = BY_LENGTH.get(len(match["hex"]), "") if match else ""
    if match is None:
        match = _BSD.fullmatch(line)
        # OpenSSL 3 says SHA2-256 where BSD and its own older versions say SHA256.
        algorithm = match["algorithm"].lower().replace("sha2-", "sha").replace("-", "") if match else ""
    if match is None or match["name"].rpartition("/")[2] != file_name:
        return None
    try:
        return Digest(algorithm, match["hex"].lower())
    except ValueError:
        return None
