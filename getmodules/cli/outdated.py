"""``getmodules outdated``: shows newer versions, and addresses that mean something else than when they were locked."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli.options import Parser
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

if TYPE_CHECKING:
    from getmodules.project.reports import OutdatedModule

_EPILOG = f"""\
Modules of which there are newer versions, or whose address means something
else than when it was locked. Nothing is changed: getmodules lock --upgrade
follows. That something is outdated is no error (exit 0).

with --json: {{"modules", "errors"}}; "modules" is a list of {{"name", "source",
"current", "version", "newest", "latest", "moved"}}: "newest" is the newest
version that the manifest allows, "latest" the newest release, "moved" what the
address means now.
{ERRORS_HELP}

examples:
  getmodules outdated
  getmodules outdated --json
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules outdated [OPTION...]",
        description="Show which locked modules have newer versions, and which addresses have moved.",
        epilog=_EPILOG,
    )
    add_project_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    with open_client(options, console) as (client, shown):
        report = client.outdated(manifest_of(options), pace=pace_of(options), progress=shown)
    if console.json:
        modules = [_as_json(module) for module in report.modules]
        console.json_line({"modules": modules, "errors": failures_as_json(report.failures)})
    else:
        show_rows(map(_row, report.modules), console)
        if not (report.modules or report.failures or console.quiet):
            console.data(f"everything {'else ' if report.edited else ''}is up to date")
        counts = ((len(report.modules), "outdated"), (len(report.current), "up to date"))
        summarise((*counts, (len(report.edited), "passed over"), (len(report.failures), "failed")), shown, console)
    return report_failures(report.failures, console)


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
