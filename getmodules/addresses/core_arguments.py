"""Parse the core's own arguments: ``archive=``, ``checksum=`` and ``filename=``.

They are taken off before a getter sees the address, and hold for what finally arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from getmodules.addresses.types import Arguments
from getmodules.errors import AddressError
from getmodules.util.digest import BY_LENGTH, Digest
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

#: The prefix of a checksum that is in a file: ``checksum=file:./SHA256SUMS``.
CHECKSUM_FILE = "file:"

_FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})


@valueclass
class Treatment:
    """The values of the core's arguments: what to do with the bytes of a package."""

    #: A format's name; ``False``: never unpack; ``None``: find out.
    archive: str | Literal[False] | None = None
    #: A digest, or the address of a checksum file.
    checksum: Digest | str | None = None
    filename: str | None = None

    @classmethod
    def of(cls, arguments: Arguments, formats: Sequence[str]) -> Treatment:
        filename = arguments.get("filename")
        archive = parse_archive(arguments, formats)
        return cls(
            archive=False if filename is not None else archive,
            checksum=parse_checksum(arguments),
            filename=filename,
        )


def parse_archive(arguments: Arguments, formats: Sequence[str]) -> str | Literal[False] | None:
    value = arguments.get("archive")
    if value is None:
        return None
    if value in _FALSE:
        return False
    if value not in formats:
        raise AddressError(
            f"there is no archive format {printable(value)!r}",
            hint=f"archive= takes false or one of: {', '.join(formats)}",
        )
    return value


def parse_checksum(arguments: Arguments) -> Digest | str | None:
    """Parse a digest; or, for ``file:…``, return the source of the checksum file as it was written."""
    value = arguments.get("checksum")
    if value is None:
        return None
    if value.startswith(CHECKSUM_FILE):
        source = value.removeprefix(CHECKSUM_FILE)
        if not source:
            raise AddressError("checksum=file: names no file", hint="write checksum=file:./SHA256SUMS")
        # file:///x is itself a URL: the marker is also its scheme.
        return value if source.startswith("//") else source
    algorithm, colon, digits = value.rpartition(":")
    if not colon:
        algorithm = BY_LENGTH.get(len(digits), "")
        if not algorithm:
            raise AddressError(
                f"a checksum of {len(digits)} digits fits no algorithm",
                hint="write checksum=sha256:HEX, with 64 hexadecimal digits",
            )
    try:
        return Digest.parse(f"{algorithm}:{digits}", weak=True)
    except ValueError as error:
        hint = "write checksum=sha256:HEX, with 64 hexadecimal digits"
        if _is_digest(f"{algorithm}:{digits.lower()}"):
            hint = f"write {digits.lower()}"
        raise AddressError(f"the checksum cannot be used: {error}", hint=hint) from None


def _is_digest(text: str) -> bool:
    try:
        Digest.parse(text, weak=True)
    except ValueError:
        return False
    return True


#: Arguments that the core itself understands, whatever the getter.
CORE_ARGUMENTS = ("archive", "checksum", "filename")
