"""The manifest, ``getmodules.toml``: the modules that a project wants, as people write them.

::

    [modules.vpc]
    source = "oci://ghcr.io/acme/vpc//net"
    version = "~> 1.2"

``docs/reference/manifest.rst`` explains every key, and ``docs/reference/getmodules.schema.json`` describes the same for
editors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path

from getmodules.addresses.versions import Constraint, VersionError
from getmodules.archive.names import fold
from getmodules.errors import ConfigError
from getmodules.files.durable import shown_path
from getmodules.pipeline.gates import of_expectation
from getmodules.pipeline.policy import Policy
from getmodules.pipeline.settings import registry_from
from getmodules.project.hosts import HostSettings, hosts_from, mirrors_from
from getmodules.project.names import (
    DEFAULT_DEST,
    LOCK_NAME,
    MANIFEST_NAME,
    check_dest,
    check_name,
    check_source,
    collision_error,
    find_collision,
)
from getmodules.project.policy import policy_of
from getmodules.project.toml import TomlTable, parse, read_text
from getmodules.util.values import field, valueclass


@valueclass
class ModuleEntry:
    """One table ``[modules.NAME]``. ``dest`` is relative to the manifest's directory."""

    name: str
    source: str
    dest: str
    version: str | None = None
    expect: str | None = None


@valueclass
class Manifest:
    """The content of a manifest."""

    modules: Mapping[str, ModuleEntry] = field(default_factory=dict, hash=False)
    #: The registry in which ``namespace/name/system`` is a module.
    registry: str | None = None
    host_settings: HostSettings = field(default_factory=HostSettings)
    policy: Policy | None = None


@valueclass
class ProjectFiles:
    """The paths of a project's manifest and of the lock beside it."""

    manifest: Path

    @classmethod
    def from_path(cls, manifest: Path, *, directory: bool = False) -> ProjectFiles:
        """Find the files of the project at ``manifest``, which is the file, or the directory that holds it.

        With ``directory`` it is taken for a directory, even if that does not exist yet.
        """
        if fold(manifest.name) == LOCK_NAME:  # the lock would overwrite the manifest
            raise ConfigError(f"{LOCK_NAME} is the lock, and no manifest", hint=f"as in {MANIFEST_NAME}")
        inside = manifest.is_dir() or (directory and not manifest.is_file())
        return cls(manifest=manifest / MANIFEST_NAME if inside else manifest)

    @property
    def directory(self) -> Path:
        return self.manifest.parent

    @property
    def lock(self) -> Path:
        return self.directory / LOCK_NAME

    @property
    def prefix(self) -> str:
        """Return the way from the current directory to the project, which stands before destinations in messages.

        If neither is in the other, it is empty: a destination is shown as the manifest has it.
        """
        try:
            here = Path.cwd()
        except OSError:  # it is gone
            return ""
        if here == self.directory or not (self.directory.is_relative_to(here) or here.is_relative_to(self.directory)):
            return ""
        return os.path.relpath(self.directory, here).replace(os.sep, "/") + "/"


def read_manifest(path: Path, make: Callable[[str, Path], Manifest] | None = None) -> Manifest:
    """Read the manifest at ``path``, which must exist."""
    text = read_text(path)
    if text is None:
        raise ConfigError(
            f"there is no {shown_path(path)}",
            hint="getmodules add NAME SOURCE begins one; --manifest FILE names one that lies elsewhere",
        )
    return (make or parse_manifest)(text, path)


def reader() -> Callable[[Path], Manifest]:
    """Return a :func:`read_manifest` for several calls, which parses a text again only if it has changed."""
    return partial(read_manifest, make=lru_cache(maxsize=1)(parse_manifest))


def parse_manifest(text: str, path: Path) -> Manifest:
    """Parse the text of a manifest; ``path`` is that of its file."""
    top = parse(text, path.name)
    defaults = top.table("defaults")
    below = defaults.checked("dest", check_dest) or DEFAULT_DEST
    registry = defaults.checked("registry", partial(registry_from, {}))
    defaults.finish()
    modules = {name: _module(name, table, below) for name, table in top.table("modules").entries()}
    hosts = hosts_from(top.table("hosts"), path.parent)
    mirrors = mirrors_from(top.table("mirrors"))
    policy = policy_of(top, path)
    top.finish()
    _refuse_collisions(modules, path)
    settings = HostSettings(hosts=hosts, mirrors=mirrors)
    return Manifest(modules=modules, registry=registry, host_settings=settings, policy=policy)


def _module(name: str, table: TomlTable, below: str) -> ModuleEntry:
    try:
        check_name(name)
    except ConfigError as error:
        table.refuse("", error.message, error.hint)
    source = table.checked("source", check_source)
    entry = ModuleEntry(
        name=name,
        source=source or "",
        dest=table.checked("dest", check_dest) or _default_dest(f"{below}/{name}", table),
        version=table.checked("version", check_constraint),
        expect=table.checked("expect", check_expectation),
    )
    table.finish()
    if source is None:
        table.refuse("", "there is no source", "every module has a source")
    return entry


def _default_dest(dest: str, table: TomlTable) -> str:
    """Check a destination made from a module's name: some names cannot be directories, such as ``con`` on Windows."""
    try:
        return check_dest(dest)
    except ConfigError as error:
        table.refuse("", f"there is no dest, and {error.message}", "give it a dest, as in modules/the-console")


def check_constraint(text: str) -> str:
    """Return ``text`` if it is a version constraint; raise otherwise."""
    try:
        Constraint.parse(text)
    except VersionError as error:
        raise ConfigError(str(error), hint=error.hint) from None
    return text


def check_expectation(text: str) -> str:
    """Return ``text`` if it is a value of ``expect``; raise otherwise."""
    of_expectation(text)
    return text


def _refuse_collisions(modules: Mapping[str, ModuleEntry], path: Path) -> None:
    found = find_collision((entry.name, entry.dest) for entry in modules.values())
    if found is not None:
        raise collision_error(found, {name: entry.dest for name, entry in modules.items()}, path.name)
