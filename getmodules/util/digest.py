"""Digests that are valid by construction."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from getmodules.util.values import valueclass

#: Algorithms that pin: the length of their lower-case hexadecimal form.
STRONG: Mapping[str, int] = MappingProxyType({"sha256": 64, "sha384": 96, "sha512": 128})
#: Only ever compared in ``checksum=``, with a warning; never a pin, never in a lock.
WEAK: Mapping[str, int] = MappingProxyType({"md5": 32, "sha1": 40})
#: Algorithms by their number of digits: checksums in files do not name theirs.
BY_LENGTH: Mapping[int, str] = MappingProxyType({length: name for name, length in (*WEAK.items(), *STRONG.items())})

_HEX = re.compile(r"[0-9a-f]+")


@valueclass(kw_only=False, order=True)
class Digest:
    """A hash of bytes, as in ``sha256:…``."""

    algorithm: str
    hex: str

    def __post_init__(self) -> None:
        length = STRONG.get(self.algorithm) or WEAK.get(self.algorithm)
        if length is None:
            known = ", ".join((*STRONG, *WEAK))
            raise ValueError(f"unknown digest algorithm {self.algorithm[:20]!r} (known: {known})")
        if not _HEX.fullmatch(self.hex):
            raise ValueError(f"a {self.algorithm} digest is {length} lower-case hexadecimal digits, unabbreviated")
        if len(self.hex) != length:
            raise ValueError(f"a {self.algorithm} digest has {length} digits, this one {len(self.hex)}")

    @classmethod
    def parse(cls, text: str, *, weak: bool = False) -> Self:
        """Parse ``sha256:<hex>``, as manifests and pins write it. Raises ``ValueError`` that says what is wrong."""
        algorithm, colon, digits = text.partition(":")
        if not colon:
            raise ValueError("a digest is written as algorithm:hex")
        if not weak and algorithm in WEAK:
            raise ValueError(f"{algorithm} is too weak to identify anything")
        return cls(algorithm, digits)

    @classmethod
    def of(cls, content: bytes, algorithm: str = "sha256") -> Self:
        return cls(algorithm, hashlib.new(algorithm, content).hexdigest())

    @property
    def is_weak(self) -> bool:
        return self.algorithm in WEAK

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"
