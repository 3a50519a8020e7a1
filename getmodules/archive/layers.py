"""Merge image layers into one sequence of members.

A layer hides what lies below it: by a name of its own, by a whiteout (``.wh.name``), or all of a directory by
an opaque mark. The first pass reads names only and finds out which layer each path finally comes from; the
second yields exactly those members, from the bottom up. So nothing is ever written and then removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from getmodules.api.limits import METADATA_BYTES, Limits, metadata_exceeded
from getmodules.api.model import Kind, Member
from getmodules.archive.names import member_path
from getmodules.errors import UnsafeContentError
from getmodules.util.redact import printable

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
#: The memory that Python needs for one remembered path, besides its characters.
_OVERHEAD = 250

#: Reads a layer from its beginning.
Layer = Callable[[], Iterable[Member]]


def merged(layers: Sequence[Layer], limits: Limits) -> Iterator[Member]:
    """Yield the members of all layers. The limit on bytes counts hidden members too: they have to be unpacked."""
    owners = _Owners(limits)
    for number, layer in enumerate(layers):
        owners.add_layer(number, layer())
    for number, layer in enumerate(layers):
        for member in layer():
            path = _path_of(member)
            if not _is_mark(path) and owners.owner(path) == number:
                yield member


class _Owners:
    """The layer that each path comes from, as far as the layers have been read."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bytes = 0
        self._owner: dict[str, int] = {}
        self._children: dict[str, set[str]] = {}
        self._kinds: dict[str, Kind] = {}
        self._remembered = 0

    def owner(self, path: str) -> int | None:
        return self._owner.get(path)

    def add_layer(self, number: int, members: Iterable[Member]) -> None:
        names: list[tuple[str, Kind]] = []
        for member in members:
            cleaned = _path_of(member)
            self._charge(cleaned)
            self._bytes += member.size or 0
            if self._bytes > self._limits.total_bytes:
                raise self._limits.exceeded("total_bytes", f"the layers hold {self._bytes:,} bytes together")
            names.append((cleaned, member.kind))
        # Marks first: they speak of the layers below, wherever in their own layer they stand.
        for path, _ in names:
            if _is_mark(path):
                self._apply_mark(path)
        for path, kind in names:
            if not _is_mark(path):
                self._put(path, kind, number)

    def _charge(self, path: str) -> None:
        self._remembered += len(path) + _OVERHEAD
        if self._remembered > METADATA_BYTES:
            raise metadata_exceeded("the names in the layers")

    def _apply_mark(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        if _is_mark(parent):
            if not any(part.startswith(_WHITEOUT * 2) for part in parent.split("/")):
                raise UnsafeContentError(f"{printable(path)!r} lies in a whiteout", part="bad-name")
        elif name == _OPAQUE:
            for child in tuple(self._children.get(parent, ())):
                self._remove(child)
        elif not name.startswith(_WHITEOUT * 2):  # other marks of that kind are a file system's own business
            hidden = name.removeprefix(_WHITEOUT)
            if hidden in ("", ".", ".."):
                raise UnsafeContentError(f"the whiteout {printable(path)!r} names no file", part="bad-name")
            self._remove(f"{parent}/{hidden}" if parent else hidden)

    def _remove(self, path: str) -> None:
        pending = [path]
        while pending:
            current = pending.pop()
            pending += self._children.pop(current, ())
            self._forget(current)
            self._children.get(current.rpartition("/")[0], set()).discard(current)

    def _forget(self, path: str) -> None:
        self._owner.pop(path, None)
        self._kinds.pop(path, None)

    def _put(self, path: str, kind: Kind, number: int) -> None:
        if not path:
            return
        if kind is not Kind.DIRECTORY:
            self._cover(path, number)
        self._owner[path] = number
        self._kinds[path] = kind
        while path:
            parent = path.rpartition("/")[0]
            siblings = self._children.setdefault(parent, set())
            if path in siblings:
                return
            # Also what a path merely lies in: a long one is remembered once for each of its components.
            self._charge(path)
            siblings.add(path)
            path = parent
            # A file below is replaced by a directory here: what was just put under its name stays.
            if self._kinds.get(path, Kind.DIRECTORY) is not Kind.DIRECTORY and self._owner.get(path) != number:
                self._forget(path)

    def _cover(self, path: str, number: int) -> None:
        """Hide the directory below a file. One of the file's own layer stays, for the writer to refuse."""
        below: list[str] = []
        pending = list(self._children.get(path, ()))
        while pending:
            below.append(pending.pop())
            pending += self._children.get(below[-1], ())
        for child in reversed(below):
            if self._owner.get(child) != number and not self._children.get(child):
                self._remove(child)


def _path_of(member: Member) -> str:
    # umoci writes the top of an image as "/"; there is nothing below it that this could reach.
    is_top = member.kind is Kind.DIRECTORY and not member.name.strip("/") and member.name
    return "" if is_top else member_path(member.name)


def _is_mark(path: str) -> bool:
    """Return whether a path is a whiteout, or lies in a directory called like one: neither is ever installed."""
    return path.startswith(_WHITEOUT) or f"/{_WHITEOUT}" in path
