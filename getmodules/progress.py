"""What is going on, told to whoever wants to show it."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    RESOLVING = "resolving"
    DOWNLOADING = "downloading"
    VERIFYING = "verifying"
    UNPACKING = "unpacking"
    PUBLISHING = "publishing"


class Progress:
    """What is going on, as method calls that do nothing; override what you want to see.

    ``package`` is the redacted address of a package and tells parallel ones apart. Calls come from the thread
    that works on it. An exception raised in here cancels the operation and leaves nothing behind; raised in
    :meth:`finished` it goes on to the caller, and undoes nothing: all is over then.
    """

    #: Whether a call may wait for another thread. Where none ever does, packages side by side are faster.
    may_wait: bool = True

    def planned(self, packages: int) -> None:
        """So many packages are now worked on, side by side."""

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        """A package enters ``phase``; ``total`` is the number of bytes to come, where it is known."""

    def advance(self, package: str, amount: int) -> None:
        """``amount`` more bytes are done in the current phase."""

    def notice(self, package: str, message: str) -> None:
        """Something worth knowing that is no error."""

    def finished(self, package: str, error: BaseException | None) -> None:
        """The package is installed, or ``error`` ended it."""
