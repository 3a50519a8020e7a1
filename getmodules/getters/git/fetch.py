"""One commit into a store, with as little as possible moved: the ways to ask, from the cheapest to the one that always
works.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from getmodules.api.limits import Limits
from getmodules.errors import CorruptArchiveError, GetModulesError, NotFoundError
from getmodules.getters.git.connection import Connection
from getmodules.getters.git.environment import REMOTE
from getmodules.getters.git.errors import git_error, knows_no_commit, refuses_commit
from getmodules.getters.git.objects import Objects, target_of
from getmodules.getters.git.process import Done, FetchProgress, Git
from getmodules.getters.git.refs import Refs
from getmodules.getters.git.store import REFS, Store

#: Tags of tags of tags: git follows any number, and nobody makes more than two.
_MOST_TAGS: Final = 16
_MOST_ODD_TAGS: Final = 16
_BAD_REVISION = re.compile(r"fatal: bad revision '([0-9a-f]+)'")
_OTHER_HASH = re.compile(
    # The last is of the helper for HTTP, about the line in which it is told the id that we want.
    r"mismatched algorithms|support this repository's object format|expected sha/ref, got '([0-9a-f]{40,64}) \1'"
)
_PLAIN_FILES: Final = "dumb http transport"
_WANTED_REF: Final = "wanted"
_BESIDE: Final = "beside"
#: Only what is there already may be built upon; git 2.39 dies when it looks for more in a filtered store.
_BLOBS_ONLY: Final = (("fetch.negotiationAlgorithm", "noop"),)


class Aim(NamedTuple):
    """A commit, and what may help to get it where it cannot be asked for by its id."""

    commit: str
    #: A ref of the remote that led to it a moment ago.
    ref: str | None = None
    depth: int = 1


class Budget:
    """How many bytes may still come, over all fetches of one package and its submodules."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._spent = 0
        self._before = 0

    def begin(self, store: Store) -> None:
        self._before = store.bytes()

    def look(self, store: Store) -> int:
        """How much ``store`` has grown since; raises where that is too much."""
        brought = store.bytes() - self._before
        if self._spent + brought > self._limits.download_bytes:
            raise self._limits.exceeded("download_bytes", "what git fetches")
        return brought

    def end(self, store: Store) -> None:
        self._spent += max(0, store.bytes() - self._before)


