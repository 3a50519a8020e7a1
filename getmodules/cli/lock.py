"""``getmodules lock``: pins the modules of a project, and checks whether the pins still hold."""

from __future__ import annotations

import argparse
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
from getmodules.cli.render import Console, harmless
from getmodules.cli.summary import Row, show_rows, summarise
from getmodules.errors import ConfigError, LockStaleError, exit_code

if TYPE_CHECKING:
    from getmodules.api.ports import Progress
    from getmodules.cli.progress import Traffic
    from getmodules.client import Client
    from getmodules.project.reports import CheckReport, LockedReport, LockReport

_EPILOG = f"""\
Modules that are new in getmodules.toml, or were edited there, are looked up
and fetched; what is locked stays as it is. Where a module fails, nothing is
written.

--upgrade looks up everything anew, or only the modules that are named: tags
that moved, and newer versions. --check writes nothing: it ends with 5 where
the lock is stale, or where an address means something else than when it was
locked.

with --json: {{"modules", "written", "errors"}}; "modules" is a list of {{"name",
"change", "package", "subdir", "dest", "h1", "t1", "selected", "id", "version",
"previous_version", "previous_id"}}, where change is new, changed, unchanged or
removed. With --check: {{"stale", "moved", "errors"}}; "stale" is a list of
sentences, "moved" one of {{"name", "source", "locked", "now"}}.
{ERRORS_HELP}

examples:
  getmodules lock
  getmodules lock --upgrade
  getmodules lock --upgrade vpc net
  getmodules lock --check
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules lock [--upgrade [NAME...]] [--check] [OPTION...]",
        description="Write down in getmodules.lock what each module of getmodules.toml is.",
        epilog=_EPILOG,
    )
    made.add_argument("names", metavar="NAME", nargs="*", help="with --upgrade: only these modules")
    made.completions["names"] = Completes.MODULES
    group = made.add_mutually_exclusive_group()
    group.add_argument("--upgrade", action="store_true", help="look up what is locked anew")
    group.add_argument("--check", action="store_true", help="write nothing; exit 5 where something is stale or moved")
    add_project_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    if options.names and not options.upgrade:
        raise ConfigError("names are for --upgrade", hint="getmodules lock --upgrade NAME; without names it is all")
    with open_client(options, console) as (client, shown):
        if options.check:
            return _check(client, options, console, shown)
        upgrade = tuple(options.names) or options.upgrade
        report = client.lock(manifest_of(options, console), upgrade=upgrade, pace=pace_of(options), progress=shown)
    return _report_lock(report, shown, console)


def _report_lock(report: LockReport, traffic: Traffic, console: Console) -> int:
    """Show what changed and what failed; return the exit code."""
    if console.json:
        console.json_line(as_json(report))
    elif not console.quiet and not report.failures:
        rows = [row_of(module) for module in report.modules if module.change != "unchanged"]
        show_rows(rows, console)
        if not rows:
            console.data(_no_changes(report))
        summarise(counts_of(report), traffic, console)
    return report_failures(report.failures, console)


def counts_of(report: LockReport) -> list[tuple[int, str]]:
    """Return how many entries of the lock changed in which way, for a summary."""
    done = Counter(module.change.value for module in report.modules)
    return [(done[word], word) for word in ("new", "changed", "removed", "unchanged")]


def row_of(module: LockedReport) -> Row:
    """Return the row of an entry of the lock that changed."""
    from getmodules.project.labels import short_id

    where = module.package.partition("?")[0] + (f"//{module.subdir}" if module.subdir else "")
    moved = module.previous_id not in (None, module.id) and module.previous_version == module.version
    return Row(
        name=module.name,
        version=module.version,
        previous_version=module.previous_version,
        word=module.change,
        # Without another version it is the digits that say what has changed.
        last=f"{short_id(module.previous_id or '')} -> {short_id(module.id)}" if moved else where,
        details=(module.package, module.h1),
    )


def as_json(report: LockReport) -> dict[str, object]:
    """Return the JSON of ``lock``, and of commands that change the lock as well."""
    modules = [
        {
            "name": module.name,
            "change": module.change,
            "package": module.package,
            "subdir": module.subdir,
            "dest": module.dest,
            "h1": module.h1,
            "t1": module.t1,
            "selected": module.selected,
            **versions_as_json(module),
        }
        for module in report.modules
    ]
    return {"modules": modules, "written": report.written, "errors": failures_as_json(report.failures)}


def _no_changes(report: LockReport) -> str:
    if not report.modules:
        empty = "; getmodules.lock says so, and install --locked and --frozen take it" if report.written else ""
        return f"nothing to lock: the manifest has no modules{empty}"
    if report.written:
        return "no module has changed; getmodules.lock was brought into its usual form"
    return "nothing to change: the lock is up to date"


def _suggest_next_step(report: CheckReport, console: Console) -> None:
    if report.stale:
        console.message("getmodules lock brings the lock up to date")
    if report.moved:
        names = " ".join(each.name for each in report.moved)
        console.message(f"getmodules lock --upgrade {names} locks what there is now")


def _check(client: Client, options: argparse.Namespace, console: Console, shown: Progress) -> int:
    report = client.check_lock(manifest_of(options, console), pace=pace_of(options), progress=shown)
    if console.json:
        moved = [
            {"name": each.name, "source": each.source, "locked": each.locked, "now": each.now} for each in report.moved
        ]
        console.json_line({"stale": list(report.stale), "moved": moved, "errors": failures_as_json(report.failures)})
    else:
        rows = [f"stale  {reason}" for reason in report.stale]
        rows += [f"moved  {each.name}: locked {each.locked}, now {each.now}" for each in report.moved]
        if rows:
            console.data("\n".join(map(harmless, rows)))
        elif not console.quiet and not report.failures:
            console.data("the lock is up to date")
    report_failures(report.failures, console)
    if not (console.quiet or console.json):
        _suggest_next_step(report, console)
    errors = [failure.error for failure in report.failures]
    if report.stale or report.moved:
        errors.append(LockStaleError("the lock is not up to date"))
    return exit_code(errors)
