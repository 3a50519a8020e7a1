"""The frozen values of the flow, in the order in which they come into being.

An address is parsed, detected, planned, pinned, fetched, spooled, unpacked, written and published; each step
makes one of these from the one before (``docs/explanation/architecture.rst`` draws the whole way). Results are safe
to show or to store: their addresses are redacted. Values that exist once for each member of a package
(:class:`Member`, :class:`Entry`) are named tuples, because a package may have a hundred thousand of them and a frozen
dataclass takes four times as long to make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple, NewType

from getmodules.addresses.types import (
    PackageAddress,
)
from getmodules.files.local import reopened
from getmodules.util.digest import Digest
from getmodules.util.values import field, valueclass


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


# ---------------------------------------------------------------------------------------------- the plan


class Gate(StrEnum):
    """A point at which something must hold: before anything is contacted, a blob asked for, unpacked, or published.

    Verifiers serve all of them; demands there are on pins, bytes and trees.
    """

    ADDRESS = "address"
    PIN = "pin"
    BYTES = "bytes"
    TREE = "tree"


@valueclass
class Demand:
    """A demand that ``value`` is what arrives at ``gate``; ``by`` says who wants that (``--expect``, ``the lock``).

    ``hint`` is what to do where it does not hold, if there is more to say than for every demand of this ``check``.
    """

    gate: Gate
    check: str
    value: str
    by: str
    hint: str | None = None


@valueclass
class Evidence:
    """A demand that held, or a verifier's word: for people and for machines that ask why a tree is trusted."""

    check: str
    subject: str
    value: str
    by: str


@valueclass
class Want:
    """One directory of a package, its destination, and the demands on it alone.

    ``source`` and ``address`` are for the report: as typed, and canonical, both redacted.
    """

    subdir: str
    dest: Path
    source: str = ""
    address: str = ""
    demands: tuple[Demand, ...] = ()
    #: Replace the directory that is at ``dest``.
    force: bool = False
    #: The module's name in its project; empty outside of one.
    name: str = ""


#: Entered with the module right before it is published, and left right after. What it raises keeps it from being
#: published; what publishing raises goes through it.
Guard = Callable[["Installed"], AbstractContextManager[object]]


def _no_guards() -> Mapping[Path, Guard]:
    return MappingProxyType({})


@valueclass
class Request:
    """One package with everything that is wanted of it, and all demands on it."""

    package: PackageAddress
    wants: tuple[Want, ...]
    demands: tuple[Demand, ...] = ()
    #: By destination.
    guards: Mapping[Path, Guard] = field(default_factory=_no_guards, hash=False)
    #: It is only looked at: its destinations are private directories, which nobody else sees.
    aside: bool = False


# ---------------------------------------------------------------------------------------------- fetching


@valueclass
class Pin:
    """The immutable identity of a package: its pinned address and its id.

    ``proof`` is for the getter alone, which needs it again in ``fetch``. A pin without an id
    says that the getter knows no cheap identity; the core then makes one from what arrived.
    """

    package: PackageAddress
    id: str | None = None
    proof: object = field(default=None, repr=False, compare=False)
    digests: Mapping[str, str] = field(default_factory=_nothing, hash=False)


@valueclass
class Elsewhere:
    """Another address to ask instead, for the detector chain; the getter resolves relative ones."""

    address: str
    #: Judges the network addresses that are asked from here on: no server sends us further in than it is itself.
    check_address: Callable[[str], None] | None = field(default=None, repr=False, compare=False)


class Shape(StrEnum):
    """The kind of content that an address announces, before anything is asked for."""

    #: Not announced: an archive, or a page that says where the package is.
    PACKAGE = "package"
    #: An archive, by its suffix or ``archive=``.
    ARCHIVE = "archive"
    #: A file that is taken as it is.
    FILE = "file"


@valueclass
class Blob:
    """A stream that the core reads, counts and hashes. All that it says of itself is checked.

    ``format`` names the unpacker where the protocol decides it (OCI's media types); else ``archive=``, the
    suffix of ``name``, or ``media_type`` do, in this order. ``chunks`` is closed when it has a ``close``.

    ``rest``, where there is one, is asked instead of ``chunks`` for what an earlier run, which ended early, did not
    bring: it returns the bytes from an offset on, or ``None`` where only the whole can be had.
    """

    chunks: Iterable[bytes]
    size: int | None = None
    digests: tuple[Digest, ...] = ()
    name: str | None = None
    media_type: str | None = None
    format: str | None = None
    #: The name under which its digest is reported.
    key: str = "archive"
    #: The headers with which the source is asked next time whether this still holds (``Context.validator``).
    validator: Mapping[str, str] = field(default_factory=_nothing, hash=False)
    rest: Callable[[int], Iterable[bytes] | None] | None = field(default=None, repr=False, compare=False)


