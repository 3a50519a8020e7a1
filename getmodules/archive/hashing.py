"""Hash what is on this machine: ``h1:`` and ``t1:`` of a directory, ``h1:`` of a zip, ``zh:`` of a file."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from getmodules.api.limits import Deadline, Limits
from getmodules.api.model import Archive, Entry, Kind, Member, MemberPath
from getmodules.api.ports import Context, Progress
from getmodules.archive.directory import walk
from getmodules.archive.tree_hash import Named, h1, link_to_directory_digest, tree_scheme, unknown_scheme
from getmodules.errors import GetModulesError, UnsafeContentError
from getmodules.files.local import read_file, unreadable
from getmodules.util.redact import printable


def hash_tree(path: str | os.PathLike[str], scheme: str = "h1") -> str:
    """Return the hash of everything below the directory ``path``, dot files included.

    ``h1`` is of names and contents; ``t1`` also of execute bits and links.
    """
    return tree_scheme(scheme)(tree_entries(Path(path)))


def hash_zip(path: str | os.PathLike[str], scheme: str = "h1") -> str:
    """Return the hash of a zip's entries under their raw names; stored directories count as empty files."""
    if scheme != "h1":
        raise unknown_scheme(scheme, "zips", ["h1"])
    return h1(_zip_digests(Path(path)))


def hash_file(path: str | os.PathLike[str]) -> str:
    """Return ``zh:`` and the sha256 of a file's bytes."""
    return "zh:" + _file_digest(Path(path)).hex()


def _file_digest(path: Path, root: Path | None = None) -> bytes:
    digest = hashlib.sha256()
    for chunk in read_file(path, root):
        digest.update(chunk)
    return digest.digest()


def tree_entries(root: Path) -> Iterator[Entry]:
    """Yield every file and link below ``root``, as the writer describes what it wrote."""
    real_root = os.path.realpath(root)
    for member in walk(root):
        if member.kind is Kind.FILE:
            digest = _file_digest(root / member.name, root)
            yield Entry(MemberPath(member.name), Kind.FILE, member.size or 0, member.executable, digest)
        elif member.kind is Kind.SYMLINK:
            digest = _link_digest(root, real_root, member)
            yield Entry(MemberPath(member.name), Kind.SYMLINK, 0, False, digest, member.target)
        elif member.kind is Kind.SPECIAL:
            shown = printable(member.name)
            raise UnsafeContentError(f"{shown!r} is a device, fifo or socket: it has no hash", part="special-file")


def find_difference(wanted: Path, found: Path) -> str | None:
    """Return in words how the directory ``found`` differs from ``wanted`` for t1; None if it does not.

    Both are seen through one file system. The search ends at the first difference: ``found`` may be anything.
    """
    expected = {member.name: member for member in walk(wanted) if member.kind is not Kind.DIRECTORY}
    try:
        for member in walk(found):
            if member.kind is Kind.DIRECTORY:
                continue
            shown, other = printable(member.name), expected.pop(member.name, None)
            if other is None:
                return f"{shown} is not part of it"
            if not _is_alike(other, member) or (
                member.kind is Kind.FILE
                and _file_digest(wanted / member.name, wanted) != _file_digest(found / member.name, found)
            ):
                return f"{shown} differs"
    except GetModulesError as error:
        return error.message
    missing = next(iter(expected), None)
    return None if missing is None else f"{printable(missing)} is missing"


def _is_alike(wanted: Member, found: Member) -> bool:
    """Return whether two members are the same to t1, but for their content."""
    return all(getattr(wanted, name) == getattr(found, name) for name in ("kind", "size", "executable", "target"))


def _zip_digests(path: Path) -> Iterator[Named]:
    from getmodules.archive.zip import read_zip

    try:
        archive = Archive(path=path, size=path.stat().st_size, digests={})
    except OSError as error:
        raise unreadable(path, error) from error
    for member in read_zip(archive, _limits_only()):
        digest = hashlib.sha256()
        # As in Go, a stored link counts as a file with its target as content.
        for chunk in (os.fsencode(member.target),) if member.kind is Kind.SYMLINK else member.open():
            digest.update(chunk)
        yield member.name, digest.digest()


def _limits_only() -> Context:
    """Return a context for a reader outside of any operation."""
    limits = Limits()
    return Context(
        package="",
        limits=limits,
        deadline=Deadline.after(limits.seconds),
        progress=Progress(),
        cancelled=threading.Event(),
        credentials=lambda origin, path: None,
    )


def _link_digest(root: Path, real_root: str, member: Member) -> bytes:
    shown = f"the link {printable(member.name)!r} to {printable(member.target)!r}"
    try:
        real = os.path.realpath(root / member.name, strict=True)
    except OSError as error:
        raise UnsafeContentError(f"{shown} leads nowhere: {error.strerror}", part="link-dangling") from error
    if os.path.commonpath([real_root, real]) != real_root or os.path.isabs(member.target):
        raise UnsafeContentError(f"{shown} leaves the directory", part="link-escapes")
    return link_to_directory_digest(member.target) if os.path.isdir(real) else _file_digest(Path(real))
