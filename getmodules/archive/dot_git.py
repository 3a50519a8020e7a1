"""Recognize what git takes for its own: ``.git`` in every spelling, and a repository that is not called so.

A ``config`` in there names commands (``core.fsmonitor``), which ``git status`` runs; so does the prompt of a shell, and
an editor that opens the directory. No package brings one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from getmodules.errors import UnsafeContentError
from getmodules.util.redact import printable

DOT_GIT = ".git"

#: As git's own check of trees: what NTFS cuts off the end of a name, and its short name; of case, that of ASCII alone.
_SPELLING = re.compile(r"(?:\.git|git~1)[ .]*(?::.*)?", re.ASCII | re.IGNORECASE | re.DOTALL)
#: The characters that HFS+ leaves out of names when it compares them.
_IGNORABLE = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
#: The names besides HEAD by which git knows a repository, or a work tree's part of one; files and links will do.
_MARKS = (frozenset({"objects", "refs"}), frozenset({"commondir"}))


def is_dot_git(component: str) -> bool:
    """Return whether some system takes a file of this name for ``.git``."""
    if component.isascii() and component[:1] not in (".", "g", "G"):
        return False
    return _SPELLING.fullmatch(component.translate(_IGNORABLE)) is not None


def find_dot_git(path: str) -> str | None:
    """Return ``path`` up to its first component ``.git``, or None. Refuse one that is only spelled otherwise."""
    if path.isascii() and "git" not in path.lower():
        return None
    end = 0
    for component in path.split("/"):
        end += len(component)
        if component == DOT_GIT:
            return path[:end]
        if is_dot_git(component):
            raise UnsafeContentError(
                f"the name {printable(path)!r} in the package is git's own directory on some systems", part="dot-git"
            )
        end += 1
    return None


def check_no_repository(paths: Iterable[str]) -> None:
    """Refuse a tree of these ``paths``, if git takes a directory of it for a repository."""
    folded = [_folded(path) for path in paths]
    inside: dict[str, set[str]] = {path[:-4]: set() for path in folded if path == "head" or path.endswith("/head")}
    if not inside:
        return
    for path in folded:
        end = path.rfind("/") + 1
        if path[:end] in inside:
            inside[path[:end]].add(path[end:])
    for directory, names in inside.items():
        for marks in _MARKS:
            if marks <= names:
                where = f"the directory {printable(directory[:-1])!r}" if directory else "the top"
                raise UnsafeContentError(
                    f"git takes {where} of the package for a repository: it has HEAD, {' and '.join(sorted(marks))}",
                    part="dot-git",
                    hint="the files of a repository are installed from its address, with git::",
                )


def _folded(path: str) -> str:
    if path.isascii():
        return path.lower()
    # Decomposed, since two spellings of a letter are one directory on some systems, in which the parts come together.
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path.translate(_IGNORABLE)).casefold())
