"""Limit what a package may bring, and how long an operation may take: finite, named, on by default.

Every bound here is enforced on what really comes out (bytes written, not bytes announced), and an error that
reports one names the option that moves it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Self

from getmodules.errors import ConfigError, LimitExceededError, NetworkError
from getmodules.util.redact import printable
from getmodules.util.values import names_of, replace, valueclass

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ENVIRONMENT_PREFIX = "GETMODULES_LIMIT_"

#: Below this many bytes of output no ratio is judged: small, very regular files compress by thousands.
RATIO_FREE_BYTES = 64 * MIB
#: The memory for extension headers, central directories, lists of names, which a reader must hold at once.
METADATA_BYTES = 64 * MIB

_AMOUNT = re.compile(r"(\d{1,18})(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)?", re.ASCII)
_UNITS = {
    None: 1, "B": 1,
    "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": GIB << 10,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
}  # fmt: skip


@valueclass
class Limits:
    """The bounds of one package. All are positive whole numbers."""

    total_bytes: int = 2 * GIB
    file_bytes: int = 1 * GIB
    entries: int = 100_000
    ratio: int = 200
    path_bytes: int = 4_096
    depth: int = 64
    download_bytes: int = 2 * GIB
    seconds: int = 3_600

    def __post_init__(self) -> None:
        for name in names_of(self):
            amount = getattr(self, name)
            if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
                raise ConfigError(f"the limit {name} must be a positive whole number, not {amount!r}")

    def with_assignment(self, text: str) -> Self:
        """Return the limits changed by ``FIELD=VALUE``, as ``--limit`` takes it."""
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"a limit is written FIELD=VALUE, not {printable(text)!r}", hint=_known_fields())
        return self._with(name.strip().replace("-", "_"), value.strip(), f"--limit {printable(text)}")

    def with_environment(self, environ: Mapping[str, str]) -> Self:
        """Return the limits changed by the variables ``GETMODULES_LIMIT_…``."""
        limits = self
        for variable in sorted(environ):
            if variable.startswith(ENVIRONMENT_PREFIX):
                name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
                limits = limits._with(name, environ[variable].strip(), printable(variable))
        return limits

    def _with(self, name: str, value: str, origin: str) -> Self:
        if name not in _FIELDS:
            raise ConfigError(f"{origin}: there is no limit named {printable(name)!r}", hint=_known_fields())
        amount = bytes_from(value) if name.endswith("_bytes") else _whole(value)
        if amount is None:
            units = ", with a unit such as 64MiB" if name.endswith("_bytes") else ""
            raise ConfigError(f"{origin}: {name} takes a positive whole number{units}")
        return replace(self, **{name: amount})

    def exceeded(self, name: str, what: str) -> LimitExceededError:
        """Return the error for the limit ``name``; ``what`` says what exceeded it."""
        return LimitExceededError(
            f"{what}: more than the limit {name} of {getattr(self, name):,} allows",
            part=name.replace("_", "-"),
            hint=f"if you trust this source: --limit {name}=VALUE, or {ENVIRONMENT_PREFIX}{name.upper()}",
        )


def bytes_from(text: str) -> int | None:
    """Parse a number of bytes, with a unit or without; ``None`` if it is not one."""
    amount = _AMOUNT.fullmatch(text)
    return None if amount is None else int(amount[1]) * _UNITS[amount[2]]


def _whole(text: str) -> int | None:
    amount = _AMOUNT.fullmatch(text)
    return None if amount is None or amount[2] else int(amount[1])


_FIELDS = frozenset(names_of(Limits))


def _known_fields() -> str:
    return "limits: " + ", ".join(sorted(_FIELDS))


def metadata_exceeded(what: str, bound: int = METADATA_BYTES) -> LimitExceededError:
    return LimitExceededError(
        f"{what}: more than the {bound:,} bytes of metadata that any archive may have there",
        part="metadata",
        hint="this bound is fixed",
    )


@valueclass(kw_only=False)
class Deadline:
    """The moment at which an operation gives up, however busy it looks."""

    seconds: float
    expires: float
    clock: Callable[[], float]

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Self:
        return cls(seconds, clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the seconds that are left; 0 where it is over."""
        return max(0.0, self.expires - self.clock())

    def check(self) -> None:
        """Raise where the time is over."""
        if self.clock() >= self.expires:
            raise NetworkError(
                f"not done after {self.seconds:g} seconds",
                part="timeout",
                hint="--limit seconds=N allows more time",
            )
