"""Parse and compare semantic versions, and the constraints on them as Terraform writes them.

::

    version    = major "." minor "." patch [ "-" prerelease ] [ "+" build ]          semver 2.0
    constraint = term { "," term }                                                   all of them must hold
    term       = [ "=" | "!=" | ">" | ">=" | "<" | "<=" | "~>" ] [ "v" ] major [ "." minor [ "." patch ] ] …

What a constraint allows is what Terraform 1.11 takes for modules: ``~> 1.2.3`` moves the patch only, ``~> 1.2`` the
minor and the patch, and ``~> 1`` everything (it means ``>= 1``). A pre-release is taken only by a constraint that is
nothing but its name. This is not PEP 440, which would put ``5.0.0-20240101`` above ``5.0.0``.

Whatever cannot be read is a :class:`VersionError`; the caller makes it an error of its own.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any, Self

from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_LONGEST_VERSION = 255
_LONGEST_CONSTRAINT = 2_000
#: What a signed 64-bit reader holds, as Terraform is one.
_LARGEST = 2**63 - 1
#: So many on either side of what was asked for are shown as the nearest.
_NEAR = 2

_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(
    rf"(?P<numbers>[0-9]+\.[0-9]+\.[0-9]+)(?:-(?P<prerelease>{_IDENTIFIERS}))?(?:\+(?P<build>{_IDENTIFIERS}))?"
)
_BOUNDARY = re.compile(
    rf"v?(?P<numbers>[0-9]+(?:\.[0-9]+){{0,2}})(?:-(?P<prerelease>{_IDENTIFIERS}))?(?:\+(?P<build>{_IDENTIFIERS}))?"
)
_BLANKS = re.compile(r"[ \t]*")
_OPERATOR = re.compile(r"[=!<>~^|&]*")


class VersionError(ValueError):
    """A version or a constraint cannot be read. The message is about what was written; ``hint`` says what to write."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


# ------------------------------------------------------------------------------------------------ versions


@functools.total_ordering
@valueclass(kw_only=False)
class Version:
    """One semantic version. ``str()`` gives it back as it was written; two spellings of one do not exist.

    The order is total: semver's precedence, and between versions that differ only in what is behind the ``+``,
    or in zeros before a number, which has none, that text. :attr:`precedence` is the part that semver knows.
    """

    major: int
    minor: int
    patch: int
    prerelease: str = ""
    build: str = ""

    @classmethod
    def parse(cls, text: str, *, padded: bool = False) -> Self:
        """Parse ``text`` by semver 2.0: three numbers, nothing in front of them, no leading zeros.

        ``padded`` lets those be in a pre-release, as the engines do where they read ``.terraform.lock.hcl``.
        """
        match = _VERSION.fullmatch(text) if len(text) <= _LONGEST_VERSION else None
        if match is None:
            raise VersionError(f"{printable(text, 80)!r} is no semantic version", "versions are written 1.2.3")
        numbers = match["numbers"].split(".")
        judged = numbers if padded else (*numbers, *_numeric(match["prerelease"]))
        zeros = next((part for part in judged if part != "0" and part[0] == "0"), "")
        if zeros:
            raise VersionError(
                f"{printable(text, 80)!r} is no semantic version: {zeros} has a leading zero",
                "versions are written 1.2.3",
            )
        major, minor, patch = (_number(part, text) for part in numbers)
        return cls(major, minor, patch, match["prerelease"] or "", match["build"] or "")

    def __str__(self) -> str:
        prerelease = f"-{self.prerelease}" if self.prerelease else ""
        build = f"+{self.build}" if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{build}"

    @property
    def release(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch

    @property
    def precedence(self) -> tuple[Any, ...]:
        """Return the key for semver's order: a release after its pre-releases, in which numbers come before words."""
        return (*self.release, not self.prerelease, _ranks(self.prerelease))

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Version):
            return NotImplemented
        return self._place < other._place

    @property
    def _place(self) -> tuple[Any, ...]:
        return self.precedence, self.prerelease, _ranks(self.build), self.build


def _numeric(identifiers: str | None) -> list[str]:
    return [part for part in (identifiers or "").split(".") if part.isdecimal()]


