"""The system that a provider package runs on, as Go names it: ``linux_amd64``."""

from __future__ import annotations

import re
from typing import Self

from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_WORD = re.compile(r"[0-9a-z]{1,32}")


@valueclass(kw_only=False, order=True)
class Platform:
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
