"""pysequoia, asked with care: it comes with an extra, and says no in a way of its own."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Final, TypeVar

from getmodules.errors import ToolMissingError
from getmodules.util.redact import printable

T = TypeVar("T")

#: Of these, anybody with some money makes two documents that have the same hash.
BROKEN_ALGORITHMS: Final = frozenset({"MD5", "RipeMD", "SHA1"})


class UnusableError(Exception):
    """What was read is not what it should be; the message is often the library's own, made printable."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def sequoia() -> ModuleType:
    """The library, where it is installed."""
    try:
        import pysequoia
    except ImportError:
        raise ToolMissingError(
            "OpenPGP signatures cannot be verified: pysequoia is not installed",
            hint="pip install 'getmodules[providers]'",
        ) from None
    return pysequoia


def named(value: object) -> str:
    """The name of what the library has as an enumeration: ``HashAlgorithm.SHA1`` is ``SHA1``."""
    return str(value).rpartition(".")[2]


def asked(question: Callable[[], T]) -> T:
    """The answer to ``question``, or an :class:`UnusableError`."""
    try:
        return question()
    except (RuntimeError, ValueError) as error:
        # With RUST_BACKTRACE set, a backtrace follows the first line.
        raise UnusableError(printable(str(error).partition("\n")[0])) from None
    except BaseException as error:
        # A Rust panic is no Exception, and its class can be had from nowhere. Hostile bytes must not end the program.
        if type(error).__name__ != "PanicException":
            raise
        raise UnusableError("the OpenPGP library gave up on it") from None