class Fetcher:
    """Fetches from one remote into one store at a time."""

    def __init__(self, git: Git, connection: Connection, budget: Budget) -> None:
        self._git = git
        self._connection = connection
        self._budget = budget

    def by_commit(self, store: Store, aim: Aim) -> bool:
        """``aim.commit`` alone, or its ref if the server names no commits. ``False``: only a full fetch can do it."""
        shallow = ("--depth", str(aim.depth))
        done = self._fetch(store, shallow, (f"+{aim.commit}:{REFS}/{aim.commit}",))
        if done.code == 0:
            store.mark_complete(aim.commit, self._connection.kind)
            return True
        if _OTHER_HASH.search(done.said) or not refuses_commit(done.said):
            raise self._failed(done, aim)
        if aim.ref is not None:
            done = self._fetch(store, shallow, (f"+{aim.ref}:{REFS}/{_WANTED_REF}",))
            if done.code == 0 and self._leads_to(store, aim.commit):
                store.mark_complete(aim.commit, self._connection.kind)
                return True
            if done.code != 0 and not (refuses_commit(done.said) or knows_no_commit(done.said)):
                raise self._failed(done, aim)
        return False

    def history(self, store: Store, aim: Aim) -> None:
        """All branches and tags; then the commit must be among what they hold."""
        refspecs = [f"+refs/heads/*:{REFS}/heads/*", f"+refs/tags/*:{REFS}/tags/*"]
        if aim.ref is not None and not aim.ref.startswith(("refs/heads/", "refs/tags/")):
            refspecs.append(f"+{aim.ref}:{REFS}/{_WANTED_REF}")
        done = self._fetch(store, (), refspecs)
        if done.code != 0:
            raise self._failed(done, aim)
        if not self._has(store, aim.commit):
            raise self.no_commit(aim.commit) if store.bytes() else self._nothing(aim.commit)
        store.mark_complete(aim.commit, self._connection.kind)

    def commits(self, store: Store, refs: Refs, short: str) -> None:
        """All branches and tags, and whatever else ``short`` may be the beginning of: commits alone where the server
        can filter."""
        refspecs = [f"+refs/heads/*:{REFS}/heads/*", f"+refs/tags/*:{REFS}/tags/*"]
        refspecs += [f"+{name}:{REFS}/{_BESIDE}/{number}" for number, name in enumerate(refs.beside(short))]
        left_out: list[str] = []
        for _ in range(_MOST_ODD_TAGS):
            # Of a shallow repository there is no more than it has; without this git takes nothing of it.
            done = self._fetch(store, ("--update-shallow",), (*refspecs, *left_out))
            if done.code == 0:
                return
            # A tag of a tree: git asks for it, and misses it, since the filter leaves it out.
            odd = _BAD_REVISION.search(done.said)
            left_out += [f"^{name}" for name, each in refs.ids.items() if odd is not None and each == odd[1]]
            if odd is None:
                break
        raise self._failed(done, None)

    def blobs(self, store: Store, ids: Iterable[str]) -> bool:
        """Files that a lean store lacks, in one request. ``False``: the server gives no single files."""
        given = "".join(f"{each}\n" for each in ids).encode()
        done = self._fetch(store, ("--stdin",), (), given=given, more=_BLOBS_ONLY)
        if done.code != 0 and not (refuses_commit(done.said) or knows_no_commit(done.said)):
            raise self._failed(done, None)
        return done.code == 0

    def speaks_git(self, store: Store, commit: str) -> bool:
        """Whether git is at the other end, and not a web server with files, or with a page. ``commit`` is one that is
        not there: the answer to that tells, also of an empty repository."""
        done = self._fetch(store, ("--depth", "1"), (f"+{commit}:{REFS}/{commit}",))
        return _PLAIN_FILES not in done.said

    def no_commit(self, commit: str) -> NotFoundError:
        return NotFoundError(
            f"{self._connection.remote.shown} has no commit {commit}",
            hint="was it pushed, and is it the right repository?",
        )

    def _nothing(self, commit: str) -> NotFoundError:
        return NotFoundError(
            f"{self._connection.remote.shown} has no commit {commit}, nor any other",
            hint="is it a repository, and is the address right?",
        )

    def _other_hash(self, commit: str) -> NotFoundError:
        theirs, digits = ("sha256", 64) if len(commit) == 40 else ("sha1", 40)
        return NotFoundError(
            f"{self._connection.remote.shown} has no commit {commit}: it names its commits by {theirs}, with {digits} "
            f"digits, and this has {len(commit)}",
            hint=f"write all {digits} digits; a submodule has the kind of hash that the repository around it has",
        )

    def _lost(self, aim: Aim) -> CorruptArchiveError:
        return CorruptArchiveError(f"{self._connection.remote.shown} names {aim.commit} itself, and cannot read it")

    # --------------------------------------------------------------------------------------------- how

    def _fetch(
        self,
        store: Store,
        options: Iterable[str],
        refspecs: Iterable[str],
        *,
        given: bytes | None = None,
        more: tuple[tuple[str, str], ...] = (),
    ) -> Done:
        filtered = [f"--filter={store.kind.filter}"] if store.kind.filter is not None else []
        arguments = [
            *("fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--recurse-submodules=no"),
            *filtered,
            *options,
            *("--end-of-options", REMOTE),
            *refspecs,
        ]
        store.for_fetching()
        self._budget.begin(store)
        try:
            return self._connection.run(
                *(self._git, arguments, store.path, more),
                given=given,
                patience=self._connection.patience(lambda: self._budget.look(store)),
                on_line=FetchProgress(self._git.context).read_line,
            )
        finally:
            self._budget.end(store)
            store.for_reading()

    def _failed(self, done: Done, aim: Aim | None) -> GetModulesError:
        if aim is not None and _OTHER_HASH.search(done.said):
            return self._other_hash(aim.commit)
        if aim is not None and knows_no_commit(done.said):
            # What it has just named itself, and cannot give, is broken there.
            return self.no_commit(aim.commit) if aim.ref is None else self._lost(aim)
        self._git.check_version(self._connection.environment(self._connection.directory))
        return git_error(done.said, self._connection.failed_command("git fetch from"))

    def _has(self, store: Store, commit: str) -> bool:
        objects = Objects(store, self._git)
        try:
            return objects.kind_of(commit)[0] == "commit"
        finally:
            objects.close()

    def _leads_to(self, store: Store, commit: str) -> bool:
        """Whether the ref that was fetched still means ``commit``, tags followed to their end."""
        current = store.ref(_WANTED_REF)
        objects = Objects(store, self._git)
        try:
            for _ in range(_MOST_TAGS):
                if current is None or current == commit:
                    break
                kind, data = objects.kind_of(current)
                current = target_of(data)[0] if kind == "tag" else None
            return current == commit
        finally:
            objects.close()
