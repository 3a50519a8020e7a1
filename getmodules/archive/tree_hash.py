"""Hash what is in a tree into one string: ``h1`` as Go's dirhash does, and ``t1``, which sees more.

h1 is what engines and registries speak: names and contents of files. t1 is over what is installed: which files may be
executed, and which are links and where to, as well.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType

from getmodules.api.model import Entry, Kind
from getmodules.errors import ConfigError, ContentError
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

#: One file: its name with ``/``, and the raw sha256 of its content.
Named = tuple[str, bytes]

#: The members of an enumeration are slow to get at.
_SYMLINK = Kind.SYMLINK


def h1(files: Iterable[Named]) -> str:
    """Return base64 of sha256 over ``<hex sha256>  <name>`` lines, sorted by the bytes of the names."""
    named = sorted(files)
    if not all(name.isascii() for name, _ in named):
        named.sort(key=lambda file: os.fsencode(file[0]))  # bytes that are not UTF-8 come elsewhere in this order
    text = os.fsencode("".join([f"{digest.hex()}  {name}\n" for name, digest in named]))
    if text.count(b"\n") != len(named):
        raise ContentError("h1 is not defined for a name with a newline")
    return _formatted("h1", text)


def t1(entries: Iterable[Entry]) -> str:
    """Return base64 of sha256 over a record of kind, path and value for each file and link, sorted by the paths.

    The value is the content's sha256 in hex, or the target of a link. Directories are not part of it.
    """
    records = []
    for path, kind, _, executable, digest, target in entries:
        if digest is None:
            continue
        letter, value = ("l", target) if kind is _SYMLINK else ("x" if executable else "f", digest.hex())
        # A NUL can be neither in a path nor in a target, so that no two trees have the same records.
        records.append((path, f"{letter}\0{path}\0{value}\0"))
    records.sort()
    text = "".join([record for _, record in records])
    if not text.isascii():
        records.sort(key=lambda record: _as_utf8(record[0]))  # as in h1
        text = "".join([record for _, record in records])
    return _formatted("t1", _as_utf8(text))


def _as_utf8(text: str) -> bytes:
    # Not os.fsencode: the hash of a name must not depend on the locale. Bytes that are not UTF-8 stay what they are.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ContentError("t1 is not defined for a name that is not Unicode") from None  # Windows has such names


def _formatted(scheme: str, text: bytes) -> str:
    return f"{scheme}:{base64.b64encode(hashlib.sha256(text).digest()).decode()}"


@valueclass(kw_only=False)
class TreeHashes:
    """The hashes of one tree. ``t1`` is None if only h1 is known, as in locks that earlier versions wrote."""

    h1: str
    t1: str | None = None


def hash_entries(entries: Collection[Entry]) -> TreeHashes:
    """Return both hashes of a tree, from the digests of its files."""
    return TreeHashes(h1_of_entries(entries), t1(entries))


def h1_of_entries(entries: Iterable[Entry]) -> str:
    return h1([(entry.path, entry.sha256) for entry in entries if entry.sha256 is not None])


#: Hash schemes of directories, by prefix. A new scheme is one more row.
TREE_SCHEMES: Mapping[str, Callable[[Iterable[Entry]], str]] = MappingProxyType({"h1": h1_of_entries, "t1": t1})


def tree_scheme(name: str) -> Callable[[Iterable[Entry]], str]:
    if name not in TREE_SCHEMES:
        raise unknown_scheme(name, "trees", TREE_SCHEMES)
    return TREE_SCHEMES[name]


def unknown_scheme(name: str, what: str, known: Iterable[str]) -> ConfigError:
    return ConfigError(f"there is no hash scheme {printable(name)!r} for {what}", hint=f"schemes: {', '.join(known)}")


def link_to_directory_digest(target: str) -> bytes:
    """Return the digest for a link to a directory: our one extension of h1, for monorepos with such links."""
    return hashlib.sha256(b"\0link\0" + os.fsencode(target)).digest()
