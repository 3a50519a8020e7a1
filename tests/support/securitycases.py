"""A named hostile input: how it is built, what becomes of it, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

#: Where the absolute ones of these inputs want to write.
CANARY = "/getmodules-canary"

CORRUPT, UNSUPPORTED, AMBIGUOUS = "corrupt-archive", "unsupported-content", "unsafe-content/ambiguous-archive"


@dataclass(frozen=True)
class Executable:
    data: bytes


#: By path: a file is its bytes, a directory ``None``, a link its target.
Wanted = Mapping[str, bytes | str | Executable | None]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One archive. ``code`` is how it is refused, ``tree`` what it becomes where it is not."""

    name: str
    kind: str
    build: Callable[[], bytes]
    why: str
    code: str | None = None
    tree: Wanted | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    #: Two of the readers that a build machine has really see different things in it.
    disputed: bool = False

    @property
    def id(self) -> str:
        return f"{self.kind}: {self.name}"


def unsafe(part: str) -> str:
    return f"unsafe-content/{part}"


def limit(part: str) -> str:
    return f"limit-exceeded/{part}"
