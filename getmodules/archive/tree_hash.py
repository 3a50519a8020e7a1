"""Hash a list of names and content digests into one string, as Go's dirhash does."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from getmodules.errors import ConfigError, ContentError
from getmodules.util.redact import printable

#: One file: its name with ``/``, and the raw sha256 of its content.
Named = tuple[str, bytes]


def h1(files: Iterable[Named]) -> str:
    """Return base64 of sha256 over ``<hex sha256>  <name>`` lines, sorted by the bytes of the names."""
    named = sorted(files)
    if not all(name.isascii() for name, _ in named):
        named.sort(key=lambda file: os.fsencode(file[0]))  # bytes that are not UTF-8 come elsewhere in this order
    text = os.fsencode("".join([f"{digest.hex()}  {name}\n" for name, digest in named]))
    if text.count(b"\n") != len(named):
        raise ContentError("h1 is not defined for a name with a newline")
    return "h1:" + base64.b64encode(hashlib.sha256(text).digest()).decode()


#: Hash schemes over a list of files, by prefix. A new scheme is one more row.
TREE_SCHEMES: Mapping[str, Callable[[Iterable[Named]], str]] = MappingProxyType({"h1": h1})


def tree_scheme(name: str) -> Callable[[Iterable[Named]], str]:
    if name not in TREE_SCHEMES:
        raise ConfigError(
            f"there is no hash scheme {printable(name)!r} for trees", hint=f"schemes: {', '.join(TREE_SCHEMES)}"
        )
    return TREE_SCHEMES[name]


def link_to_directory_digest(target: str) -> bytes:
    """Return the digest for a link to a directory: our one extension of h1, for monorepos with such links."""
    return hashlib.sha256(b"\0link\0" + os.fsencode(target)).digest()
