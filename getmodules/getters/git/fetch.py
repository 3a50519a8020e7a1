"""Fetching of a commit into a store: the ways to request it, from the cheapest to the one that always works."""

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

#: How many tags that point at tags are followed; more than two are not used in practice.
_MOST_TAGS: Final = 16
_MOST_ODD_TAGS: Final = 16
_BAD_REVISION = re.compile(r"fatal: bad revision '([0-9a-f]+)'")
_OTHER_HASH = re.compile(
    # The last one is from the helper for HTTP, about the line with the wanted id.
    r"mismatched algorithms|support this repository's object format|expected sha/ref, got '([0-9a-f]{40,64}) \1'"
)
_PLAIN_FILES: Final = "dumb http transport"
_WANTED_REF: Final = "wanted"
_BESIDE: Final = "beside"
#: Without it, git 2.39 looks for missing objects in a filtered store, and dies.
_BLOBS_ONLY: Final = (("fetch.negotiationAlgorithm", "noop"),)


class WantedCommit(NamedTuple):
    """The commit to fetch, and what helps if the server gives no commits by their ids."""

    commit: str
    #: A ref of the remote that has just led to it.
    ref: str | None = None
    depth: int = 1


class Budget:
    """The limit on the downloaded bytes, over all fetches of one package and its submodules."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._spent = 0
        self._before = 0

    def begin(self, store: Store) -> None:
        self._before = store.bytes()

    def measure(self, store: Store) -> int:
        """Return how much ``store`` has grown since :meth:`begin`; raise if that is too much."""
        fetched = store.bytes() - self._before
        if self._spent + fetched > self._limits.download_bytes:
            raise self._limits.exceeded("download_bytes", "what git fetches")
        return fetched

    def end(self, store: Store) -> None:
        self._spent += max(0, store.bytes() - self._before)


class Fetcher:
    """Fetches from one remote, into one store at a time."""

    def __init__(self, git: Git, connection: Connection, budget: Budget) -> None:
        self._git = git
        self._connection = connection
        self._budget = budget

    def by_commit(self, store: Store, wanted: WantedCommit) -> bool:
        """Fetch ``wanted.commit``, by its id or its ref. Return ``False`` if only the whole history will do."""
        shallow = ("--depth", str(wanted.depth))
        done = self._fetch(store, shallow, (f"+{wanted.commit}:{REFS}/{wanted.commit}",))
        if done.code == 0:
            store.mark_complete(wanted.commit, self._connection.kind)
            return True
        if _OTHER_HASH.search(done.said) or not refuses_commit(done.said):
            raise self._failed(done, wanted)
        if wanted.ref is not None:
            done = self._fetch(store, shallow, (f"+{wanted.ref}:{REFS}/{_WANTED_REF}",))
            if done.code == 0 and self._leads_to(store, wanted.commit):
                store.mark_complete(wanted.commit, self._connection.kind)
                return True
            if done.code != 0 and not (refuses_commit(done.said) or knows_no_commit(done.said)):
                raise self._failed(done, wanted)
        return False

    def history(self, store: Store, wanted: WantedCommit) -> None:
        """Fetch all branches and tags with their history, which must contain the commit."""
        refspecs = [f"+refs/heads/*:{REFS}/heads/*", f"+refs/tags/*:{REFS}/tags/*"]
        if wanted.ref is not None and not wanted.ref.startswith(("refs/heads/", "refs/tags/")):
            refspecs.append(f"+{wanted.ref}:{REFS}/{_WANTED_REF}")
        done = self._fetch(store, (), refspecs)
        if done.code != 0:
            raise self._failed(done, wanted)
        if not self._has(store, wanted.commit):
            raise self.no_commit(wanted.commit) if store.bytes() else self._nothing(wanted.commit)
        store.mark_complete(wanted.commit, self._connection.kind)

    def commits(self, store: Store, refs: Refs, short: str) -> None:
        """Fetch the commits of all branches and tags, and of other refs to which ``short`` may lead.

        Trees and files are left out if the server can filter.
        """
        refspecs = [f"+refs/heads/*:{REFS}/heads/*", f"+refs/tags/*:{REFS}/tags/*"]
        refspecs += [f"+{name}:{REFS}/{_BESIDE}/{number}" for number, name in enumerate(refs.beside(short))]
        left_out: list[str] = []
        for _ in range(_MOST_ODD_TAGS):
            # Without the option, git fetches nothing from a shallow repository.
            done = self._fetch(store, ("--update-shallow",), (*refspecs, *left_out))
            if done.code == 0:
                return
            # A tag of a tree: git fetches the tag, and dies because the filter leaves out the tree.
            odd = _BAD_REVISION.search(done.said)
            left_out += [f"^{name}" for name, each in refs.ids.items() if odd is not None and each == odd[1]]
            if odd is None:
                break
        raise self._failed(done, None)

    def blobs(self, store: Store, ids: Iterable[str]) -> bool:
        """Fetch the files that a lean store lacks, in one request. Return ``False`` if the server gives no files."""
        given = "".join(f"{each}\n" for each in ids).encode()
        done = self._fetch(store, ("--stdin",), (), given=given, more=_BLOBS_ONLY)
        if done.code != 0 and not (refuses_commit(done.said) or knows_no_commit(done.said)):
            raise self._failed(done, None)
        return done.code == 0

    def speaks_git(self, store: Store, commit: str) -> bool:
        """Return whether the server speaks git, and is not a web server with plain files, or a page.

        ``commit`` is one that does not exist: the answer to it tells, for an empty repository as well.
        """
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

    def _lost(self, wanted: WantedCommit) -> CorruptArchiveError:
        return CorruptArchiveError(f"{self._connection.remote.shown} names {wanted.commit} itself, and cannot read it")

    # --------------------------------------------------------------------------------------------- running git

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
        received = FetchProgress(self._git.context, lambda: self._budget.measure(store))
        try:
            return self._connection.run(
                self._git,
                arguments,
                store.path,
                more,
                given=given,
                limits=self._connection.process_limits(self._git.context, received.measure),
            )
        finally:
            self._budget.end(store)
            store.for_reading()

    def _failed(self, done: Done, wanted: WantedCommit | None) -> GetModulesError:
        if wanted is not None and _OTHER_HASH.search(done.said):
            return self._other_hash(wanted.commit)
        if wanted is not None and knows_no_commit(done.said):
            # The server has just named this commit itself. If it cannot give it, its repository is broken.
            return self.no_commit(wanted.commit) if wanted.ref is None else self._lost(wanted)
        self._git.check_version(self._connection.environment(self._connection.directory))
        return git_error(done.said, self._connection.failed_command("git fetch from", done))

    def _has(self, store: Store, commit: str) -> bool:
        objects = Objects(store, self._git)
        try:
            return objects.kind_of(commit)[0] == "commit"
        finally:
            objects.close()

    def _leads_to(self, store: Store, commit: str) -> bool:
        """Return whether the fetched ref still leads to ``commit``, through tags if need be."""
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
