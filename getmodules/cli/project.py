"""Options and output that the commands of a project share."""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from getmodules.cli.options import (
    Parser,
    add_cache,
    add_headers,
    add_limit,
    add_network,
    add_output,
    add_plugins,
    add_progress,
    add_registry,
    client_of,
)
from getmodules.cli.render import Console, harmless
from getmodules.errors import ConfigError, GetModulesError, exit_code

if TYPE_CHECKING:
    from getmodules.cli.progress import Traffic
    from getmodules.client import Client
    from getmodules.pipeline.batch import Failure, Pace
    from getmodules.project.reports import FormerDirectory, InstalledModule, LockedReport

#: The help about "errors" in the JSON of these commands.
ERRORS_HELP = """\
"errors" is a list of {"module", "code", "message", "hint", "address"}, empty
where all went well; the exit code is that of the gravest."""
_MOST_JOBS = 256


def add_manifest(parser: Parser) -> None:
    parser.where.add_argument(
        "--manifest",
        metavar="FILE",
        help="the manifest, or the directory that it is in (default: the nearest getmodules.toml, here or above)",
    )


def add_project(parser: Parser) -> None:
    """Add the options of commands that work on a project without fetching."""
    for add in (add_manifest, add_plugins, add_output):
        add(parser)


def add_project_work(parser: Parser) -> None:
    """Add the options of commands that fetch for a project."""
    add_manifest(parser)
    parser.where.add_argument("-j", "--jobs", metavar="N", help="so many packages at the same time (default: 24)")
    for add in (add_progress, add_cache, add_registry, add_headers, add_limit, add_network, add_plugins, add_output):
        add(parser)


@contextmanager
def open_client(options: argparse.Namespace, console: Console) -> Iterator[tuple[Client, Traffic]]:
    """Open a client, and the progress of its work, until the block ends."""
    from getmodules.cli import progress

    with client_of(options, console) as client, progress.open_progress(options.progress, client, console) as shown:
        yield client, progress.Traffic(shown)


def manifest_of(options: argparse.Namespace, console: Console, *, lock_suffices: bool = False) -> str:
    """Return --manifest; without it the directory of the nearest project, else the current one.

    With ``lock_suffices``, a lock without a manifest is a project as well.
    """
    if options.manifest == "":
        raise ConfigError("--manifest is empty", hint="is a variable not set?")
    manifest: str | None = options.manifest
    return _nearest_project(console, lock_suffices=lock_suffices) if manifest is None else manifest


def _nearest_project(console: Console, *, lock_suffices: bool) -> str:
    from pathlib import Path

    from getmodules.cli.progress import notices
    from getmodules.project.search import MANIFEST, MANIFEST_OR_LOCK, find_project

    try:
        here = Path.cwd()
    except FileNotFoundError:
        return os.curdir  # whoever uses it says that the current directory is gone
    shown = notices(console)
    found = find_project(here, MANIFEST_OR_LOCK if lock_suffices else MANIFEST, lambda text: shown.notice("", text))
    return os.curdir if found is None else os.path.relpath(found, here)


def prefix_of(manifest: str) -> str:
    """Return what stands before destinations, so that they are seen from the current directory."""
    from pathlib import Path

    from getmodules.project.manifest import ProjectFiles

    return harmless(ProjectFiles.from_path(Path(os.path.abspath(manifest))).prefix)


def pace_of(options: argparse.Namespace) -> Pace | None:
    """Return the pace that --jobs sets, or None without it."""
    from getmodules.pipeline.batch import Pace

    text = options.jobs
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= _MOST_JOBS):
        raise ConfigError(f"--jobs takes a number from 1 to {_MOST_JOBS}, not {harmless(text)!r}")
    return Pace(jobs=int(text))


def report_failures(failures: Iterable[Failure], console: Console) -> int:
    """Show the errors, one for each cause, with the modules that it concerns; return the exit code of all of them."""
    by_cause: dict[Hashable, list[Failure]] = defaultdict(list)
    for failure in failures:
        by_cause[_cause_of(failure.error)].append(failure)
    for alike in by_cause.values():
        addresses = {failure.error.address for failure in alike}
        address = addresses.pop() if len(addresses) == 1 else None
        console.error_of_modules(alike[0].error, [failure.module for failure in alike], address)
    return exit_code(failure.error for alike in by_cause.values() for failure in alike)


def _cause_of(error: GetModulesError) -> Hashable:
    """Return equal values for errors with one cause: one host or path that fails in one way, or one package."""
    return error if error.failed_at is None else (error.code, error.failed_at)


def failures_as_json(failures: Iterable[Failure]) -> list[dict[str, object]]:
    """Return the ``errors`` of the JSON of these commands."""
    return [{"module": failure.module, **failure.error.as_json()} for failure in failures]


def versions_as_json(module: InstalledModule | LockedReport) -> dict[str, object]:
    """Return the keys about versions and identities of a module, as it is locked and was before."""
    return {
        "id": module.id,
        "version": module.version,
        "previous_version": module.previous_version,
        "previous_id": module.previous_id,
    }


def installed_as_json(module: InstalledModule) -> dict[str, object]:
    """Return a module that was installed, as the JSON of these commands has it."""
    return {
        "name": module.name,
        "action": module.action,
        "package": module.package,
        "subdir": module.subdir,
        "dest": module.dest,
        "h1": module.h1,
        "t1": module.t1,
        **versions_as_json(module),
    }


def directory_as_json(directory: FormerDirectory) -> dict[str, object]:
    """Return a directory that is not wanted any more, as the JSON of these commands has it."""
    return {"dest": directory.dest, "state": directory.state, "reason": directory.reason}