def _ranks(identifiers: str) -> tuple[tuple[int, int, str], ...]:
    """Return dotted identifiers for comparing: numbers by value and before words, which are sorted by ASCII."""
    parts = identifiers.split(".") if identifiers else ()
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def _number(digits: str, text: str) -> int:
    number = int(digits)
    if number > _LARGEST:
        raise VersionError(f"{printable(text, 80)!r} has a number that is larger than 64 bits hold")
    return number


# --------------------------------------------------------------------------------------------- constraints


class Operator(StrEnum):
    """The operators, in the order of the terms of one version in the canonical spelling."""

    MORE = ">"
    AT_LEAST = ">="
    EXACTLY = "="
    PESSIMISTIC = "~>"
    AT_MOST = "<="
    LESS = "<"
    NOT = "!="


_RANK = {operator: rank for rank, operator in enumerate(Operator)}


@valueclass(kw_only=False)
class Term:
    """One condition. ``precision`` is how many of the three numbers were written: ``~>`` depends on it."""

    operator: Operator
    version: Version
    precision: int = 3

    def allows(self, version: Version) -> bool:
        """Return whether ``version`` fulfils this condition, taken alone."""
        if self.operator is Operator.EXACTLY:
            return self._is(version)
        if version.prerelease:
            return False
        if self.operator is Operator.NOT:
            return not self._is(version)
        found, boundary = version.precedence, self.version.precedence
        if self.operator is Operator.PESSIMISTIC:
            fixed = self.precision - 1
            # With a pre-release in it, Terraform takes this to be about pre-releases alone, and those need their name.
            same = version.release[:fixed] == self.version.release[:fixed] and not self.version.prerelease
            return same and found >= boundary
        if self.operator in (Operator.MORE, Operator.AT_LEAST):
            return found > boundary or (self.operator is Operator.AT_LEAST and found == boundary)
        return found < boundary or (self.operator is Operator.AT_MOST and found == boundary)

    def _is(self, version: Version) -> bool:
        # Who asks for a build by name gets no other one, though semver thinks them equal.
        same_build = not self.version.build or version.build == self.version.build
        return version.precedence == self.version.precedence and same_build

    @property
    def canonical(self) -> str:
        """Return the spelling of dependency lock files: all numbers, but two after a ``~>`` that had no third."""
        text = str(self.version)
        if self.operator is Operator.PESSIMISTIC and self.precision < 3:
            release = ".".join(map(str, self.version.release))
            text = f"{self.version.major}.{self.version.minor}{text.removeprefix(release)}"
        return text if self.operator is Operator.EXACTLY else f"{self.operator} {text}"

    @property
    def _place(self) -> tuple[Version, int, bool]:
        return self.version, _RANK[self.operator], self.precision < 3


@valueclass(kw_only=False)
class Constraint:
    """Terms that must all hold; without any, every release will do. ``str()`` is the canonical spelling."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``text`` as people write it: ``>= 1.2, < 2.0``. An error says at which character it cannot be read."""
        if len(text) > _LONGEST_CONSTRAINT:
            raise VersionError(f"a version constraint of {len(text):,} characters; {_LONGEST_CONSTRAINT:,} are allowed")
        terms: list[Term] = []
        place = 0
        while True:
            term, place = _parse_term(text, place)
            terms.append(term)
            if place == len(text):
                return cls(tuple(terms))
            place += 1  # the comma

    def __str__(self) -> str:
        """Return the terms sorted, each once, as Terraform and OpenTofu write them into ``.terraform.lock.hcl``."""
        terms = {term.canonical: term for term in self.terms}
        return ", ".join(sorted(terms, key=lambda text: terms[text]._place))

    def allows(self, version: Version) -> bool:
        """Return whether ``version`` is allowed: all terms hold, and a pre-release was asked for by its name alone.

        Terraform and OpenTofu take no pre-release where that name is one term of several, so nobody relies on it.
        """
        if version.prerelease and len(self.terms) != 1:
            return False
        return all(term.allows(version) for term in self.terms)

    def newest(self, versions: Iterable[Version]) -> Version | None:
        """Return the newest of ``versions`` that is allowed."""
        return max(filter(self.allows, versions), default=None)

    def advice(self, versions: Iterable[Version], written: str, listed: Collection[Version]) -> str | None:
        """Return a hint if none of ``versions`` is allowed: a pre-release to ask for by its name, or the nearest ones.

        ``written`` is how one version is asked for: ``version={}``. Those that are ``listed`` are not said again.
        """
        ordered = sorted(versions)
        early = [each for each in ordered if each.prerelease and self.allows(Version(*each.release))]
        if early:
            return f"a pre-release is taken by its exact name only: {written.format(early[-1])}"
        if not any(term.version.prerelease for term in self.terms):
            ordered = [each for each in ordered if not each.prerelease]
        near: set[Version] = set()
        for term in self.terms:
            place = bisect(ordered, term.version)
            near.update(ordered[max(place - _NEAR, 0) : place + _NEAR])
        if near <= set(listed):
            return None
        return f"the nearest are {', '.join(map(str, sorted(near, reverse=True)))}"


