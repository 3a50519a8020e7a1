"""Select the members of a package that belong to one subdirectory."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice, takewhile
from pathlib import Path

from getmodules.api.model import MemberPath
from getmodules.archive.dot_git import DOT_GIT
from getmodules.errors import SubdirectoryNotFoundError
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_MAGIC = frozenset("*?[")
#: How many directories are compared with a name that was not found: the hint must not cost more than the work.
_COMPARED = 2_000
_NAMED = 3
_LISTED = 5


@valueclass(kw_only=False)
class Output:
    """An empty staging directory, and the subdirectory of the package to write into it.

    ``subdir`` is empty for the whole package, else a clean relative path, or a glob that must match exactly
    one directory. ``root`` is an open directory descriptor; a path where the platform has no such thing.
    """

    subdir: str
    root: int | Path


def plain_start(subdir: str) -> str:
    """Return the components of ``subdir`` before the first one with a wildcard: all of it, if it is not a glob."""
    return "/".join(takewhile(_MAGIC.isdisjoint, subdir.split("/")))


def may_select(subdir: str, path: str) -> bool:
    """Return whether ``path`` is a directory that ``subdir`` may stand for, or lies in one."""
    patterns, parts = subdir.split("/") if subdir else [], path.split("/")
    return len(parts) >= len(patterns) and all(map(_matches, parts, patterns))


class Selection:
    """The members below one subdirectory; a glob is resolved while the members pass by."""

    def __init__(self, subdir: str) -> None:
        self.subdir = subdir
        self.is_glob = not _MAGIC.isdisjoint(subdir)
        self._patterns = subdir.split("/") if self.is_glob else []
        self._root: str | None = None if self.is_glob else subdir
        self._below = f"{subdir}/"
        self._found = not subdir
        #: What is there in place of the directory, and the target if that is a link.
        self._other: tuple[str, str] | None = None
        self._judged: set[str] = set()

    def relative(self, path: MemberPath) -> MemberPath | None:
        """Return ``path`` relative to the selected directory, if it is in there; ``""`` is that directory itself."""
        if not self.subdir:
            return path
        if self._root is None:
            return None
        if path.startswith(self._below):
            return MemberPath(path[len(self._below) :])
        return MemberPath("") if path == self._root else None

    def offer(self, path: str, *, directory: bool, link: str = "") -> None:
        """Check whether ``path`` is or shows the selected directory; refuse what makes the choice impossible."""
        if self.is_glob:
            self._offer_to_glob(path, directory, link)
        elif path.startswith(self._below):
            self._found = True
        elif path == self._root:
            self._note(path, directory, link)

    def _note(self, path: str, directory: bool, link: str) -> None:
        if directory:
            self._found = True
        else:  # refused at the end, when the directories are known that may have been meant
            self._other = (path, link)

    def finish(self, directories: Iterable[str]) -> None:
        """Check, after all members, that the directory was found; ``directories`` are those that the package has."""
        if self._other is not None:
            raise self._not_a_directory(*self._other, directories)
        if not self._found and DOT_GIT in self.subdir.split("/"):
            raise SubdirectoryNotFoundError(f"{printable(self.subdir)!r} is git's own: no .git is installed")
        if not self._found:
            raise SubdirectoryNotFoundError(
                f"the package has no directory {printable(self.subdir)!r}", hint=self._near(directories)
            )

    def _offer_to_glob(self, path: str, directory: bool, link: str) -> None:
        parts = path.split("/", len(self._patterns))
        depth = len(self._patterns)
        if len(parts) < depth:
            return
        candidate = "/".join(parts[:depth])
        if candidate in self._judged:
            return
        # Names reach this point after the name book has counted them, so this set is bounded as well.
        self._judged.add(candidate)
        if not all(map(_matches, parts, self._patterns)):
            return
        other = self._root if self._other is None else self._other[0]
        if other is not None:
            raise SubdirectoryNotFoundError(
                f"{printable(self.subdir)!r} matches {printable(other)!r} and {printable(candidate)!r}",
                part="ambiguous-glob",
                hint="name one of them",
            )
        if directory or len(parts) > depth:
            self._root, self._below, self._found = candidate, f"{candidate}/", True
        else:
            self._other = (candidate, link)

    def _not_a_directory(self, path: str, link: str, directories: Iterable[str]) -> SubdirectoryNotFoundError:
        what = f"a link to {printable(link)!r}" if link else "a file"
        parent = posixpath.dirname(path)
        target = posixpath.normpath(posixpath.join(parent, link)) if link else ""
        return SubdirectoryNotFoundError(
            f"{printable(path)!r} in the package is {what}, not a directory",
            part="not-a-directory",
            hint=self._near(directories, target, parent),
        )

    def _near(self, directories: Iterable[str], *likely: str) -> str:
        """Return a hint that names directories which may have been meant, the ``likely`` ones first."""
        import difflib

        names = list(islice(directories, _COMPARED))
        near = [name for name in likely if name in names]
        near += [name for name in names if name.endswith(self._below[:-1])][:_NAMED]
        near = list(dict.fromkeys((*near, *difflib.get_close_matches(self.subdir, names))))
        if near:
            return "did you mean " + " or ".join(repr(printable(name)) for name in near[:_NAMED]) + "?"
        top = sorted(name for name in names if "/" not in name)[:_LISTED]
        if top:
            return "its directories: " + ", ".join(printable(name) for name in top)
        return f"it has no directories: leave out //{printable(self.subdir)}"


def _matches(name: str, pattern: str) -> bool:
    # As in a shell: what is hidden must be asked for.
    return fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))
