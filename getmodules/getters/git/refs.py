"""What a repository's refs are, and which commit a ``ref=`` means: git's own rules, on what ``ls-remote`` said."""

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
#: How git completes a short name, the first that is there wins (gitrevisions(7)).
_RULES: Final = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_BRANCHES_AND_TAGS: Final = ("refs/heads/", "refs/tags/")
_COMPARED = 5_000
_NAMED = 5
_MOST_ALIKE: Final = 16
#: What means nothing else to git when it is asked for. A server may list what it likes.
_PLAIN: Final = re.compile(r"refs(?:/(?!\.)[A-Za-z0-9_.@+=#,-]+(?<!\.)(?<!\.lock))+")


class Found(NamedTuple):
    """A ref of the remote and the commit that it leads to, tags followed to their end."""

    name: str
    commit: str
    notice: str | None = None


@valueclass(kw_only=False)
class Refs:
    """All refs of one repository. ``peeled`` are the ids that annotated tags lead to."""

    ids: Mapping[str, str]
    peeled: Mapping[str, str]
    #: The branch that HEAD stands for, where the server says so.
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
        """What ``ref`` means; ``None`` where no ref is called so."""
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
        """Which refs lead to commits that no branch and no tag may lead to, where ``short`` is to be completed: HEAD,
        which may be detached, and one for each listed id that begins so (a forge lists its pull requests)."""
        odd = (name for name in self.ids if _is_odd(name) and _PLAIN.fullmatch(name))
        alike = {self._peel(name): name for name in odd if self._peel(name).startswith(short)}
        head = [name for name in self.ids if name == "HEAD"]
        # So many would need a miracle, or somebody who makes them: then it is ambiguous after a few.
        return list(dict.fromkeys((*head, *islice(alike.values(), _MOST_ALIKE))))

    def name_of(self, commit: str) -> str | None:
        """A ref that leads to ``commit``, HEAD only where there is no other."""
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

        # A forge lists thousands of pull requests, and what is meant is a branch or a tag.
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
    """``ref`` as a commit's whole id, if it is one."""
    return ref.lower() if ref is not None and _COMMIT.fullmatch(ref) else None


def short_commit(ref: str | None) -> str | None:
    """``ref`` as the beginning of a commit's id, if it can be one."""
    return ref.lower() if ref is not None and _SHORT.fullmatch(ref) else None
