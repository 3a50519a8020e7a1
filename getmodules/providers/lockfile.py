"""The dependency lock file, ``.terraform.lock.hcl``: reads it strictly, and writes it as Terraform and OpenTofu do.

A spelling that the engines would not write is refused, as both of them do: a lock file is compared, reviewed and merged
as text, and one fact must not have two spellings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn

from getmodules.addresses.versions import Constraint, Version, VersionError
from getmodules.api.limits import MIB
from getmodules.errors import AddressError, ConfigError, InstallError
from getmodules.files import durable
from getmodules.files.durable import read_user_file, shown_path
from getmodules.files.os_errors import translated
from getmodules.providers.address import ProviderAddress
from getmodules.providers.hashes import Hash, sorted_hashes
from getmodules.util.hcl import Block, HclError, Literal, Position, parse_hcl
from getmodules.util.redact import printable
from getmodules.util.values import field, valueclass

LOCK_FILE_BYTES: Final = 8 * MIB
_START = Position(1, 1)
LOCK_FILE_NAME: Final = ".terraform.lock.hcl"
#: The file is read by every user of a project.
_MODE = 0o644


class Engine(Enum):
    """The engine whose header a lock file has."""

    OPENTOFU = "tofu"
    TERRAFORM = "terraform"


@valueclass
class ProviderLock:
    """The lock of one provider. Hashes of unknown schemes are kept."""

    address: ProviderAddress
    version: Version
    constraints: Constraint | None = None
    hashes: frozenset[Hash] = frozenset()


@valueclass(kw_only=False)
class LockFile:
    """All providers of a lock file, by address; ``warnings`` are about blocks that were skipped."""

    providers: Mapping[ProviderAddress, ProviderLock] = field(default_factory=dict, hash=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "providers", MappingProxyType(dict(self.providers)))

    @classmethod
    def of(cls, locks: Iterable[ProviderLock]) -> LockFile:
        return cls({lock.address: lock for lock in locks})

    def with_lock(self, lock: ProviderLock) -> LockFile:
        """Return a lock file with ``lock`` in place of what is locked for its provider."""
        return LockFile({**self.providers, lock.address: lock}, self.warnings)


# --------------------------------------------------------------------------------------------------------------- files


def read_lock_file(path: Path) -> LockFile:
    """Read the lock file at ``path``; an empty one if there is no file."""
    data = read_user_file(path, LOCK_FILE_BYTES)
    return LockFile() if data is None else parse_lock_file(data, shown_path(path))


def write_lock_file(path: Path, lock_file: LockFile, engine: Engine = Engine.OPENTOFU) -> None:
    """Replace the lock file in one step, or leave it as it was."""
    what = f"cannot write {shown_path(path)}"
    with translated(what):
        # A link stays, and the file that it leads to is replaced.
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():  # a rename would put a file in the place of /dev/null
            raise InstallError(f"{what}: it is not a file")
        new = target.with_name(f"{target.name}.getmodules-{os.urandom(8).hex()}")
        try:
            with durable.new_file(new, _MODE) as stream:
                if os.name != "nt":
                    os.fchmod(stream.fileno(), _MODE)  # whatever the umask
                stream.write(format_lock_file(lock_file, engine).encode())
            durable.replace_file(new, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new)


# ------------------------------------------------------------------------------------------------------------- writing


def format_lock_file(lock_file: LockFile, engine: Engine = Engine.OPENTOFU) -> str:
    """Return the text that ``engine`` would write."""
    header = (
        f'# This file is maintained automatically by "{engine.value} init".\n'
        "# Manual edits may be lost in future updates.\n"
    )
    locks = sorted(lock_file.providers.values(), key=lambda lock: lock.address.sort_key)
    return header + "".join(map(_format_provider, locks))


def _format_provider(lock: ProviderLock) -> str:
    constraints = str(lock.constraints) if lock.constraints is not None else ""
    lines = [f"provider {_quoted(str(lock.address))} {{"]
    if constraints:
        lines += [f"  version     = {_quoted(str(lock.version))}", f"  constraints = {_quoted(constraints)}"]
    else:
        lines += [f"  version = {_quoted(str(lock.version))}"]
    if lock.hashes:
        lines += ["  hashes = [", *(f"    {_quoted(str(hash_))}," for hash_ in sorted_hashes(lock.hashes)), "  ]"]
    return "\n".join(["", *lines, "}", ""])


def _quoted(text: str) -> str:
    for special, escaped in (("\\", "\\\\"), ('"', '\\"'), ("${", "$${"), ("%{", "%%{")):
        text = text.replace(special, escaped)
    return f'"{text}"'


# ------------------------------------------------------------------------------------------------------------- reading


def parse_lock_file(data: bytes, what: str) -> LockFile:
    """Parse a lock file; ``what`` names it in messages, which have line and column."""
    try:
        if len(data) > LOCK_FILE_BYTES:
            raise HclError(_START, f"it has {len(data):,} bytes, more than the {LOCK_FILE_BYTES:,} that it may have")
        return _read(parse_hcl(_decoded(data)))
    except HclError as error:
        shown = printable(what, 500)
        raise ConfigError(f"{shown}, {error.position}: {error}", hint=error.hint) from None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[line_start : error.start].decode("utf-8")) + 1
        raise HclError(Position(data.count(b"\n", 0, error.start) + 1, column), "this is not UTF-8") from None


def _read(file: Block) -> LockFile:
    for name, (position, _) in file.attributes.items():
        raise HclError(position, f"the argument {printable(name)!r} is not expected here")
    seen: dict[ProviderAddress, Position] = {}
    locks: list[ProviderLock] = []
    warnings: list[str] = []
    for block in file.blocks:
        if block.type not in ("provider", "module"):
            raise HclError(block.position, f"blocks of the type {printable(block.type)!r} are not expected here")
        if len(block.labels) != 1:
            raise HclError(block.position, f"a {block.type} block has one label, and not {len(block.labels)}")
        if block.type == "module":
            if not warnings:  # one is enough to say it
                warnings.append(f"{block.position}: module blocks mean nothing here, and are lost with the next write")
            continue
        lock = _read_provider(block)
        if lock.address in seen:
            raise HclError(block.position, f"{lock.address} is locked already: {seen[lock.address]}")
        seen[lock.address] = block.position
        locks.append(lock)
    return LockFile({lock.address: lock for lock in locks}, tuple(warnings))


def _read_provider(block: Block) -> ProviderLock:
    address = _read_address(block.labels[0])
    for inner in block.blocks:
        raise HclError(inner.position, f"blocks of the type {printable(inner.type)!r} are not expected here")
    for name, (position, _) in block.attributes.items():
        if name not in ("version", "constraints", "hashes"):
            raise HclError(position, f"the argument {printable(name)!r} is not expected here")
    if "version" not in block.attributes:
        raise HclError(block.position, "the argument 'version' is missing")
    constraints, hashes = block.attributes.get("constraints"), block.attributes.get("hashes")
    return ProviderLock(
        address=address,
        version=_read_version(block.attributes["version"][1]),
        constraints=None if constraints is None else _read_constraints(constraints[1]),
        hashes=frozenset() if hashes is None else _read_hashes(hashes[1]),
    )


def _read_address(label: Literal) -> ProviderAddress:
    written = _text(label)
    try:
        address = ProviderAddress.parse(written)
    except AddressError as error:
        raise HclError(label.position, error.message, error.hint) from None
    if str(address) != written:
        _refuse_spelling(label, "the provider's address", str(address))
    return address


def _read_version(literal: Literal) -> Version:
    written = _text(literal)
    try:
        return Version.parse(written, padded=True)
    except VersionError as error:
        raise HclError(literal.position, str(error), error.hint) from None


def _read_constraints(literal: Literal) -> Constraint | None:
    written = _text(literal)
    if not written:
        return None
    try:
        constraints = Constraint.parse(written)
    except VersionError as error:
        raise HclError(literal.position, str(error), error.hint) from None
    if str(constraints) != written:
        _refuse_spelling(literal, "the constraints", str(constraints))
    return constraints


def _read_hashes(literal: Literal) -> frozenset[Hash]:
    if not isinstance(literal.value, tuple):
        raise HclError(literal.position, "the hashes must be a list")
    if not literal.value:
        raise HclError(literal.position, "the list of hashes is empty", "leave it out, or lock anew")
    found = set()
    for item in literal.value:
        written = _text(item)
        try:
            found.add(Hash.parse(written))
        except ValueError as error:
            raise HclError(item.position, str(error)) from None
    return frozenset(found)


def _text(literal: Literal) -> str:
    if not isinstance(literal.value, str):
        raise HclError(literal.position, "a string in quotes must stand here")
    return literal.value


def _refuse_spelling(literal: Literal, what: str, canonical: str) -> NoReturn:
    raise HclError(literal.position, f"{what} must be written in the normal form: {printable(canonical, 500)}")
