"""Which commit an address means: the whole id as it is, a name by one ``ls-remote``, a short id by the history."""

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

#: Not a repository, and nobody else can make one there: no command line shows this name, and below the root not many
#: may write. What it lies in exists, since git looks for its real path where the user's configuration has an
#: ``includeIf "gitdir:…"``, and dies where there can be none.
_NOWHERE = Path(os.path.abspath(os.sep), f"getmodules-{os.urandom(8).hex()}")

#: No repository has it. One of 64 digits is not needed: who refuses it for that speaks git.
_NO_COMMIT = "1" * 40

#: Who wants all refs has them one round trip earlier without version 2, which must be asked for them.
_ALL_AT_ONCE = (("protocol.version", "0"),)


class Located(NamedTuple):
    commit: str
    #: The ref that leads to it, by its full name; of one that was named by its id mostly none is known.
    ref: str | None = None


def workshop_key(remote: Remote) -> str:
    return f"git {remote.location}"


def locate(remote: Remote, ref: str | None, context: Context) -> Located:
    commit = full_commit(ref)
    if commit is not None:
        return Located(commit)
    refs = refs_of(remote, context)
    found = refs.find(ref)
    if found is not None:
        if found.notice is not None:
            context.notice(found.notice)
        return Located(found.commit, found.name)
    assert ref is not None  # HEAD is found, or an error
    short = short_commit(ref)
    if short is None or len(short) > refs.id_length:
        raise refs.missing(ref)
    found_id = context.once(("git commit", remote, short), lambda: _complete(remote, short, refs, Git(context)))
    if found_id is None:
        raise refs.missing(ref)
    return Located(found_id, refs.name_of(found_id))


def refs_of(remote: Remote, context: Context) -> Refs:
    """All refs of a repository, asked for once in a run."""
    return context.once(("git refs", remote), lambda: _list(remote, Git(context)))


def _list(remote: Remote, git: Git) -> Refs:
    with _lookup_directory(remote, git.context) as directory, connected(remote, git, directory) as connection:
        asked = ["ls-remote", "--symref", "--end-of-options", REMOTE]
        done = connection.run(git, asked, directory, _ALL_AT_ONCE, patience=connection.patience())
        if done.code != 0:
            git.check_version(connection.environment(directory))
            raise git_error(done.said, connection.failed_command("git ls-remote of"))
        refs = Refs.parse(done.output)
    if not refs.ids:
        _check_speaks_git(remote, git)
    return refs


def _check_speaks_git(remote: Remote, git: Git) -> None:
    """Raise where no git is at the other end. A web page whose last line does not end, and an answer without content,
    are an empty list to git: it takes them for a repository of plain files."""
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
    """A directory only where a key must lie in one: nobody waits for who reads there."""
    if remote.sshkey is None:
        yield _NOWHERE
        return
    with context.workshop(workshop_key(remote)) as directory:
        yield directory


def _complete(remote: Remote, short: str, refs: Refs, git: Git) -> str | None:
    """The one commit whose id begins with ``short``. Only who knows all commits can tell."""
    context = git.context
    with context.workshop(workshop_key(remote)) as directory, connected(remote, git, directory) as connection:
        store = Store(directory, Extent.COMMITS, refs.id_length)
        # An older one is of no use: git dies where a tag leads to what the filter left out.
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
