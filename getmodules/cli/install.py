"""``getmodules install``: installs the modules of a project, as they are locked."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import TYPE_CHECKING

from getmodules.cli.options import Completes, Parser
from getmodules.cli.project import (
    ERRORS_HELP,
    add_project_work,
    directory_as_json,
    failures_as_json,
    installed_as_json,
    manifest_of,
    open_client,
    pace_of,
    prefix_of,
    report_failures,
)
from getmodules.cli.render import Console
from getmodules.cli.summary import Row, show_rows, summarise

if TYPE_CHECKING:
    from getmodules.cli.progress import Traffic
    from getmodules.project.reports import FormerDirectory, InstalledModule, InstallReport

_EPILOG = f"""\
What getmodules.lock has comes exactly as it was locked. What is new in
getmodules.toml, or was edited there, is looked up and locked; in CI, --locked
makes that an error (exit 5). A directory that is as it should be is left
alone; one that was edited is an error without --force (exit 1). One module
that fails does not keep the others from being installed, but the lock is then
not written.

--prune removes directories that were installed in this checkout, are not in
the lock any more, and were not edited; with NAMEs, or where a module failed,
none.

with --json: {{"modules", "lock_written", "errors", "pruned", "seconds"}};
"modules" is a list of {{"name", "action", "package", "subdir", "dest", "h1",
"t1", "id", "version", "previous_version", "previous_id"}}, where action is
installed or unchanged; "pruned" one of {{"dest", "state", "reason"}}, where
state is removed or kept.
{ERRORS_HELP}

examples:
  getmodules install
  getmodules install vpc --force
  getmodules install --locked --json
  getmodules install --frozen --offline
  getmodules install --prune
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules install [NAME...] [OPTION...]",
        description="Install the modules of getmodules.toml, as getmodules.lock has them.",
        epilog=_EPILOG,
    )
    made.add_argument("names", metavar="NAME", nargs="*", help="only these modules")
    made.completions["names"] = Completes.MODULES
    group = made.add_mutually_exclusive_group()
    group.add_argument("--locked", action="store_true", help="refuse where manifest and lock differ (exit 5)")
    group.add_argument("--frozen", action="store_true", help="from the lock alone: the manifest is not read")
    made.add_argument("--force", action="store_true", help="replace directories that were edited")
    made.add_argument("--prune", action="store_true", help="remove unedited directories of modules that are gone")
    add_project_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    manifest = manifest_of(options, console, lock_suffices=options.frozen)
    with open_client(options, console) as (client, shown):
        report = client.install(
            manifest,
            names=options.names,
            locked=options.locked,
            frozen=options.frozen,
            force=options.force,
            prune=options.prune,
            pace=pace_of(options),
            progress=shown,
        )
    if console.json:
        fields = {
            "modules": [installed_as_json(module) for module in report.modules],
            "lock_written": report.locked,
            "errors": failures_as_json(report.failures),
            "pruned": [directory_as_json(directory) for directory in report.pruned],
        }
        console.json_line({**fields, "seconds": round(time.monotonic() - shown.began, 3)})
    else:
        _show(report, prefix_of(manifest), shown, options, console)
    if report.locked and not console.quiet:
        console.labelled("note", "getmodules.lock was written")
    return report_failures(report.failures, console)


def _show(report: InstallReport, prefix: str, traffic: Traffic, options: argparse.Namespace, console: Console) -> None:
    if not console.quiet:
        show_rows([row_of(module, prefix) for module in report.modules], console)
        if not (report.modules or report.failures):
            console.data(f"nothing to install: the {'lock' if options.frozen else 'manifest'} has no modules")
        show_rows([_row_of_directory(directory, prefix) for directory in report.pruned], console)
    done = Counter(module.action.value for module in report.modules)
    done.update(directory.state.value for directory in report.pruned)
    counts = [(done[word], word) for word in ("installed", "unchanged", "removed", "kept")]
    summarise((*counts, (len(report.failures), "failed")), traffic, console)


def row_of(module: InstalledModule, prefix: str) -> Row:
    """Return the row of a module that was installed; its place is seen from the current directory."""
    return Row(
        name=module.name,
        version=module.version,
        previous_version=module.previous_version,
        word=module.action,
        last=f"{prefix}{module.dest}",
        details=(module.package, module.h1),
    )


def _row_of_directory(directory: FormerDirectory, prefix: str) -> Row:
    """Return the row of a directory that belongs to no module any more: it is called by its place."""
    reason = directory.reason or ""
    return Row(
        name=f"{prefix}{directory.dest}",
        version=None,
        previous_version=None,
        word=directory.state,
        last=reason,
        details=(reason,) if reason else (),
    )
