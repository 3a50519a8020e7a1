"""``getmodules add``: adds a module to a project."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli import install, lock
from getmodules.cli.options import Parser, working_directory
from getmodules.cli.project import (
    ERRORS_HELP,
    add_project_work,
    installed_as_json,
    manifest_of,
    open_client,
    pace_of,
    prefix_of,
    report_failures,
)
from getmodules.cli.render import Console
from getmodules.cli.summary import show_rows, summarise

if TYPE_CHECKING:
    from getmodules.cli.progress import Traffic
    from getmodules.project.reports import AddReport

_EPILOG = f"""\
The module is looked up, fetched and locked; [modules.NAME] is put at the end
of getmodules.toml, which is made in the current directory where there is none
here or above; and the module is installed. Everything else in the file stays
as it is. Where something fails, both files and the directory stay as they
were.

with --json: as for getmodules lock: {{"modules", "written", "errors"}}; and
"installed", a list of the module as in "modules" of getmodules install, which
is empty with --no-install.
{ERRORS_HELP}

examples:
  getmodules add vpc "oci://ghcr.io/acme/vpc//net?tag=1.2.0"
  getmodules add vpc oci://ghcr.io/acme/vpc --version "~> 1.2"
  getmodules add net ./modules-src/net --dest vendor/net
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules add NAME SOURCE [OPTION...]",
        description="Add a module to getmodules.toml and getmodules.lock, and install it.",
        epilog=_EPILOG,
    )
    made.add_argument("name", metavar="NAME", help="what it is called in this project")
    made.add_argument("source", metavar="SOURCE", help="its address; relative ones start in the current directory")
    made.add_argument("--version", metavar="CONSTRAINT", help='which versions will do, as in "~> 1.2"')
    made.add_argument("--dest", metavar="DIR", help="where it goes, below the manifest (default: modules/NAME)")
    made.add_argument("--no-install", action="store_true", help="only write manifest and lock")
    made.add_argument("--expect", metavar="HASH", help="sha256:... of the archive, h1:... or t1:... of the directory")
    add_project_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    manifest = manifest_of(options, console)
    with open_client(options, console) as (client, shown):
        report = client.add(
            options.name,
            options.source,
            manifest,
            version=options.version,
            dest=options.dest,
            expect=options.expect,
            base=working_directory(),
            install=not options.no_install,
            pace=pace_of(options),
            progress=shown,
        )
    added = [] if report.installed is None else [report.installed]
    if console.json:
        fields = lock.as_json(report)
        console.json_line({**fields, "installed": [installed_as_json(module) for module in added]})
    elif not console.quiet and not report.failures:
        _show(report, prefix_of(manifest), shown, console)
    return report_failures(report.failures, console)


def _show(report: AddReport, prefix: str, traffic: Traffic, console: Console) -> None:
    """Show one row for each module: what was installed with its place, what was only locked with its source."""
    added = report.installed
    rows = [lock.row_of(each) for each in report.modules if each.change != "unchanged"]
    if added is not None:
        rows = [row for row in rows if row.name != added.name]
        rows.append(install.row_of(added, prefix))
    show_rows(rows, console)
    new, *others = lock.counts_of(report)
    installed = int(added is not None and added.action == "installed")
    summarise((new, (installed, "installed"), *others), traffic, console)
