"""The lock file, ``getmodules.lock``: reads it strictly, and writes it so that diffs are small.

::

    version = 1

    [[package]]
    address = "oci://ghcr.io/acme/vpc?digest=sha256:9f86d081…"
    id = "sha256:9f86d081…"
    getter = "oci"
    archive = "sha256:2c26b46b…"
    size = 1234

    [[module]]
    name = "vpc"
    source = "oci://ghcr.io/acme/vpc//net?tag=1.2.0"
    package = "oci://ghcr.io/acme/vpc?digest=sha256:9f86d081…"
    subdir = "net"
    dest = "modules/vpc"
    h1 = "h1:…"
    t1 = "t1:…"

A package is what is fetched, a module what is installed of it. Entries are sorted, the text depends neither on the
machine nor on the time, and what did not change is written as it was.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from getmodules.archive.names import member_path
from getmodules.archive.tree_hash import TreeHashes
from getmodules.errors import ConfigError, LockStaleError, UnsafeContentError
from getmodules.files.durable import shown_path
from getmodules.project.manifest import ProjectFiles, check_constraint, check_expectation
from getmodules.project.names import check_dest, check_name, check_source, find_collision
from getmodules.project.toml import TomlTable, parse, read_text, toml_string
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import field, replace, valueclass

T = TypeVar("T")

VERSION = 1
_HEADER = '# This file is written by getmodules, and belongs into version control. "getmodules lock" changes it.\n'
_HASH_BYTES = 32
_RESTORE = "was the file edited? Bring it back from version control; or remove it, and getmodules lock makes it anew"
_UNMERGED = "git checkout --ours getmodules.lock, or --theirs; then getmodules lock adds what the manifest has besides"


@valueclass
class LockedPackage:
    """A package in the lock. ``address`` is pinned; that of a directory, which nothing pins, is as it was written."""

    address: str
    id: str
    getter: str
    #: The sha256 of the archive's bytes and their number, if the package is an archive.
    archive: str | None = None
    size: int | None = None
    package_h1: str | None = None

    @property
    def is_directory(self) -> bool:
        """True if only the hash of its tree names it."""
        return self.id.startswith("h1:")


@valueclass
class LockedModule:
    """A module in the lock; ``source``, ``version``, ``expect`` and ``dest`` are as the manifest has them."""

    name: str
    source: str
    #: The address of its :class:`LockedPackage`.
    package: str
    dest: str
    h1: str
    subdir: str = ""
    version: str | None = None
    #: The newest tag that ``version`` allowed.
    selected: str | None = None
    expect: str | None = None
    #: None in an entry that an earlier version wrote, until it is made anew.
    t1: str | None = None

    @property
    def hashes(self) -> TreeHashes:
        """The hashes of the tree. An expected t1 counts where none is locked: it was demanded of what was installed."""
        expected = self.expect if self.expect is not None and self.expect.startswith("t1:") else None
        return TreeHashes(self.h1, expected if self.t1 is None else self.t1)


@valueclass(kw_only=False)
class Lock:
    """The content of a lock: packages by address, and modules by name."""

    packages: Mapping[str, LockedPackage] = field(default_factory=dict, hash=False)
    modules: Mapping[str, LockedModule] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, pairs: Iterable[tuple[LockedModule, LockedPackage]]) -> Lock:
        """Make a lock of modules with their packages, joining what several modules know about one package.

        The lock follows from its modules alone: the hash of a whole package is dropped with the last module that is
        all of it.
        """
        modules: dict[str, LockedModule] = {}
        packages: dict[str, LockedPackage] = {}
        for module, package in pairs:
            modules[module.name] = module
            known = packages.get(package.address)
            if known is not None and known.id == package.id and package.package_h1 is None:
                package = known
            packages[package.address] = package
        whole = {(module.package, module.h1) for module in modules.values()}
        for address, package in packages.items():
            if package.package_h1 is not None and (address, package.package_h1) not in whole:
                packages[address] = replace(package, package_h1=None)
        return cls(packages, modules)

    def entry(self, name: str) -> tuple[LockedModule, LockedPackage]:
        module = self.modules[name]
        return module, self.packages[module.package]


# ------------------------------------------------------------------------------------------------- reading


def read_lock(path: Path) -> Lock | None:
    """Read the lock; None if there is no file."""
    text = read_text(path)
    return None if text is None else parse_lock(text, path.name)


def require_lock(files: ProjectFiles) -> Lock:
    """Read the lock; raise if there is no file."""
    lock = read_lock(files.lock)
    if lock is not None:
        return lock
    hint = "getmodules lock makes one; commit it"
    if not os.path.lexists(files.manifest):
        hint = "getmodules add NAME SOURCE begins a project; --manifest FILE names one that lies elsewhere"
    raise LockStaleError(f"there is no {shown_path(files.lock)}", hint=hint)


def parse_lock(text: str, shown: str) -> Lock:
    """Parse the text of a lock; ``shown`` names the file in errors."""
    top = parse(text, shown, merged=_UNMERGED, mistyped=_RESTORE)
    _check_version(top)
    lines = _header_lines(text)
    packages = _each_once(_with_lines(top.tables("package"), lines["[[package]]"]), "address", _package)
    modules = _each_once(_with_lines(top.tables("module"), lines["[[module]]"]), "name", _module)
    top.finish()
    lock = Lock(packages, modules)
    _check_references(lock, shown)
    return _without_leftovers(lock)


def _check_version(top: TomlTable) -> None:
    version = top.number("version")
    if version is None:
        top.refuse("", "there is no version", _RESTORE)
    if version != VERSION:
        top.refuse(
            "version",
            f"is {version}, and this getmodules reads {VERSION}",
            "a newer getmodules wrote this file: install that one" if version > VERSION else None,
        )


def _header_lines(text: str) -> dict[str, list[int]]:
    """Return the line numbers of headers, for messages: if a string looks like a header, messages go without."""
    lines: dict[str, list[int]] = {"[[package]]": [], "[[module]]": []}
    for number, line in enumerate(text.split("\n"), 1):
        found = lines.get(line.rstrip("\r"))
        if found is not None:
            found.append(number)
    return lines


def _with_lines(tables: tuple[TomlTable, ...], lines: list[int]) -> Iterator[TomlTable]:
    for number, table in enumerate(tables):
        table.line = lines[number] if len(lines) == len(tables) else None
        yield table


def _each_once(tables: Iterable[TomlTable], key: str, make: Callable[[TomlTable], T]) -> dict[str, T]:
    found: dict[str, T] = {}
    for table in tables:
        name = table.required(key)
        if name in found:
            table.refuse(key, f"{printable(name, 500)!r} is there twice", "remove one of them, then: getmodules lock")
        found[name] = make(table)
        table.finish()
    return found


def _package(table: TomlTable) -> LockedPackage:
    package = LockedPackage(
        address=_needed(table, "address", check_source),
        id=table.required("id"),
        getter=table.required("getter"),
        archive=table.checked("archive", _check_archive),
        size=table.number("size"),
        package_h1=table.checked("package_h1", partial(_check_hash, "h1")),
    )
    if (package.archive is None) != (package.size is None):
        table.refuse("", "archive and size belong together")
    return package


def _module(table: TomlTable) -> LockedModule:
    module = LockedModule(
        name=_needed(table, "name", _checked(check_name)),
        source=_needed(table, "source", check_source),
        package=table.required("package"),
        subdir=table.checked("subdir", _check_subdir) or "",
        dest=_needed(table, "dest", check_dest),
        h1=_needed(table, "h1", partial(_check_hash, "h1")),
        t1=table.checked("t1", partial(_check_hash, "t1")),
        version=table.checked("version", check_constraint),
        selected=table.text("selected"),
        expect=table.checked("expect", check_expectation),
    )
    if module.selected is not None and module.version is None:
        table.refuse("selected", "is there without a version")
    # Otherwise a tree that is there already would be judged by what is locked alone.
    for key, locked in (("h1", module.h1), ("t1", module.t1)):
        if module.expect is not None and module.expect.startswith(f"{key}:") and locked not in (None, module.expect):
            table.refuse(key, "is another than expect has", _RESTORE)
    return module


def _needed(table: TomlTable, key: str, check: Callable[[str], str]) -> str:
    table.required(key)
    value = table.checked(key, check)
    assert value is not None
    return value


def _checked(check: Callable[[str], None]) -> Callable[[str], str]:
    def checked(text: str) -> str:
        check(text)
        return text

    return checked


def _check_archive(text: str) -> str:
    try:
        digest = Digest.parse(text)
    except ValueError as error:
        raise ConfigError(f"{printable(text, 80)!r} is no digest that can be trusted: {error}", hint=_RESTORE) from None
    return str(digest)


def _check_hash(known: str, text: str) -> str:
    scheme, colon, value = text.partition(":")
    if scheme != known or not colon:
        raise ConfigError(
            f"{printable(text, 80)!r} is of a scheme that this getmodules does not know",
            hint="a newer getmodules may have written this file: install that one",
        )
    try:
        good = len(base64.b64decode(value, validate=True)) == _HASH_BYTES
    except binascii.Error:
        good = False
    if not good:
        raise ConfigError(f"{printable(text, 80)!r} is no {known}", hint=_RESTORE)
    return text


def _check_subdir(text: str) -> str:
    try:
        clean = member_path(text) == text
    except UnsafeContentError:
        clean = False
    if not clean:
        raise ConfigError(f"{printable(text)!r} is no clean path", hint=_RESTORE)
    return text


def _check_references(lock: Lock, shown: str) -> None:
    for module in lock.modules.values():
        if module.package not in lock.packages:
            raise ConfigError(
                f"{shown}: the module {module.name} is of the package {printable(module.package, 500)!r}, "
                "and there is no such [[package]]",
                hint="remove this [[module]], then: getmodules lock makes it anew, and leaves the others as they are",
            )
    found = find_collision((module.name, module.dest) for module in lock.modules.values())
    if found is not None:
        raise ConfigError(
            f"{shown}: the destinations of {found[0]} and {found[1]} are the same, or one in the other", hint=_RESTORE
        )


def _without_leftovers(lock: Lock) -> Lock:
    """Return the lock without packages that no module uses.

    Merging two branches that upgraded one module each leaves such packages. Refusing them would make people throw away
    a good lock with all its pins.
    """
    needed = {module.package for module in lock.modules.values()}
    return replace(lock, packages={address: package for address, package in lock.packages.items() if address in needed})


# ------------------------------------------------------------------------------------------------- writing


def format_lock(lock: Lock) -> str:
    """Return the text of a lock; equal locks have equal texts."""
    pieces = [_HEADER, f"version = {VERSION}\n"]
    for package in sorted(lock.packages.values(), key=lambda package: package.address):
        pieces.append(_entry("package", package, ("address", "id", "getter", "archive", "size", "package_h1")))
    for module in sorted(lock.modules.values(), key=lambda module: module.name):
        keys = ("name", "source", "version", "selected", "expect", "package", "subdir", "dest", "h1", "t1")
        pieces.append(_entry("module", module, keys))
    return "".join(pieces)


def _entry(kind: str, entry: LockedPackage | LockedModule, keys: tuple[str, ...]) -> str:
    lines = [f"\n[[{kind}]]\n"]
    for key in keys:
        value = getattr(entry, key)
        if isinstance(value, int):
            lines.append(f"{key} = {value}\n")
        elif value:
            lines.append(f"{key} = {toml_string(value)}\n")
    return "".join(lines)
