"""What registries call things, by the rules of Terraform."""

from __future__ import annotations

import re
from typing import Self

from getmodules.errors import AddressError
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_NAME = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?")
_SYSTEM = re.compile(r"[0-9a-z]{1,64}")


@valueclass(kw_only=False)
class ModuleName:
    """What a registry calls a module: ``namespace/name/system``."""

    namespace: str
    name: str
    system: str

    @classmethod
    def parse(cls, text: str) -> Self:
        parts = text.split("/")
        if len(parts) != 3:
            raise AddressError(
                f"{printable(text)!r} does not name a module of a registry", hint="write NAMESPACE/NAME/SYSTEM"
            )
        for part, pattern in zip(parts, (_NAME, _NAME, _SYSTEM), strict=True):
            if not pattern.fullmatch(part):
                raise AddressError(
                    f"{printable(part)!r} in {printable(text)!r} is no name that a registry has",
                    hint="NAMESPACE and NAME are letters, digits, - and _; SYSTEM is lower-case letters and digits",
                )
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.system}"
