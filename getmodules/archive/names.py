"""Check the names of a package's members: the only maker of :data:`~getmodules.api.model.MemberPath`.

A name from a package becomes a path only here: relative, of clean components, free of anything that two
systems could read differently, and unlike every other name in the package. What cannot exist everywhere
(``con``, ``name.``, a case pair in a repository) is refused where this platform cannot hold it and a notice
elsewhere: real repositories have such names.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import ClassVar

from getmodules.api.limits import METADATA_BYTES, Limits, metadata_exceeded
from getmodules.api.model import MemberPath
from getmodules.archive.dot_git import find_dot_git
from getmodules.errors import UnsafeContentError
from getmodules.util.redact import printable

#: Whether two names that differ in case, or a trailing dot, are one file here.
FOLDS_NAMES = sys.platform in ("win32", "darwin", "cygwin")

_RESERVED = r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])"
#: A last component that needs no second look; what does not match takes the long way. Lower case only: without
#: having to look for the other one, the expression is four times as fast, and there is nothing to fold.
_is_plain = re.compile(
    r"(?!(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?:\.|\Z)|(?:\.git|git~1)\Z)[a-z0-9_.()@=+,~-]*(?<!\.)"
).fullmatch
_DRIVE = re.compile(r"[A-Za-z]:")
_UNPORTABLE = re.compile(rf"{_RESERVED}(?:\..*)?|.*[ .]|.*[<>:\"|?*].*", re.IGNORECASE | re.DOTALL)

#: The memory that Python needs for one name, besides its characters: measured, and rounded up.
_NAME_OVERHEAD = 240


def decode_name(raw: bytes) -> str:
    """Decode a name as archives store it. Readers would disagree about one that is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        shown = printable(raw.decode("utf-8", "backslashreplace"))
        raise UnsafeContentError(f"the name {shown!r} in the archive is not UTF-8", part="bad-name") from None


def member_path(name: str) -> MemberPath:
    """Return ``name`` without ``.`` and empty components; ``""`` is the root. Refuse anything else that is odd."""
    if not name:
        raise _refused(name, "bad-name", "is empty")
    if not name.isprintable() and any(unicodedata.category(c) == "Cc" for c in name):
        raise _refused(name, "bad-name", "has control characters")
    if "\\" in name:
        raise _refused(name, "bad-name", "has a backslash, which is a separator on Windows")
    if name.startswith("/") or _DRIVE.match(name):
        raise _refused(name, "absolute-path", "is absolute")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _refused(name, "parent-path", "leads out of the package with '..'")
    return MemberPath("/".join(parts))


class NameBook:
    """The names of one package so far; :meth:`admit` takes the next one, leaves it out or refuses it."""

    _FILE: ClassVar[int] = 1
    _DIRECTORY: ClassVar[int] = 2

    def __init__(self, limits: Limits, *, strict: bool, folds_names: bool = FOLDS_NAMES) -> None:
        self._limits = limits
        self._strict = strict
        self._folds_names = folds_names
        self._kinds: dict[str, int] = {}
        #: Names that are not their own folded form, by that.
        self._spellings: dict[str, str] = {}
        #: The directories below which a plain last component makes a path that needs no second look either.
        self._plain: set[str] = set()
        self._remembered = 0
        self.notices: dict[str, tuple[int, str]] = {}

    def admit(self, name: str, *, directory: bool) -> MemberPath | None:
        """Return the path of a member; None for one that is left out, which is or lies in a ``.git``."""
        kinds = self._kinds
        parent, slash, last = name.rpartition("/")
        if (
            last
            and name not in kinds
            and (not slash or parent in self._plain)
            and _is_plain(last)
            and name not in self._spellings
            and not directory
        ):
            # A new file, in a directory that is known, and not to be taken for any other: most names.
            self.charge(2 * len(name) + _NAME_OVERHEAD)
            kinds[name] = self._FILE
            return MemberPath(name)
        return self._admit_odd(name, directory)

    def _admit_odd(self, name: str, directory: bool) -> MemberPath | None:
        path = member_path(name)
        if not path:
            if not directory:
                raise _refused(name, "bad-name", "names no file")
            return path
        left_out = find_dot_git(path)
        slash = (path if left_out is None else left_out).rfind("/")
        if slash > 0:
            self._imply(path[:slash])
        if left_out is not None:
            return None
        known = self._kinds.get(path)
        if known is None:
            self._remember(path, directory)
        elif directory is (known == self._FILE):
            raise _refused(path, "file-and-directory", "is a file and a directory")
        elif not directory:
            raise _refused(path, "duplicate-name", "is there twice")
        self._kinds[path] = self._DIRECTORY if directory else self._FILE
        return path

    def __contains__(self, path: str) -> bool:
        return path in self._kinds

    def directories(self) -> Iterator[str]:
        return (path for path, kind in self._kinds.items() if kind == self._DIRECTORY)

    def charge(self, amount: int) -> None:
        """Count memory besides that of the names (for the targets of links) towards their bound."""
        self._remembered += amount
        if self._remembered > METADATA_BYTES:
            raise metadata_exceeded("the names in the package")

    def _imply(self, parent: str) -> None:
        kinds = self._kinds
        while parent not in kinds:
            self._remember(parent, True)
            kinds[parent] = self._DIRECTORY
            slash = parent.rfind("/")
            if slash < 0:
                return
            parent = parent[:slash]
        if kinds[parent] == self._FILE:
            raise _refused(parent, "file-and-directory", "is a file and a directory")

    def _remember(self, path: str, directory: bool) -> None:
        self.charge(2 * len(path) + _NAME_OVERHEAD)
        folded = path.lower() if path.isascii() else fold(path)
        # A name that is its own folded form needs no second place to be found under.
        other = self._spellings.get(folded) or (folded if folded in self._kinds else path)
        if folded != path:
            self._spellings.setdefault(folded, path)
        elif directory and path.isascii():
            self._plain.add(path)
        if other != path:
            self._complain(
                path,
                "case-collision",
                f"differs from {printable(other)!r} only in case or accents",
                self._strict,
            )
        self._look_closer(path)

    def _look_closer(self, path: str) -> None:
        if not path.isascii():
            try:
                path.encode("utf-8")
            except UnicodeEncodeError:
                self._complain(path, "bad-name", "is not UTF-8", self._strict)
        if _UNPORTABLE.fullmatch(path[path.rfind("/") + 1 :]):
            self._complain(path, "unportable-name", "cannot exist on Windows", False)

    def _complain(self, path: str, part: str, what: str, refuse: bool) -> None:
        if refuse or self._folds_names:
            raise _refused(path, part, what)
        count, first = self.notices.get(part, (0, f"the name {printable(path)!r} {what}"))
        self.notices[part] = (count + 1, first)


def is_unportable(component: str) -> bool:
    """Return whether some systems cannot hold a file of this name."""
    return _UNPORTABLE.fullmatch(component) is not None


def fold(path: str) -> str:
    """Fold a path: two paths with the same folded form are one on some systems."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def _refused(name: str, part: str, what: str) -> UnsafeContentError:
    return UnsafeContentError(f"the name {printable(name)!r} in the package {what}", part=part)
