"""What is published of a directory: in a git work tree what git tracks, elsewhere everything but ``.git``.

Names come from git's index, contents from the work tree. ``.getmodulesignore`` takes away from both.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from getmodules.api.limits import metadata_exceeded
from getmodules.api.model import Kind, Member
from getmodules.api.ports import Context
from getmodules.archive.directory import member_at, walk
from getmodules.errors import FetchError, NotFoundError, UnsupportedContentError
from getmodules.files.local import read_file, unreadable
from getmodules.files.opening import is_in_the_way
from getmodules.files.private import is_private
from getmodules.oci.ignore import IGNORE_FILE, Ignore
from getmodules.oci.workgit import Git, Revision
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_LINK, _SUBMODULE = "120000", "160000"
_IGNORE_BYTES = 1 << 20


@valueclass(kw_only=False)
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


def apart_from(target: Path, directory: Path, members: Iterable[Member], context: Context) -> tuple[Member, ...]:
    """Without what lies in ``target``, which is written to: else it would be another package each time."""
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
    def leave_out(path: str, is_directory: bool) -> bool:
        # A work tree's or submodule's .git may be a file.
        is_git = path.rpartition("/")[2].lower() == ".git"
        return is_git or is_private(path, is_directory) or ignore.leaves_out(path, directory=is_directory)

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
    return members


def _member(directory: Path, name: str) -> Member:
    """A tracked file as it lies in the work tree: behind a link it is not what git tracks."""
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


def _mention_untracked(git: Git, ignore: Ignore, context: Context) -> None:
    untracked = [name for name in git.untracked() if not ignore.leaves_out_below(name)]
    if untracked:
        more = f" and {len(untracked) - 1:,} more" if len(untracked) > 1 else ""
        context.notice(f"left out, since git does not track it: {printable(untracked[0])!r}{more}")
