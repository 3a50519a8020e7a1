"""Hashes and platforms of provider packages, as lock files and registries write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Self

from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_WORD = re.compile(r"[0-9a-z]{1,32}")
#: The scheme of hashes of the content, packed or not; that of :func:`getmodules.hash_tree`.
H1: Final = "h1"
#: The scheme of hashes of the zip file, in lower-case hexadecimal digits.
ZH: Final = "zh"
KNOWN_SCHEMES: Final = frozenset({H1, ZH})
_LONGEST = 512
# Base64, hexadecimal and multibase all fit. Other characters would need escapes in a lock file.
_SCHEME = re.compile(r"[!#-&(-9;-\[\]-~]+")
_VALUE = re.compile(r"[!#-&(-\[\]-~]*")


@valueclass(kw_only=False)
class Hash:
    """A hash: a scheme, a colon and a value. One of an unknown scheme is kept as it is, and never counts as a match."""

    scheme: str
    value: str

    def __post_init__(self) -> None:
        if not _SCHEME.fullmatch(self.scheme):
            raise ValueError("a hash starts with the name of its scheme and a colon, such as h1: or zh:")
        if not _VALUE.fullmatch(self.value):
            raise ValueError(f"the hash {printable(self.scheme, 20)}:… has a character that no hash has")
        if len(self.scheme) + len(self.value) > _LONGEST:
            raise ValueError(f"a hash has at most {_LONGEST} characters")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a hash of any scheme; raise a ``ValueError`` that says what is wrong with it."""
        scheme, colon, value = text.partition(":")
        if not colon:
            raise ValueError("a hash starts with the name of its scheme and a colon, such as h1: or zh:")
        return cls(scheme, value)

    @property
    def is_known(self) -> bool:
        return self.scheme in KNOWN_SCHEMES

    def __str__(self) -> str:
        return f"{self.scheme}:{self.value}"


def sorted_hashes(hashes: Iterable[Hash]) -> tuple[Hash, ...]:
    """Return each hash once, sorted as lock files have them: by the bytes of the whole text."""
    return tuple(sorted(set(hashes), key=str))


def zip_hash(digest: Digest) -> Hash:
    """Return the hash of a zip file with this sha256."""
    if digest.algorithm != "sha256":
        raise ValueError(f"a {ZH}: hash is a sha256, not a {digest.algorithm}")
    return Hash(ZH, digest.hex)


@valueclass(kw_only=False, order=True)
class Platform:
    """The system that a provider package runs on, as Go names it: ``linux_amd64``."""

    os: str
    architecture: str

    def __post_init__(self) -> None:
        if not (_WORD.fullmatch(self.os) and _WORD.fullmatch(self.architecture)):
            raise ValueError(f"{printable(str(self), 80)!r} is no platform: two words and an underscore, linux_amd64")

    @classmethod
    def parse(cls, text: str) -> Self:
        system, _, architecture = text.partition("_")
        if not architecture:
            raise ValueError(f"{printable(text, 80)!r} is no platform: two words and an underscore, linux_amd64")
        return cls(system, architecture)

    def __str__(self) -> str:
        return f"{self.os}_{self.architecture}"
