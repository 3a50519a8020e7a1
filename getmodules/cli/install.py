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
    failures_as_json,
    manifest_of,
    open_client,
    pace_of,
    report_failures,
    versions_as_json,
)
from getmodules.cli.render import Console
from getmodules.cli.summary import Row, show_rows, summarise

if TYPE_CHECKING:
    from getmodules.project.reports import InstalledModule

_EPILOG = f"""\
What getmodules.lock has comes exactly as it was locked. What is new in
getmodules.toml, or was edited there, is looked up and locked; in CI, --locked
makes that an error (exit 5). A directory that is as it should be is left
alone; one that was edited is an error without --force (exit 1). One module
that fails does not keep the others from being installed, but the lock is then
not written.

with --json: {{"modules", "lock_written", "errors", "seconds"}}; "modules" is a
list of {{"name", "action", "package", "subdir", "dest", "h1", "t1", "id",
"version", "previous_version", "previous_id"}}, where action is installed or
unchanged.
{ERRORS_HELP}

examples:
  getmodules install
  getmodules install vpc --force
  getmodules install --locked --json
  getmodules install --frozen --offline
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
    add_project_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    with open_client(options, console) as (client, shown):
        report = client.install(
            manifest_of(options),
            names=options.names,
            locked=options.locked,
            frozen=options.frozen,
            force=options.force,
            pace=pace_of(options),
            progress=shown,
        )
    if console.json:
        modules = [
            {
                "name": module.name,
                "action": module.action,
                "package": module.package,
                "subdir": module.subdir,
                "dest": module.dest,
                "h1": module.h1,
                "t1": module.t1,
                **versions_as_json(module),
            }
            for module in report.modules
        ]
        fields = {"modules": modules, "lock_written": report.locked, "errors": failures_as_json(report.failures)}
        console.json_line({**fields, "seconds": round(time.monotonic() - shown.began, 3)})
    elif not console.quiet and report.modules:
        show_rows(map(_row, report.modules), console)
    elif not console.quiet and not report.failures:
        console.data(f"nothing to install: the {'lock' if options.frozen else 'manifest'} has no modules")
    if not console.json:
        done = Counter(module.action.value for module in report.modules)
        counts = [(done[word], word) for word in ("installed", "unchanged")]
        summarise((*counts, (len(report.failures), "failed")), shown, console)
    if report.locked and not console.quiet:
        console.labelled("note", "getmodules.lock was written")
    return report_failures(report.failures, console)


def _row(module: InstalledModule) -> Row:
    return Row(
        name=module.name,
        version=module.version,
        previous_version=module.previous_version,
        word=module.action,
        last=module.dest,
        details=(module.package, module.h1),
    )
