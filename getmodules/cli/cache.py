"""``getmodules cache``: shows, checks and shrinks the cache."""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING

from getmodules.cli.options import Parser, add_output
from getmodules.cli.render import Console, harmless
from getmodules.errors import ConfigError

if TYPE_CHECKING:
    from getmodules.cache.location import CacheLocation
    from getmodules.cache.upkeep import Pruned

_EPILOG = """\
  info      where it is, and how much is in it
  verify    hash everything again; what is damaged is dropped (exit 3)
  prune     remove what is older than --older-than says; then, the longest
            unused first, what is more than --max-size
  clean     remove everything that no run uses at this moment

The cache is where GETMODULES_CACHE_DIR says, else where the platform puts
caches; an empty GETMODULES_CACHE_DIR means that there is none. All projects
share it. It is safe to use all of these, or to remove the directory, while
others run.

with --json:
  info             path (null: there is no cache), writable, blobs, workshops,
                   records, bytes, partials
  verify           blobs, bytes, damaged
  prune, clean     removed, freed, bytes

examples:
  getmodules cache info
  getmodules cache prune --older-than 30d --max-size 2GiB
"""

_ACTIONS = ("info", "verify", "prune", "clean")
_AGE = re.compile(r"(\d{1,9})([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def parser() -> Parser:
    made = Parser(
        usage="getmodules cache info|verify|prune|clean [OPTION...]",
        description="Show, check, shrink or empty what is kept between runs.",
        epilog=_EPILOG,
    )
    made.add_argument("action", metavar="ACTION", help="info, verify, prune or clean")
    made.completions["action"] = _ACTIONS
    made.add_argument("--max-size", metavar="SIZE", help="prune: at most this much stays, as in 2GiB")
    made.add_argument("--older-than", metavar="AGE", help="prune: what was not used for so long goes, as in 30d")
    add_output(made, quiet=False)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    if options.action not in _ACTIONS:
        raise ConfigError(f"there is no cache {harmless(options.action)}", hint=f"one of: {', '.join(_ACTIONS)}")
    max_size, older_than = _bounds(options)
    home = _home(console)
    if options.action == "info":
        return _info(home, console)
    if home is None:
        raise ConfigError("there is no cache", hint="GETMODULES_CACHE_DIR=DIRECTORY says where it is to be")
    if options.action == "verify":
        return _verify(home, console)
    return _remove(home, max_size, older_than, console, everything=options.action == "clean")


def _bounds(options: argparse.Namespace) -> tuple[int | None, float | None]:
    from getmodules.api.limits import bytes_from

    size, age = options.max_size, options.older_than
    if options.action == "prune" and size is None and age is None:
        raise ConfigError("cache prune needs --max-size, --older-than, or both", hint="as in --older-than 30d")
    if options.action != "prune" and (size is not None or age is not None):
        raise ConfigError(f"cache {options.action} takes no --max-size and no --older-than", hint="cache prune does")
    amount = None if size is None else bytes_from(size)
    if size is not None and amount is None:
        raise ConfigError(f"--max-size takes a size, not {harmless(size)!r}", hint="as in 500MiB or 2GiB")
    match = None if age is None else _AGE.fullmatch(age)
    if age is not None and match is None:
        raise ConfigError(f"--older-than takes an age, not {harmless(age)!r}", hint="as in 12h, 30d or 8w")
    return amount, None if match is None else int(match[1]) * _SECONDS[match[2]]


def _home(console: Console) -> CacheLocation | None:
    from getmodules.cache.location import directory_from, open_cache

    directory = directory_from(console.environ)
    return None if directory is None else open_cache(directory)


def _info(home: CacheLocation | None, console: Console) -> int:
    from getmodules.cache.upkeep import info

    if home is None:
        fields: dict[str, object] = {"path": None, "writable": False}
        numbers = {"blobs": 0, "workshops": 0, "records": 0, "bytes": 0, "partials": 0}
        console.result("there is no cache", {**fields, **numbers})
        return 0
    found = info(home)
    path = os.fspath(found.path)
    text = (
        f"{harmless(path)}{'' if found.writable else ' (cannot be written to)'}\n"
        f"{found.blobs:,} packages, {found.workshops:,} repositories, {found.records:,} records; {found.bytes:,} bytes"
    )
    if found.partials:
        text += f"\n{found.partials:,} download{'s' if found.partials > 1 else ''} that ended early"
    numbers = {"blobs": found.blobs, "workshops": found.workshops, "records": found.records, "bytes": found.bytes}
    numbers["partials"] = found.partials
    console.result(text, {"path": path, "writable": found.writable, **numbers})
    return 0


def _verify(home: CacheLocation, console: Console) -> int:
    from getmodules.cache.upkeep import verify
    from getmodules.errors import VerificationError

    checked = verify(home)
    lines = [f"damaged {digest}" for digest in checked.damaged]
    text = "\n".join((*lines, f"as they should be: {checked.blobs:,} ({checked.bytes:,} bytes)"))
    console.result(text, {"blobs": checked.blobs, "bytes": checked.bytes, "damaged": list(checked.damaged)})
    return VerificationError.exit_code if checked.damaged else 0


def _remove(
    home: CacheLocation, max_size: int | None, older_than: float | None, console: Console, *, everything: bool
) -> int:
    from getmodules.cache.upkeep import clean, prune

    done: Pruned = clean(home) if everything else prune(home, max_size=max_size, older_than=older_than)
    text = f"removed {done.freed:,} bytes: {done.removed:,} packages and repositories; {done.bytes:,} bytes stay"
    console.result(text, {"removed": done.removed, "freed": done.freed, "bytes": done.bytes})
    return 0
