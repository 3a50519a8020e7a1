"""The files of a directory that are published: in a git work tree the tracked ones, elsewhere all but a few.

Those are ``.git`` and what may be secret. Names are from git's index, contents from the work tree.
``.getmodulesignore`` leaves out files of both.

git is only asked to read. It gets none of the caller's ``GIT_*`` variables: git sets them for hooks, and they name
another repository. The repository may be from anybody, and its configuration can name commands: so no hook, monitor,
filter, pager, prompt or transport is run, and no submodule is read. The user's own configuration is read, because
``safe.directory`` is there.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.model import Kind, Member
from getmodules.api.ports import Context
from getmodules.archive.directory import member_at, walk
from getmodules.archive.dot_git import is_dot_git
from getmodules.errors import ConfigError, FetchError, NetworkError, NotFoundError, UnsupportedContentError
from getmodules.files.local import read_file, unreadable
from getmodules.files.opening import is_in_the_way
from getmodules.files.private import is_private
from getmodules.getters.oci import confidential
from getmodules.getters.oci.confidential import Confidential
from getmodules.getters.oci.ignore import IGNORE_FILE, Ignore
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_LINK, _SUBMODULE = "120000", "160000"
_IGNORE_BYTES = 1 << 20


@valueclass(kw_only=False)
class PublishedFiles:
    """The files and links to publish, unordered, and the revision that they are from."""

    members: tuple[Member, ...]
    revision: Revision | None = None


def select(directory: Path, context: Context) -> PublishedFiles:
    """Return the files of ``directory`` that are published."""
    try:
        is_directory = stat.S_ISDIR(directory.stat().st_mode)
    except OSError as error:
        raise unreadable(directory, error) from error
    if not is_directory:
        raise UnsupportedContentError(
            f"{printable(str(directory), 500)!r} is no directory", hint="a directory is published, not a file"
        )
    ignore = _ignore(directory)
    git = WorktreeGit.of(directory, context)
    if git is None:
        return PublishedFiles(tuple(_everything(directory, ignore, context)))
    members = tuple(_tracked(directory, git, ignore, context))
    _mention_untracked(git, ignore, context)
    return PublishedFiles(members, git.revision())


def apart_from(target: Path, directory: Path, members: Iterable[Member], context: Context) -> tuple[Member, ...]:
    """Return ``members`` without those in ``target``, which is written to: the package would change each time."""
    all_of_them = tuple(members)
    try:
        inside = os.path.relpath(os.path.realpath(target), os.path.realpath(directory)).replace(os.sep, "/")
    except ValueError:  # on Windows, there is no way from one drive to another
        return all_of_them
    kept = tuple(each for each in all_of_them if each.name != inside and not each.name.startswith(f"{inside}/"))
    if len(kept) < len(all_of_them):
        context.notice(f"{printable(inside, 500)} is what is published to, and is left out")
    return kept


def _ignore(directory: Path) -> Ignore:
    path = directory / IGNORE_FILE
    body = bytearray()
    try:
        for piece in read_file(path):
            body += piece
            if len(body) > _IGNORE_BYTES:
                raise metadata_exceeded(f"the file {IGNORE_FILE}", _IGNORE_BYTES)
    except NotFoundError:
        return Ignore()
    except FetchError as error:
        if isinstance(error.__cause__, OSError) and is_in_the_way(error.__cause__):
            raise FetchError(
                f"{printable(str(path), 500)!r} is a link",
                part="unreadable",
                hint="what is left out is not read through links: put the file itself there",
            ) from error
        raise
    return Ignore(bytes(body))


def _everything(directory: Path, ignore: Ignore, context: Context) -> list[Member]:
    judge = Confidential(ignore)
    secret: list[str] = []

    def leave_out(path: str, is_directory: bool) -> bool:
        # The .git of a linked work tree or submodule is a file.
        is_git = is_dot_git(path.rpartition("/")[2])
        if is_git or is_private(path, is_directory) or ignore.leaves_out(path, directory=is_directory):
            return True
        if judge.has_secret_name(path, directory=is_directory):
            secret.append(f"{path}/" if is_directory else path)
            return True
        return False

    members: list[Member] = []
    for number, member in enumerate(walk(directory, leave_out), start=1):
        context.checkpoint()
        if number > context.limits.entries:
            raise context.limits.exceeded("entries", "the files and directories to publish")
        if judge.holds_private_key(member):
            secret.append(member.name)
        elif member.kind is not Kind.DIRECTORY:
            members.append(member)
    if secret:
        context.notice(confidential.left_out(sorted(secret)))
    _mention([member.name for member in members if judge.is_doubtful(member.name)], context)
    return members


def _mention(names: list[str], context: Context) -> None:
    """Name files that are published, and perhaps should not be."""
    if names:
        context.notice(confidential.published(sorted(names)))


def _tracked(directory: Path, git: WorktreeGit, ignore: Ignore, context: Context) -> list[Member]:
    members: list[Member] = []
    for mode, name in git.tracked():
        context.checkpoint()
        if ignore.leaves_out_below(name):
            continue
        if mode == _SUBMODULE:
            raise UnsupportedContentError(
                f"{printable(name)!r} is a git submodule",
                hint=f"publish it on its own, or leave it out with a line in {IGNORE_FILE}",
            )
        members.append(_member(directory, name))
    judge = Confidential(ignore)
    _mention([each.name for each in members if judge.is_doubtful(each.name) or judge.is_secret_below(each)], context)
    return members


def _member(directory: Path, name: str) -> Member:
    """Return a tracked file of the work tree, not through a link, since git does not track what that leads to."""
    try:
        member = member_at(directory, name)
    except OSError as error:
        if isinstance(error, FileNotFoundError) or is_in_the_way(error):
            raise _not_in_the_work_tree(name) from None
        raise unreadable(directory / name, error) from error
    except ValueError as error:
        raise FetchError(f"git tracks {printable(name)!r}, which is no name here", part="unreadable") from error
    if member.kind is Kind.DIRECTORY:
        raise _not_in_the_work_tree(name)
    return member


def _not_in_the_work_tree(name: str) -> NotFoundError:
    return NotFoundError(
        f"git tracks {printable(name)!r}, and it is not in the work tree as a file",
        hint=f"restore it (git checkout -- FILE), or remove it from git, or name it in {IGNORE_FILE}",
    )


def _mention_untracked(git: WorktreeGit, ignore: Ignore, context: Context) -> None:
    untracked = [name for name in git.untracked() if not ignore.leaves_out_below(name)]
    if untracked:
        more = f" and {len(untracked) - 1:,} more" if len(untracked) > 1 else ""
        context.notice(f"left out, since git does not track it: {printable(untracked[0])!r}{more}")


# ---------------------------------------------------------------------------------------------------------------- git


_ALWAYS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.quotePath=false"),
)
_STATUS = ("status", "-z", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "--no-renames", ":/")
_NO_FILTER = ("clean=", "smudge=", "process=", "required=false")
#: More filters than in any real repository. Each is switched off by an argument, and the number of those is limited.
_MOST_FILTERS = 100


@valueclass(kw_only=False)
class Revision:
    """The commit of a clean work tree, and the address of its repository, if that is known."""

    commit: str
    source: str | None


class WorktreeGit:
    """git in one work tree, to read only."""

    def __init__(self, program: str, directory: Path, context: Context) -> None:
        self._program = program
        self._directory = directory
        self._context = context

    @classmethod
    def of(cls, directory: Path, context: Context) -> WorktreeGit | None:
        """Return git for the work tree around ``directory``, or ``None`` if there is no git, or no work tree.

        A work tree that git cannot read is an error: without git, what it does not track would be published too.
        """
        program = shutil.which("git", path=context.environ.get("PATH"))
        if program is None:
            if _looks_like_a_work_tree(directory):
                context.notice("git is not installed, so all files are published, not only those that it tracks")
            return None
        git = cls(program, directory, context)
        done = git._run("rev-parse", "--is-inside-work-tree")
        said, hint = done.stderr.decode("utf-8", "replace"), "repair it (git worktree repair, if it was moved)"
        if done.returncode == 0:
            if done.stdout.strip() == b"true":
                return git
            said, hint = "to git this is no work tree", "is core.bare or core.worktree set? Else push what git tracks"
        elif "dubious ownership" in said or "safe.directory" in said:
            raise ConfigError(
                f"git reads no repository of somebody else, as the one around {_shown(directory)} is",
                hint="if you trust it: git config --global --add safe.directory PATH",
            )
        elif "not a git repository" not in said:
            raise _failed("rev-parse", said)
        if _looks_like_a_work_tree(directory):
            raise ConfigError(
                f"there is a .git around {_shown(directory)}, and git cannot use it: {_line(said)}",
                hint=f"{hint}, or publish a copy that lies outside of it",
            )
        return None

    def tracked(self) -> Iterator[tuple[str, str]]:
        """Yield mode and name of each entry of the index, below the directory."""
        for line in self._lines("ls-files", "-z", "--cached", "--stage"):
            about, _, name = line.partition("\t")
            mode, _, stage = about.split(" ")
            if stage != "0":
                raise UnsupportedContentError(
                    f"{printable(name)!r} has a merge conflict that is not resolved", hint="resolve it, and git add it"
                )
            yield mode, name

    def untracked(self) -> Iterator[str]:
        return self._lines("ls-files", "-z", "--others", "--exclude-standard")

    def revision(self) -> Revision | None:
        """Return the commit, or ``None`` without one, or if a tracked file differs; submodules are ignored."""
        head = self._run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if head.returncode != 0 or not self._is_clean():
            return None
        origin = self._run("config", "--get", "remote.origin.url").stdout.decode("utf-8", "replace").strip()
        return Revision(head.stdout.decode("ascii", "replace").strip(), public_source(origin))

    def _is_clean(self) -> bool:
        """Return whether all tracked files are as committed; ``False`` also if that cannot be found out safely.

        To compare a file that was touched, git runs the filters that the configuration names. Without them, a touched
        file that needs one counts as changed. Then there is no revision, but no command of the package was run.
        """
        names = self._lines("config", "-z", "--name-only", "--get-regexp", r"^filter\.", nothing_found=1)
        drivers = sorted({name.rpartition(".")[0] for name in names})
        # git takes the text before the first "=" for the name, so such a driver would not be switched off.
        if len(drivers) > _MOST_FILTERS or any("=" in driver for driver in drivers):
            return False
        off = [part for driver in drivers for setting in _NO_FILTER for part in ("-c", f"{driver}.{setting}")]
        return not any(self._lines(*_STATUS, options=off)) and not self._hides_changes()

    def _hides_changes(self) -> bool:
        """Return whether git ignores changes of a file: ``assume-unchanged``, or ``skip-worktree`` if it exists."""
        for line in self._lines("ls-files", "-v", "-z", "--cached"):
            flag, _, name = line.partition(" ")
            if flag.islower() or (flag == "S" and os.path.lexists(self._directory / name)):
                return True
        return False

    def _lines(
        self, command: str, *arguments: str, options: Sequence[str] = (), nothing_found: int = 0
    ) -> Iterator[str]:
        done = self._run(command, *arguments, options=options)
        if done.returncode not in (0, nothing_found):
            raise _failed(command, done.stderr.decode("utf-8", "replace"))
        if len(done.stdout) > METADATA_BYTES:
            raise metadata_exceeded(f"what git {command} lists")
        return (os.fsdecode(line) for line in done.stdout.split(b"\0") if line)

    def _run(self, *arguments: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
        self._context.checkpoint()
        try:
            return subprocess.run(
                [self._program, *_ALWAYS, *options, *arguments],
                cwd=self._directory,
                env=_environment(self._context.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=max(0.1, self._context.deadline.remaining()),
            )
        except subprocess.TimeoutExpired:
            self._context.deadline.check()
            raise NetworkError(f"git {arguments[0]} does not end", part="timeout") from None
        except OSError as error:
            raise FetchError(f"git cannot be run: {error.strerror}", part="unreadable") from error


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        # A directory that is mounted into a work tree belongs to it, and may be tracked like all others.
        "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        # A partial clone fetches missing objects, perhaps by a command in its configuration. Old git does not know
        # the first variable; the second one forbids all transports, whatever protocol.*.allow says.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
    }


def _looks_like_a_work_tree(directory: Path) -> bool:
    """Return whether there is a ``.git`` in or above ``directory``, even a dangling link; not so inside a ``.git``."""
    there = directory.resolve()
    return ".git" not in there.parts and any(os.path.lexists(each / ".git") for each in (there, *there.parents))


def _failed(command: str, said: str) -> FetchError:
    return FetchError(f"git {command} failed: {_line(said)}", part="unreadable")


def _line(said: str) -> str:
    return printable(" ".join(said.split()), 300)


def _shown(directory: Path) -> str:
    return repr(printable(str(directory), 500))


# ------------------------------------------------------------------------------------------ the address of the source


#: Forges that have the same addresses for ssh and on the web, but for the scheme.
_FORGES = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
_SCP = re.compile(r"(?:(?P<user>[A-Za-z0-9._-]+)@)?(?P<host>[A-Za-z0-9.-]+):(?P<path>[^:].*)", re.ASCII)


def public_source(origin: str) -> str | None:
    """Return a remote's address for publication: without password or token, and as a web address if possible."""
    if not origin.isprintable():
        return None
    try:
        parts = urlsplit(origin)
    except ValueError:  # an invalid address in brackets
        return None
    if parts.scheme in ("http", "https") and parts.hostname:
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.removesuffix('.git')}"
    if parts.scheme in ("ssh", "git") and parts.hostname:
        user, host, path = parts.username, parts.netloc.rpartition("@")[2], parts.path
    else:
        short = _SCP.fullmatch(origin)
        if short is None or "://" in origin:
            return None
        user, host, path = short["user"], short["host"], "/" + short["path"].lstrip("/")
    if host in _FORGES:
        return f"https://{host}{path.removesuffix('.git')}"
    return f"{parts.scheme if parts.scheme == 'git' else 'ssh'}://{f'{user}@' if user else ''}{host}{path}"
