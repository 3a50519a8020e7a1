"""``getmodules outdated``: shows newer versions, and addresses that mean something else than when they were locked."""

from __future__ import annotations

import argparse
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
)
from getmodules.cli.render import Console
from getmodules.cli.summary import Row, show_rows, summarise
from getmodules.errors import LockStaleError

if TYPE_CHECKING:
    from getmodules.project.reports import OutdatedModule

_EPILOG = f"""\
Modules of which there are newer versions, or whose address means something
else than when it was locked. Nothing is changed: getmodules lock --upgrade
follows. That something is outdated is no error (exit 0), but with --exit-code
it ends with 5 where a version that the manifest allows is newer, or an address
means something else. Failures decide first.

with --json: {{"modules", "errors"}}; "modules" is a list of {{"name", "source",
"current", "version", "newest", "latest", "moved"}}: "newest" is the newest
version that the manifest allows, "latest" the newest release, "moved" what the
address means now.
{ERRORS_HELP}

examples:
  getmodules outdated
  getmodules outdated vpc net --json
  getmodules outdated --exit-code
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules outdated [NAME...] [OPTION...]",
        description="Show which locked modules have newer versions, and which addresses have moved.",
        epilog=_EPILOG,
    )
    made.add_argument("names", metavar="NAME", nargs="*", help="only these modules")
    made.completions["names"] = Completes.MODULES
    made.add_argument("--exit-code", action="store_true", help="exit 5 where something can be upgraded")
    add_project_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    with open_client(options, console) as (client, shown):
        report = client.outdated(
            manifest_of(options, console), names=options.names, pace=pace_of(options), progress=shown
        )
    if console.json:
        modules = [_as_json(module) for module in report.modules]
        console.json_line({"modules": modules, "errors": failures_as_json(report.failures)})
    else:
        show_rows(map(_row, report.modules), console)
        if not (report.modules or report.failures or console.quiet):
            console.data(f"everything {'else ' if report.edited else ''}is up to date")
        counts = ((len(report.modules), "outdated"), (len(report.current), "up to date"))
        summarise((*counts, (len(report.edited), "passed over"), (len(report.failures), "failed")), shown, console)
    code = report_failures(report.failures, console)
    is_behind = any(module.newest or module.moved for module in report.modules)
    return LockStaleError.exit_code if options.exit_code and is_behind and not code else code


def _as_json(module: OutdatedModule) -> dict[str, object]:
    return {
        "name": module.name,
        "source": module.source,
        "current": module.current,
        "version": module.version,
        "newest": module.newest,
        "latest": module.latest,
        "moved": module.moved,
    }


def _row(module: OutdatedModule) -> Row:
    from getmodules.project.labels import short_id

    said, details = [], []
    if module.latest and module.latest != module.newest:
        said.append(f"{module.latest} exists")
    if module.moved:
        said.append(f"moved from {short_id(module.current)} to {short_id(module.moved)}")
        details = [f"locked  {module.current}", f"now     {module.moved}"]
    newer = module.newest is not None
    now = module.version or module.label
    return Row(
        name=module.name,
        version=module.newest if newer else now,
        previous_version=now if newer else None,
        word="",
        last="; ".join(said),
        details=(module.source, *details),
    )
