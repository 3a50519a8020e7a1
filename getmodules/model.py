"""The frozen values of the flow, in the order in which they come into being.

An address is parsed, detected, planned, pinned, fetched, spooled, unpacked, written and published; each step
makes one of these from the one before (``docs/explanation/architecture.rst`` draws the whole way). Values
that exist once for each member of a package (:class:`Member`, :class:`Entry`) are named tuples, because a
package may have a hundred thousand of them and a frozen dataclass takes four times as long to make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple, NewType, Self
from urllib.parse import quote

from getmodules.digest import Digest
from getmodules.redact import redact_address

#: Arguments that the core itself understands, whatever the getter.
CORE_ARGUMENTS = ("archive", "checksum", "filename")


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


# ---------------------------------------------------------------------------------------------- addresses


class Argument(NamedTuple):
    name: str
    value: str
    #: ``name=value`` as it was typed: servers may care about the spelling.
    typed: str


@dataclass(frozen=True, slots=True)
class Arguments(Mapping[str, str]):
    """The query of an address: a mapping that remembers order and spelling."""

    items_typed: tuple[Argument, ...] = ()

    def __getitem__(self, name: str) -> str:
        for argument in self.items_typed:
            if argument.name == name:
                return argument.value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (argument.name for argument in self.items_typed)

    def __len__(self) -> int:
        return len(self.items_typed)

    @property
    def query(self) -> str:
        return "&".join(argument.typed for argument in self.items_typed)

    def without(self, *names: str) -> Arguments:
        return Arguments(tuple(a for a in self.items_typed if a.name not in names))

    def only(self, *names: str) -> Arguments:
        return Arguments(tuple(a for a in self.items_typed if a.name in names))

    def with_value(self, name: str, value: str) -> Arguments:
        """``name`` set to ``value``: in its old place where it had one, else at the end."""
        argument = Argument(name, value, f"{name}={quote(value, safe=':/@+,._~-')}")
        if name not in self:
            return Arguments((*self.items_typed, argument))
        return Arguments(tuple(argument if a.name == name else a for a in self.items_typed))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAddress:
    """What the user typed, taken apart; nothing is known yet about schemes."""

    force: str | None
    body: str
    subdir: str
    arguments: Arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageAddress:
    """The unit of fetching, caching and de-duplicating: a getter, a URL without query, and arguments."""

    getter: str
    url: str
    arguments: Arguments = Arguments()
    #: Whether the getter is written in front (``git::https://…``).
    forced: bool = False

    def __str__(self) -> str:
        return str(ModuleAddress(package=self))

    def display(self) -> str:
        return redact_address(str(self))

    def with_arguments(self, arguments: Arguments) -> Self:
        return replace(self, arguments=arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleAddress:
    """A package and the directory in it that is wanted. ``str()`` is canonical, ``display()`` redacted."""

    package: PackageAddress
    subdir: str = ""

    def __str__(self) -> str:
        package = self.package
        force = f"{package.getter}::" if package.forced else ""
        subdir = f"//{quote(self.subdir, safe=_SUBDIR_SAFE)}" if self.subdir else ""
        query = f"?{package.arguments.query}" if package.arguments else ""
        return f"{force}{package.url}{subdir}{query}"

    def display(self) -> str:
        return redact_address(str(self))


#: What a subdirectory keeps unescaped in an address: all that a URL path may hold, and what globs need.
_SUBDIR_SAFE = "/!$&'()*+,;=:@[]~^{}|"

# ---------------------------------------------------------------------------------------------- the plan


class Gate(StrEnum):
    """Where something must hold: before any blob is asked for, before unpacking, before publishing."""

    PIN = "pin"
    BYTES = "bytes"
    TREE = "tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """``value`` must be what arrives at ``gate``; ``by`` says who wants that (``--expect``, ``the lock``)."""

    gate: Gate
    check: str
    value: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A demand that held, or a verifier's word: for people and for machines that ask why a tree is trusted."""

    check: str
    subject: str
    value: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """One directory of a package, where it goes, and what must hold of it alone.

    ``source`` and ``address`` are for the report: as typed, and canonical, both redacted.
    """

    subdir: str
    dest: Path
    source: str = ""
    address: str = ""
    demands: tuple[Demand, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One package with everything that is wanted of it and everything that must hold."""

    package: PackageAddress
    wants: tuple[Want, ...]
    demands: tuple[Demand, ...] = ()


# ---------------------------------------------------------------------------------------------- fetching


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The immutable identity of a package: its pinned address and its id.

    ``proof`` is whatever the getter needs again in ``fetch``; nobody else looks at it. A pin without an id
    says that the getter knows no cheap identity; the core then makes one from what arrived.
    """

    package: PackageAddress
    id: str | None = None
    proof: object = field(default=None, repr=False, compare=False)
    digests: Mapping[str, str] = field(default_factory=_nothing, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Ask there instead: an address for the detector chain; relative ones are the getter's to resolve."""

    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """A stream that the core reads, counts and hashes. What is claimed here is checked, never believed.

    ``format`` names the unpacker where the protocol decides it (OCI's media types); else ``archive=``, the
    suffix of ``name``, or ``media_type`` do, in this order. ``chunks`` is closed when it has a ``close``.
    """

    chunks: Iterable[bytes]
    size: int | None = None
    digests: tuple[Digest, ...] = ()
    name: str | None = None
    media_type: str | None = None
    format: str | None = None
    #: Under which name its digest is reported.
    key: str = "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Blobs that are unpacked one over the other, the first at the bottom; each must say its ``format``."""

    blobs: tuple[Blob, ...]


class Kind(StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    HARDLINK = "hardlink"
    SPECIAL = "special"


class Member(NamedTuple):
    """One thing in a package, as its source names it: nothing here is trusted before the writer checked it.

    ``open`` is called at most once, before the next member is asked for, and not at all where the member is
    not wanted. ``target`` is what a link points at; of a hardlink, the name of an earlier member.
    """

    name: str
    kind: Kind = Kind.FILE
    size: int | None = None
    executable: bool = False
    open: Callable[[], Iterable[bytes]] = tuple
    target: str = ""


@dataclass(frozen=True, slots=True)
class Members:
    """A lazy sequence of members, read once. It is closed when it has a ``close``.

    Names that collide on other platforms are refused in an ``archive``, which somebody could have made
    otherwise; in a ``tree`` (a repository, a directory) they are a notice where this platform can hold them.
    """

    items: Iterable[Member]
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A spooled blob: a private file whose bytes were counted and hashed while they arrived."""

    path: Path
    size: int
    digests: Mapping[str, Digest]

    def open(self) -> IO[bytes]:
        return self.path.open("rb", buffering=0)


# ---------------------------------------------------------------------------------------------- the result

#: A relative path of clean components, separated by ``/``: only :mod:`getmodules.archive.paths` makes them.
MemberPath = NewType("MemberPath", str)


class Entry(NamedTuple):
    """One file, directory or link that was written; ``sha256`` is raw bytes, and ``None`` for directories."""

    path: MemberPath
    kind: Kind
    size: int
    executable: bool
    sha256: bytes | None
    target: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """What was written into one staging directory."""

    entries: tuple[Entry, ...]
    h1: str

    @property
    def files(self) -> int:
        return sum(entry.kind is not Kind.DIRECTORY for entry in self.entries)

    @property
    def bytes(self) -> int:
        return sum(entry.size for entry in self.entries)
