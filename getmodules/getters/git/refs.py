"""The refs of a repository, as ``ls-remote`` lists them, and the meaning of ``ref=``, by git's own rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final, NamedTuple

from getmodules.errors import FetchError, NotFoundError
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_LINE = re.compile(r"(?P<id>[0-9a-f]{40}|[0-9a-f]{64})\t(?P<name>\S[^\t]*)", re.ASCII)
_SYMREF = re.compile(r"ref: (?P<target>\S+)\tHEAD")
_COMMIT = re.compile(r"(?:[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})", re.ASCII)
_SHORT = re.compile(r"[0-9A-Fa-f]{7,63}", re.ASCII)
_PEELED: Final = "^{}"
#: The completions of a short name; the first that exists wins (gitrevisions(7)).
_RULES: Final = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_BRANCHES_AND_TAGS: Final = ("refs/heads/", "refs/tags/")
_COMPARED = 5_000
_NAMED = 5
_MOST_ALIKE: Final = 16
#: The names that git takes for nothing but a ref; a server may list any text as a name.
_PLAIN: Final = re.compile(r"refs(?:/(?!\.)[A-Za-z0-9_.@+=#,-]+(?<!\.)(?<!\.lock))+")


class Found(NamedTuple):
    """A ref of the remote, and the commit that it leads to, through tags if need be."""

    name: str
    commit: str
    notice: str | None = None


@valueclass(kw_only=False)
class Refs:
    """All refs of one repository. ``peeled`` are the ids that annotated tags lead to."""

    ids: Mapping[str, str]
    peeled: Mapping[str, str]
    #: The branch that HEAD points at, if the server names it.
    head: str | None = None

    @classmethod
    def parse(cls, output: bytes) -> Refs:
        ids: dict[str, str] = {}
        peeled: dict[str, str] = {}
        head = None
        for line in output.decode("utf-8", "surrogateescape").split("\n"):
            symref = _SYMREF.fullmatch(line)
            found = _LINE.fullmatch(line)
            if symref is not None:
                head = symref["target"]
            elif found is not None:
                name = found["name"]
                table, name = (peeled, name.removesuffix(_PEELED)) if name.endswith(_PEELED) else (ids, name)
                table[name] = found["id"]
            elif line:
                raise FetchError(f"git lists a ref that is none: {printable(line)!r}", part="unreadable")
        return cls(ids, peeled, head)

    def find(self, ref: str | None) -> Found | None:
        """Return the ref that ``ref`` means, or ``None`` if there is none of this name."""
        if ref is None or ref == "HEAD":
            return self._head()
        names = [rule.format(ref) for rule in (_RULES[:1] if ref.startswith("refs/") else _RULES)]
        there = [name for name in names if name in self.ids]
        if not there:
            return None
        notice = None
        if {f"refs/tags/{ref}", f"refs/heads/{ref}"} <= set(there):
            notice = f"{printable(ref)!r} is a tag and a branch: the tag is used, as git does; heads/… is the branch"
        return Found(there[0], self._peel(there[0]), notice)

    @property
    def id_length(self) -> int:
        return len(next(iter(self.ids.values()), "0" * 40))

    def tags(self) -> list[str]:
        return [name.removeprefix("refs/tags/") for name in self.ids if name.startswith("refs/tags/")]

    def beside(self, short: str) -> list[str]:
        """Return the refs besides branches and tags that may lead to the commit that begins with ``short``.

        These are HEAD, which may be detached, and one ref for each listed id that begins so (a forge lists its pull
        requests).
        """
        odd = (name for name in self.ids if _is_odd(name) and _PLAIN.fullmatch(name))
        alike = {self._peel(name): name for name in odd if self._peel(name).startswith(short)}
        head = [name for name in self.ids if name == "HEAD"]
        # More are the work of an attacker; then a few are enough to make it ambiguous.
        return list(dict.fromkeys((*head, *islice(alike.values(), _MOST_ALIKE))))

    def name_of(self, commit: str) -> str | None:
        """Return a ref that leads to ``commit``, and HEAD only if there is no other."""
        names = sorted(self.ids, key=lambda name: name == "HEAD")
        return next((name for name in names if self._peel(name) == commit), None)

    def _head(self) -> Found:
        if "HEAD" in self.ids:
            name = self.head if self.head in self.ids else "HEAD"
            return Found(name or "HEAD", self.ids["HEAD"])
        if not self.ids:
            raise NotFoundError("the repository is empty: it has no commit yet", hint="push one to it first")
        raise NotFoundError("the repository's HEAD leads nowhere", hint=self._near(self.head or "") or "name a ref=")

    def _peel(self, name: str) -> str:
        return self.peeled.get(name, self.ids[name])

    def missing(self, ref: str) -> NotFoundError:
        return NotFoundError(f"the repository has no ref or commit {printable(ref)!r}", hint=self._near(ref))

    def _near(self, ref: str) -> str | None:
        import difflib

        # A forge lists thousands of pull requests, and most likely a branch or a tag is meant.
        names = sorted((name for name in self.ids if name != "HEAD"), key=_is_odd)
        short = [name.removeprefix("refs/tags/").removeprefix("refs/heads/") for name in names]
        wanted = ref.removeprefix("refs/").removeprefix("tags/").removeprefix("heads/")
        near = difflib.get_close_matches(wanted, short[:_COMPARED], cutoff=0.5)
        if near:
            return "did you mean " + " or ".join(repr(printable(name)) for name in dict.fromkeys(near)) + "?"
        return (
            "there are, for example: " + ", ".join(map(printable, list(dict.fromkeys(short))[:_NAMED]))
            if short
            else None
        )


def _is_odd(name: str) -> bool:
    return not name.startswith(_BRANCHES_AND_TAGS)


def full_commit(ref: str | None) -> str | None:
    """Return ``ref`` in lower case if it is the full id of a commit."""
    return ref.lower() if ref is not None and _COMMIT.fullmatch(ref) else None


def short_commit(ref: str | None) -> str | None:
    """Return ``ref`` in lower case if it can be the beginning of a commit's id."""
    return ref.lower() if ref is not None and _SHORT.fullmatch(ref) else None
