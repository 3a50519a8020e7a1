"""The three kinds of objects that lead to files, from their bytes. Pure; what git would not have written is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from getmodules.errors import CorruptArchiveError, UnsafeContentError
from getmodules.util.redact import printable

_ID = rb"(?:[0-9a-f]{40}|[0-9a-f]{64})"
_COMMIT = re.compile(rb"tree (%s)\n" % _ID)
_TAG = re.compile(rb"object (%s)\ntype (commit|tree|blob|tag)\n" % _ID)
#: HFS+ and NTFS take all of these for ``.git``, and so does who opens one there.
_DOT_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?::.*)?", re.IGNORECASE | re.DOTALL)
_IGNORABLE = frozenset(
    "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)


class Mode:
    DIRECTORY: Final = 0o040000
    FILE: Final = 0o100644
    EXECUTABLE: Final = 0o100755
    SYMLINK: Final = 0o120000
    GITLINK: Final = 0o160000


_MODES: Final = {
    b"%o" % mode: mode for mode in (Mode.DIRECTORY, Mode.FILE, Mode.EXECUTABLE, Mode.SYMLINK, Mode.GITLINK)
}
#: Of files only the owner's right to execute counts, as git reads it; old importers wrote all the others.
_FILE_MODE = re.compile(rb"10[0-7]{4}")
_OWNER_EXECUTES: Final = 0o100


class TreeEntry(NamedTuple):
    mode: int
    name: str
    id: str


def tree_of(commit: bytes) -> str:
    """The id of a commit's root tree."""
    found = _COMMIT.match(commit)
    if found is None:
        raise CorruptArchiveError("a commit in the repository names no tree")
    return found[1].decode()


def target_of(tag: bytes) -> tuple[str, str]:
    """The id that an annotated tag points at, and what kind of object that is."""
    found = _TAG.match(tag)
    if found is None:
        raise CorruptArchiveError("a tag in the repository names no object")
    return found[1].decode(), found[2].decode()


def tree_entries(tree: bytes, id_bytes: int) -> Iterator[TreeEntry]:
    """The entries of a tree in its order, which must be git's own: so none can be there twice."""
    position, end, before = 0, len(tree), b""
    while position < end:
        blank = tree.find(b" ", position, position + 8)
        nul = tree.find(b"\0", blank) if blank > 0 else -1
        if nul < 0 or nul + 1 + id_bytes > end:
            raise CorruptArchiveError("a tree in the repository ends within an entry")
        raw_mode, raw_name = tree[position:blank], tree[blank + 1 : nul]
        position = nul + 1 + id_bytes
        name = raw_name.decode("utf-8", "surrogateescape")
        mode = _mode(raw_mode)
        if mode is None:
            raise CorruptArchiveError(
                f"{printable(name)!r} in the repository has the mode {printable(ascii(raw_mode))}"
            )
        _check_name(name)
        # A directory sorts as if its name ended in a slash.
        key = raw_name + b"/" if mode == Mode.DIRECTORY else raw_name
        if key <= before:
            raise CorruptArchiveError(f"{printable(name)!r} in the repository is out of order, or there twice")
        before = key
        yield TreeEntry(mode, name, tree[nul + 1 : position].hex())


def _mode(raw: bytes) -> int | None:
    mode = _MODES.get(raw)
    if mode is None and _FILE_MODE.fullmatch(raw):
        return Mode.EXECUTABLE if int(raw, 8) & _OWNER_EXECUTES else Mode.FILE
    return mode


def _check_name(name: str) -> None:
    if not name or name == ".":
        raise _hostile(name, "bad-name", "is no name")
    if name == "..":
        raise _hostile(name, "parent-path", "leads out of its directory")
    if "/" in name:
        raise _hostile(name, "absolute-path" if name.startswith("/") else "bad-name", "has a slash in it")
    if name[0] in ".gG" or not name.isascii():
        folded = "".join(c for c in unicodedata.normalize("NFC", name) if c not in _IGNORABLE)
        if _DOT_GIT.fullmatch(folded):
            raise _hostile(name, "bad-name", "is git's own directory on some systems")


def _hostile(name: str, part: str, what: str) -> UnsafeContentError:
    return UnsafeContentError(f"the name {printable(name)!r} in a tree of the repository {what}", part=part)
