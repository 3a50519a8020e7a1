"""``SHA256SUMS`` as provider releases publish it: one form of line, and no other.

The document is what a signature covers. A reader that guessed at lines that it does not understand would have the
signature vouch for something that the signer may never have meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from getmodules.api.limits import MIB
from getmodules.errors import VerificationError
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

DOCUMENT_BYTES: Final = MIB
_LINE = re.compile(r"(?P<hex>[0-9a-f]{64}) [ *](?P<name>[!-~]+)")


def parse_shasums(document: bytes) -> Mapping[str, Digest]:
    """The sha256 of each file that ``document`` lists, in its order."""
    if len(document) > DOCUMENT_BYTES:
        raise _refused(f"has {len(document):,} bytes, more than the {DOCUMENT_BYTES:,} that it may have")
    try:
        text = document.decode("ascii")
    except UnicodeDecodeError as error:
        place = document.count(b"\n", 0, error.start) + 1
        raise _refused(f"has a byte that is not ASCII in line {place}") from None
    listed: dict[str, Digest] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        name, digest = _parse_line(line, number)
        if name in listed:
            raise _refused(f"lists {printable(name)!r} again in line {number}")
        listed[name] = digest
    return MappingProxyType(listed)


def _parse_line(line: str, number: int) -> tuple[str, Digest]:
    if not line:
        raise _refused(f"has an empty line: line {number}")
    match = _LINE.fullmatch(line)
    if match is None:
        raise _refused(f"cannot be read in line {number}: {printable(line, 100)!r}")
    if "/" in match["name"] or "\\" in match["name"]:
        raise _refused(f"names a file in another directory in line {number}: {printable(match['name'])!r}")
    return match["name"], Digest("sha256", match["hex"])


def _refused(problem: str) -> VerificationError:
    return VerificationError(
        f"the SHA256SUMS document {problem}",
        hint="each line is 64 lower-case hexadecimal digits, two blanks and a file name; tell who publishes it",
    )
