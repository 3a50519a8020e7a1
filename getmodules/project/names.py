"""Rules for names, destinations and sources of modules, in manifests, locks and on the command line alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final

from getmodules.addresses.grammar import parse
from getmodules.addresses.types import SourceAddress
from getmodules.archive.dot_git import is_dot_git
from getmodules.archive.names import fold, is_unportable, member_path
from getmodules.errors import ConfigError, GetModulesError, UnsafeContentError
from getmodules.util.redact import printable, redact_address

MANIFEST_NAME = "getmodules.toml"
LOCK_NAME = "getmodules.lock"
#: The directory of modules without a dest, each under its name.
DEFAULT_DEST = "modules"
#: The directory beside the lock for what concerns this checkout alone.
STATE_DIRECTORY = ".getmodules"
_REMEMBERED: Final = 1024
_OURS = (MANIFEST_NAME, LOCK_NAME, STATE_DIRECTORY)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)


def check_name(name: str) -> None:
    """Raise if ``name`` cannot be the name of a module."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{printable(redact_address(name), 80)!r} is no name for a module",
            hint="names are letters, digits, - and _; they do not begin with -, and have at most 64 characters",
        )


def check_dest(text: str) -> str:
    """Return ``text`` as a clean path below the manifest's directory."""
    try:
        path = member_path(text)
    except UnsafeContentError as error:
        outside = error.part in ("absolute-path", "parent-path")
        raise ConfigError(
            f"{printable(text)!r} {'does not lie below the directory of the manifest' if outside else 'is no path'}",
            hint="write a path such as modules/vpc: relative, with '/' and without '..'",
        ) from error
    parts = path.split("/")
    if not path:
        raise ConfigError("it is the directory of the manifest itself", hint="as in modules/vpc")
    odd = next(filter(is_unportable, parts), None)
    if odd is not None:
        raise ConfigError(
            f"{printable(odd)!r} cannot be a name on every system", hint="Windows has none like it: choose another"
        )
    if fold(parts[0]) in _OURS or any(map(is_dot_git, parts)):
        raise ConfigError(
            f"{printable(path)!r} is not a place for modules",
            hint="git and getmodules keep things there: as in modules/vpc",
        )
    return path


def find_collision(dests: Iterable[tuple[str, str]]) -> tuple[str, str, bool] | None:
    """Find two of the ``(name, dest)`` pairs whose destinations are equal or nested.

    Returns their names, and True if the destinations are equal.
    """
    # With a separator that sorts before everything, a directory comes right before what lies in it.
    ordered = sorted((tuple(fold(dest).split("/")), name) for name, dest in dests)
    for (outer, first), (inner, second) in pairwise(ordered):
        if inner[: len(outer)] == outer:
            return first, second, inner == outer
    return None


def collision_error(found: tuple[str, str, bool], dests: Mapping[str, str], shown: str) -> ConfigError:
    """Return the error for a pair that :func:`find_collision` found in the file that is called ``shown``."""
    first, second, equal = found
    relation = "are the same" if equal else "lie one in the other"
    return ConfigError(
        f"{shown}: the destinations of [modules.{first}] and [modules.{second}] {relation}:"
        f" {dests[first]}, {dests[second]}",
        hint="give one of them another dest",
    )


def check_source(source: str) -> str:
    """Return ``source``, if it is an address without a secret, which can be written down."""
    written_address(source)
    return source


@lru_cache(_REMEMBERED)
def written_address(source: str) -> SourceAddress:
    """Parse an address of a manifest or lock; cached, since each occurs several times. One with a secret is refused."""
    if redact_address(source) != source:
        raise ConfigError(
            f"there is a secret in the address {printable(redact_address(source), 500)!r}",
            hint="leave it out: tokens come from the environment (GETMODULES_TOKEN_<host>) or from credential files",
        )
    try:
        return parse(source)
    except GetModulesError as error:
        raise ConfigError(f"{printable(source, 500)!r} is no address: {error.message}", hint=error.hint) from error