@valueclass
class Layers:
    """Blobs that are unpacked one over the other, the first at the bottom; each must say its ``format``."""

    blobs: tuple[Blob, ...]


@valueclass(kw_only=False)
class Unchanged:
    """The answer that what ``Context.validator`` stands for still holds: the core has the bytes."""


#: Makes a named tuple from all its values, without the two calls of its own constructor: for those of which there
#: is one for each member.
new_tuple = tuple.__new__


class Kind(StrEnum):
    """The kind of a member of a package."""

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


@valueclass(kw_only=False)
class Members:
    """A lazy sequence of members, read once. It is closed when it has a ``close``.

    Names that collide on other platforms are refused in an ``archive``, which its author could have made
    otherwise; in a ``tree`` (a repository, a directory) they are a notice where this platform can hold them.
    ``strict`` says that it is an archive.

    Members are not cached: ``fetch`` is called each time. What is cached is the pin (with a ``proof`` of bytes), so
    that ``resolve`` need not be asked again for what is pinned. A getter that wants its content to last keeps it in
    ``Context.workshop`` or ``Context.kept``, or brings a ``Blob``, which is cached.
    """

    items: Iterable[Member]
    strict: bool = False
    #: Digests that a getter learned only while it fetched; reported beside the pin's.
    digests: Mapping[str, str] = field(default_factory=_nothing, hash=False)


#: Archives up to this size are held in memory between hashing and unpacking.
FEW_BYTES = 1 << 20


@valueclass
class Archive:
    """A spooled blob: a private file whose bytes were counted and hashed while they arrived."""

    path: Path
    size: int
    digests: Mapping[str, Digest]
    #: Of the file that was hashed, where others could put another one at ``path``.
    descriptor: int | None = None
    #: The bytes that were hashed, where they are few.
    content: bytes | None = field(default=None, repr=False, compare=False)

    def open(self) -> IO[bytes]:
        """Open the bytes that were hashed, from the beginning; each reader has a position of its own."""
        if self.content is not None:
            return BytesIO(self.content)
        return self.path.open("rb", buffering=0) if self.descriptor is None else reopened(self.descriptor, self.path)


# ---------------------------------------------------------------------------------------------- the result

#: A relative path of clean components, separated by ``/``: only the core makes them.
MemberPath = NewType("MemberPath", str)


class Entry(NamedTuple):
    """One file, directory or link that was written; ``sha256`` is raw bytes, and ``None`` for directories."""

    path: MemberPath
    kind: Kind
    size: int
    executable: bool
    sha256: bytes | None
    target: str = ""


@valueclass(kw_only=False)
class Tree:
    """The tree that was written into one staging directory.

    ``left_out`` is the number of members that it would have, if ``.git`` were installed.
    """

    entries: tuple[Entry, ...]
    h1: str
    t1: str
    left_out: int = 0

    @property
    def files(self) -> int:
        return sum(entry.kind is not Kind.DIRECTORY for entry in self.entries)

    @property
    def bytes(self) -> int:
        return sum(entry.size for entry in self.entries)


@valueclass
class Resolved:
    """The result of resolving an address today: the pinned address and its id."""

    source: str
    address: str
    pinned: str
    id: str


class Action(StrEnum):
    """The action that installed a module, or found that it was not needed."""

    INSTALLED = "installed"
    #: The tree was there already.
    UNCHANGED = "unchanged"


@valueclass
class Installed:
    """A directory that can be trusted, and why.

    ``pinned`` is the address that brings exactly this again; ``None`` for a directory, whose content is its
    only identity. ``h1`` is the hash of names and contents, ``t1`` that of execute bits and links as well.
    ``package_h1`` is that of the whole package, where the whole package was written.
    Addresses are redacted: what is stored or shown must not carry a password.
    """

    path: Path
    source: str
    address: str
    pinned: str | None
    id: str
    h1: str
    t1: str
    package_h1: str | None
    digests: Mapping[str, str]
    files: int
    bytes: int
    evidence: tuple[Evidence, ...]
    #: sha256 of the archive's own bytes, and how many they are, where it came as one.
    archive: str | None = None
    archive_bytes: int | None = None
    #: Unchanged where exactly this tree (t1) was there already: then it was left alone.
    action: Action = Action.INSTALLED