def _parse_term(text: str, start: int) -> tuple[Term, int]:
    """Parse the term that begins at ``start``; return it and the place of the comma or the end behind it."""
    place = _skip_blanks(text, start)
    if place == len(text) or text[place] == ",":
        raise _unreadable(
            text, place, "a version is missing here", "write a constraint such as ~> 1.2 or >= 1.0, < 2.0"
        )
    written = _OPERATOR.match(text, place)
    assert written is not None
    operator = _operator(text, place, written[0])
    place = _skip_blanks(text, written.end())
    boundary = _BOUNDARY.match(text, place)
    if boundary is None:
        raise _no_version(text, place)
    end = _skip_blanks(text, boundary.end())
    if end < len(text) and text[end] != ",":
        raise _not_over(text, boundary.end(), end)
    numbers = boundary["numbers"].split(".")
    values = [_number(part, text) for part in numbers] + [0] * (3 - len(numbers))
    version = Version(values[0], values[1], values[2], boundary["prerelease"] or "", boundary["build"] or "")
    return Term(operator, version, len(numbers)), end


def _skip_blanks(text: str, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    return blanks.end() if blanks else place


_MEANT = {"=<": "<=", "=>": ">=", "==": "=", "===": "=", "~": "~>", "~=": "~>", "^": "~>", "!": "!=", "<>": "!="}


def _operator(text: str, place: int, written: str) -> Operator:
    try:
        return Operator(written or "=")
    except ValueError:
        hint = f"write {_MEANT[written]}" if written in _MEANT else f"operators are {' '.join(Operator)}"
        raise _unreadable(text, place, f"there is no operator {written}", hint) from None


_LEAVE_OUT = "leave out the numbers that may be anything: ~> 1.2"


def _no_version(text: str, place: int) -> VersionError:
    if text[place : place + 1] in ("*", "x", "X"):
        return _unreadable(text, place, "there are no wildcards", f"{_LEAVE_OUT}; for any version, leave out all of it")
    return _unreadable(text, place, "a version must stand here", "versions are written 1.2.3, 1.2 or 1")


def _not_over(text: str, version_end: int, place: int) -> VersionError:
    """Return the error for text that follows a version and is not a comma."""
    rest = text[place:]
    if rest.startswith("|"):
        return _unreadable(text, place, "there is no 'or' in constraints", "all terms hold, and commas separate them")
    if place > version_end:
        if rest.startswith("- "):
            return _unreadable(text, place, "a range is written with two terms", "write >= 1.0, <= 2.0")
        return _unreadable(text, place, "there is no comma before this", "terms are separated by commas")
    if rest[:2] in (".*", ".x", ".X"):
        return _unreadable(text, place, "there are no wildcards", _LEAVE_OUT)
    if re.match(r"\.[0-9]", rest):
        return _unreadable(text, place, "a version has at most three numbers", "versions are written 1.2.3")
    return _unreadable(text, place, "the version ends here", "a pre-release is written 1.2.3-beta.1")


def _unreadable(text: str, place: int, why: str, hint: str) -> VersionError:
    return VersionError(
        f"the version constraint {printable(text, 80)!r} cannot be read at character {place + 1}: {why}", hint
    )


def version_in(name: str) -> Version | None:
    """Return the version that a tag names, or None."""
    text = name.removeprefix("v")
    try:
        return Version.parse(text.replace("_", "+", 1) if "+" not in text else text)
    except VersionError:
        return None
