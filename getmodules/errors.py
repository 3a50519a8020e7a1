"""All exceptions that getmodules raises on purpose, sorted by whose fault it is.

The number in brackets is the exit code of the command line::

    GetModulesError
    ├ ConfigError [2]                 a setting, a manifest or a lock cannot be used as it is written
    ├ AddressError [2]                the address is wrong, known without any I/O
    │ └ UnknownSchemeError            no plugin brings this scheme
    ├ PluginError [1]                 a plugin is at fault; always names its distribution
    │ ├ PluginLoadError               it could not be imported or registered
    │ ├ PluginConflictError           two plugins claim one name
    │ └ PluginContractError           it raised, or returned what its port does not allow
    ├ FetchError [1]                  the source could not be had
    │ ├ NetworkError · RateLimitedError · ToolMissingError
    │ ├ NotFoundError
    │ │ └ SubdirectoryNotFoundError
    │ ├ AuthenticationError [4]
    │ └ OfflineError [6]
    ├ ContentError [3]                what arrived must not or cannot be installed
    │ └ UnsafeContentError · CorruptArchiveError · UnsupportedContentError · LimitExceededError
    ├ VerificationError [3]           what arrived is not what was demanded, or may not be asked for
    │ └ DigestMismatchError · LockMismatchError · SignatureError
    └ InstallError [1]                the destination could not be written
      ├ DestinationExistsError
      └ LockStaleError [5]

An error's ``code`` is its class name in kebab-case without ``error`` (``digest-mismatch``). Where one
class covers several situations a part is added (``unsafe-content/absolute-path``); the parts of a class
are all in its ``parts``, and ``docs/reference/errors.rst`` explains each code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, NamedTuple, Self

from getmodules.util.spelling import for_command_line, for_programs

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class GetModulesError(Exception):
    """The base of all errors: a stable code, what happened, and what to do next."""

    exit_code: ClassVar[int] = 1
    base_code: ClassVar[str] = "get-modules"
    parts: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.base_code = _WORD_START.sub("-", cls.__name__.removesuffix("Error")).lower()

    def __init__(
        self,
        message: str,
        *,
        part: str | None = None,
        hint: str | None = None,
        address: str | None = None,
    ) -> None:
        assert part is None or part in self.parts, f"{part!r} is not listed in {type(self).__name__}.parts"
        super().__init__(message)
        self.message = message
        self.part = part
        self._hint: str | None = None
        self.address = address
        #: The host or path that fails whoever asks: errors with one code and one such place have one cause.
        self.failed_at: str | None = None
        if hint is not None:
            self.advise(hint)

    @property
    def code(self) -> str:
        """The stable code: the class, and a part where it covers several situations."""
        return f"{self.base_code}/{self.part}" if self.part else self.base_code

    @property
    def hint(self) -> str | None:
        """The advice for the next step, in the words of a program: parameters and calls."""
        return self._hint

    @hint.setter
    def hint(self, hint: str | None) -> None:
        """Set the hint, in either spelling, and the note that Python shows below a traceback."""
        notes = [note for note in getattr(self, "__notes__", ()) if note != f"hint: {self._hint}"]
        self._hint = None if hint is None else for_programs(hint)
        self.__notes__ = notes if hint is None else [*notes, f"hint: {self._hint}"]

    @property
    def typed_hint(self) -> str | None:
        """The hint in the words of the command line: options and commands."""
        return None if self._hint is None else for_command_line(self._hint)

    def at(self, address: str) -> GetModulesError:
        """Add the address that this is about, unless it has one from nearer to the fault."""
        if self.address is None:
            self.address = address
        return self

    def failing_at(self, place: str) -> Self:
        """Add the host or path that fails whoever asks, unless it has one from nearer to the fault."""
        if self.failed_at is None:
            self.failed_at = place
        return self

    def advise(self, hint: str) -> GetModulesError:
        """Add a hint at what to do next, unless it has one from nearer to the fault."""
        if self.hint is None:
            self.hint = hint
        return self

    def within(self, where: str) -> GetModulesError:
        """Prefix the message with the place where it happened, if that is not the one that was asked for."""
        if where not in self.message:
            self.message = f"{where}: {self.message}"
            self.args = (self.message,)
        return self

    def brought_by(self, plugin: str) -> GetModulesError:
        """Add the plugin that brought the content: the fault may be its own, and the message does not name it."""
        if plugin not in self.message:
            self.message = f"{self.message} (brought by {plugin})"
            self.args = (self.message,)
        return self

    def as_json(self) -> dict[str, object]:
        """Return what the command line prints of an error."""
        return {"code": self.code, "message": self.message, "hint": self.typed_hint, "address": self.address}


class ConfigError(GetModulesError):
    """A setting, a manifest or a lock cannot be used as it is written."""

    exit_code = 2


class AddressError(GetModulesError):
    """The address is wrong, which is known without any I/O."""

    exit_code = 2


class UnknownSchemeError(AddressError):
    """No plugin brings the scheme of the address."""


class PluginError(GetModulesError):
    """A plugin is at fault; the message names its distribution."""


class PluginLoadError(PluginError):
    """A plugin could not be imported or registered."""


class PluginConflictError(PluginError):
    """Two plugins claim one name."""


class PluginContractError(PluginError):
    """A plugin raised, or returned, what its port does not allow."""


class FetchError(GetModulesError):
    """The source could not be had."""

    parts = frozenset({"unreadable", "changed", "no-identity", "too-many-hops"})


class NetworkError(FetchError):
    """A host could not be reached, or failed on the way; ``retryable`` if the same request may succeed again."""

    parts = frozenset({"timeout", "certificate"})

    def __init__(
        self,
        message: str,
        *,
        part: str | None = None,
        hint: str | None = None,
        address: str | None = None,
        retryable: bool = True,
    ) -> None:
        super().__init__(message, part=part, hint=hint, address=address)
        #: Whether the same request may succeed if it is sent again.
        self.retryable = retryable and part != "certificate"


class NotFoundError(FetchError):
    """The source answers, and has no such package."""

    parts = frozenset()


class SubdirectoryNotFoundError(NotFoundError):
    """The package has no such directory."""

    parts = frozenset({"not-a-directory", "ambiguous-glob"})


class RateLimitedError(FetchError):
    """The server wants fewer requests."""

    parts = frozenset()


class ToolMissingError(FetchError):
    """A program or library that is needed is not installed."""

    parts = frozenset()


class SentCredential(NamedTuple):
    """The place in which a credential was found, and its user name; the secret is not in it."""

    #: ``GETMODULES_TOKEN_ghcr_io``; ``~/.docker/config.json, auths 'ghcr.io'``.
    found_in: str
    #: ``None`` where there is none, and where it may be a secret itself.
    username: str | None = None

    def __str__(self) -> str:
        return f"{self.found_in} (user name {self.username})" if self.username else self.found_in


class AuthenticationError(FetchError):
    """A credential is missing, or was refused: ``credential`` is the one that was sent.

    Where none was, ``looked_in`` are the places in which one was looked for.
    """

    exit_code = 4
    parts = frozenset({"forbidden"})

    def __init__(
        self,
        message: str,
        *,
        part: str | None = None,
        hint: str | None = None,
        address: str | None = None,
        credential: SentCredential | None = None,
        looked_in: Iterable[str] = (),
    ) -> None:
        super().__init__(message, part=part, hint=hint, address=address)
        self.credential = credential
        self.looked_in = tuple(looked_in)

    def as_json(self) -> dict[str, object]:
        """Return what the command line prints of an error, with the credential that was sent."""
        sent = None if self.credential is None else self.credential._asdict()
        return {**super().as_json(), "credential": sent, "looked_in": list(self.looked_in)}


class OfflineError(FetchError):
    """A connection is needed, and none may be made."""

    exit_code = 6
    parts = frozenset()


class ContentError(GetModulesError):
    """Content arrived that must not, or cannot, be installed."""

    exit_code = 3


class UnsafeContentError(ContentError):
    """Content arrived that would do harm, or means different things to different readers."""

    parts = frozenset(
        {
            "absolute-path",
            "parent-path",
            "bad-name",
            "dot-git",
            "unportable-name",
            "duplicate-name",
            "case-collision",
            "file-and-directory",
            "link-escapes",
            "link-dangling",
            "link-loop",
            "hardlink",
            "special-file",
            "ambiguous-archive",
            "local-source",
            "elsewhere",
            "submodule",
        }
    )


class CorruptArchiveError(ContentError):
    """An archive is broken."""


class UnsupportedContentError(ContentError):
    """Content arrived that is nothing to unpack."""

    parts = frozenset({"web-page"})


class LimitExceededError(ContentError):
    """``parts`` are the fields of :class:`getmodules.Limits`, and the fixed bounds that no option moves."""

    parts = frozenset(
        {
            "total-bytes",
            "file-bytes",
            "entries",
            "ratio",
            "path-bytes",
            "depth",
            "download-bytes",
            "metadata",
            "memory",
        }
    )


class VerificationError(GetModulesError):
    """Content is not what was demanded, or an address may not be asked for."""

    exit_code = 3
    parts = frozenset({"policy"})


class DigestMismatchError(VerificationError):
    """Bytes or a tree have another digest than the one that was demanded."""

    parts = frozenset()


class LockMismatchError(VerificationError):
    """Content is not what is locked."""

    parts = frozenset()


class SignatureError(VerificationError):
    """A signature does not hold, or not for whoever has to sign."""

    parts = frozenset({"unknown-key", "untrusted-key", "expired-key", "revoked-key"})


class InstallError(GetModulesError):
    """The destination could not be written, or the operation was cancelled."""

    parts = frozenset({"no-space", "denied", "protected", "inside-source", "cancelled"})


class DestinationExistsError(InstallError):
    """There is something at the destination that would be lost."""

    parts = frozenset()


class LockStaleError(InstallError):
    """The lock does not say what the manifest wants."""

    exit_code = 5
    parts = frozenset()


_BY_URGENCY = (3, 4, 6, 5, 2, 1)


def exit_code(errors: Iterable[GetModulesError]) -> int:
    """Return the exit code for several failures: that of the gravest one; 0 if there are none."""
    codes = {error.exit_code for error in errors}
    return next((code for code in _BY_URGENCY if code in codes), 0)
