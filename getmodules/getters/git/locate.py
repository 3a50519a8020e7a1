"""Resolution of refs to commits: a full id needs no request, a name one ``ls-remote``, a short id the history."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from getmodules.api.ports import Context
from getmodules.errors import NotFoundError
from getmodules.getters.git.connection import Connection, connected
from getmodules.getters.git.environment import REMOTE, environment
from getmodules.getters.git.errors import git_error
from getmodules.getters.git.fetch import Budget, Fetcher
from getmodules.getters.git.process import Git
from getmodules.getters.git.refs import Refs, full_commit, short_commit
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.store import Extent, Store
from getmodules.util.redact import printable

#: A path without a repository. Nobody else can make one there: the name is shown in no command line, and few may write
#: into the root directory. Its parent must exist: if the user's configuration has an ``includeIf "gitdir:…"``, git
#: resolves the path, and dies if it cannot.
_NOWHERE = Path(os.path.abspath(os.sep), f"getmodules-{os.urandom(8).hex()}")

#: An id that no repository has. None of 64 digits is needed: a server that refuses this one for its length speaks git.
_NO_COMMIT = "1" * 40

#: Protocol version 0 sends all refs at once; version 2 needs a round trip more.
_ALL_AT_ONCE = (("protocol.version", "0"),)


class Located(NamedTuple):
    """A commit, and the ref that leads to it."""

    commit: str
    #: The full name of the ref that leads to it; mostly unknown if the address has the id.
    ref: str | None = None


def workshop_key(remote: Remote) -> str:
    """Return the key of the workshop for a repository."""
    return f"git {remote.location}"


def locate(remote: Remote, ref: str | None, context: Context) -> Located:
    """Return the commit that ``ref`` means in ``remote``; without a ref, that of ``HEAD``."""
    commit = full_commit(ref)
    if commit is not None:
        return Located(commit)
    refs = refs_of(remote, context)
    found = refs.find(ref)
    if found is not None:
        if found.notice is not None:
            context.notice(found.notice)
        return Located(found.commit, found.name)
    assert ref is not None  # without a ref, find() returns HEAD or raises
    short = short_commit(ref)
    if short is None or len(short) > refs.id_length:
        raise refs.missing(ref)
    found_id = context.once(("git commit", remote, short), lambda: _complete_id(remote, short, refs, Git(context)))
    if found_id is None:
        raise refs.missing(ref)
    return Located(found_id, refs.name_of(found_id))


def refs_of(remote: Remote, context: Context) -> Refs:
    """Return all refs of a repository, which are requested once in an operation."""
    return context.once(("git refs", remote), lambda: _list_refs(remote, Git(context)))


def _list_refs(remote: Remote, git: Git) -> Refs:
    with _lookup_directory(remote, git.context) as directory, connected(remote, git, directory) as connection:
        asked = ["ls-remote", "--symref", "--end-of-options", REMOTE]
        done = connection.run(git, asked, directory, _ALL_AT_ONCE, limits=connection.process_limits(git.context))
        if done.code != 0:
            git.check_version(connection.environment(directory))
            raise git_error(done.said, connection.failed_command("git ls-remote of", done))
        refs = Refs.parse(done.output)
    if not refs.ids:
        _check_speaks_git(remote, git)
    return refs


def _check_speaks_git(remote: Remote, git: Git) -> None:
    """Raise unless the server speaks git.

    A web page without a line end, and an empty answer, are an empty list to git: it takes them for a repository of
    plain files.
    """
    context = git.context
    with context.workshop(workshop_key(remote)) as directory, connected(remote, git, directory) as connection:
        store = Store(directory, Extent.TIP, len(_NO_COMMIT))
        store.prepare()
        if not Fetcher(git, connection, Budget(context.limits)).speaks_git(store, _NO_COMMIT):
            raise NotFoundError(
                f"{remote.shown}: there is no repository: the server answers, but not as git does, and lists nothing",
                hint="is the address right? Who has not signed in is often shown a page instead",
            )


@contextmanager
def _lookup_directory(remote: Remote, context: Context) -> Iterator[Path]:
    """Enter the workshop if a key must be written; otherwise no lock is needed, and any path will do."""
    if remote.sshkey is None:
        yield _NOWHERE
        return
    with context.workshop(workshop_key(remote)) as directory:
        yield directory


def _complete_id(remote: Remote, short: str, refs: Refs, git: Git) -> str | None:
    """Return the only commit whose id begins with ``short``. That needs all commits of the repository."""
    context = git.context
    with context.workshop(workshop_key(remote)) as directory, connected(remote, git, directory) as connection:
        store = Store(directory, Extent.COMMITS, refs.id_length)
        # An older store is of no use: git dies if a tag leads to an object that the filter left out.
        store.wipe()
        Fetcher(git, connection, Budget(context.limits)).commits(store, refs, short)
        return _only_match(store, short, git, connection)


def _only_match(store: Store, short: str, git: Git, connection: Connection) -> str | None:
    done = git.run(
        ["rev-parse", "--verify", "--end-of-options", f"{short}^{{commit}}"],
        environment(git.context.environ, store.path),
    )
    if "ambiguous" in done.said:
        raise NotFoundError(
            f"{connection.remote.shown} has several commits that begin with {printable(short)}",
            hint="write the whole id",
        )
    found = done.output.decode("ascii", "replace").strip()
    return found if done.code == 0 and full_commit(found) and found.startswith(short) else None
