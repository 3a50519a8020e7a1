"""What is published of a directory: in a git work tree what git tracks, elsewhere everything but ``.git``.

Names come from git's index, contents from the work tree. ``.getmodulesignore`` takes away from both.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from getmodules.errors import FetchError, NotFoundError, UnsupportedContentError
from getmodules.limits import metadata_exceeded
from getmodules.localfile import read_file, unreadable
from getmodules.model import Kind, Member
from getmodules.oci.ignore import IGNORE_FILE, Ignore
from getmodules.oci.workgit import Git, Revision
from getmodules.ports import Context
from getmodules.redact import printable
from getmodules.tree import member_at, walk

_LINK, _SUBMODULE = "120000", "160000"
_IGNORE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Selection:
    """The files and links of a package to be, in no particular order, and where they come from."""

    members: tuple[Member, ...]
    revision: Revision | None = None


def select(directory: Path, context: Context) -> Selection:
    try:
        is_directory = stat.S_ISDIR(directory.stat().st_mode)
    except OSError as error:
        raise unreadable(directory, error) from error
    if not is_directory:
        raise UnsupportedContentError(
            f"{printable(str(directory), 500)!r} is no directory", hint="a directory is published, not a file"
        )
    ignore = _ignore(directory)
    git = Git.of(directory, context)
    if git is None:
        return Selection(tuple(_everything(directory, ignore, context)))
    members = tuple(_tracked(directory, git, ignore, context))
    _mention_untracked(git, ignore, context)
    return Selection(members, git.revision())


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
    return Ignore(bytes(body))


def _everything(directory: Path, ignore: Ignore, context: Context) -> list[Member]:
    def leave_out(path: str, is_directory: bool) -> bool:
        # A work tree's or submodule's .git may be a file.
        return path.rpartition("/")[2].lower() == ".git" or ignore.leaves_out(path, directory=is_directory)

    members: list[Member] = []
    for number, member in enumerate(walk(directory, leave_out), start=1):
        context.checkpoint()
        if number > context.limits.entries:
            raise context.limits.exceeded("entries", "the files and directories to publish")
        if member.kind is not Kind.DIRECTORY:
            members.append(member)
    return members


def _tracked(directory: Path, git: Git, ignore: Ignore, context: Context) -> list[Member]:
    members: list[Member] = []
    real: set[str] = set()
    for mode, name in git.tracked():
        context.checkpoint()
        if ignore.leaves_out_below(name):
            continue
        if mode == _SUBMODULE:
            raise UnsupportedContentError(
                f"{printable(name)!r} is a git submodule",
                hint=f"publish it on its own, or leave it out with a line in {IGNORE_FILE}",
            )
        members.append(_member(directory, name, real))
    return members


def _member(directory: Path, name: str, real: set[str]) -> Member:
    """A tracked file as it lies in the work tree. ``real`` are the directories known to be no links."""
    parent = name.rpartition("/")[0]
    try:
        while parent and parent not in real:
            if not stat.S_ISDIR(os.lstat(directory / parent).st_mode):
                raise NotADirectoryError
            real.add(parent)
            parent = parent.rpartition("/")[0]
        status = os.lstat(directory / name)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise NotFoundError(
            f"git tracks {printable(name)!r}, and it is not in the work tree as a file",
            hint=f"restore it (git checkout -- FILE), or remove it from git, or name it in {IGNORE_FILE}",
        ) from None
    except OSError as error:
        raise unreadable(directory / name, error) from error
    except ValueError as error:
        raise FetchError(f"git tracks {printable(name)!r}, which is no name here", part="unreadable") from error
    return member_at(directory, name, status)


def _mention_untracked(git: Git, ignore: Ignore, context: Context) -> None:
    untracked = [name for name in git.untracked() if not ignore.leaves_out_below(name)]
    if untracked:
        more = f" and {len(untracked) - 1:,} more" if len(untracked) > 1 else ""
        context.notice(f"left out, since git does not track it: {printable(untracked[0])!r}{more}")
