"""``getmodules remove``: removes a module from a project."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli.options import Completes, Parser, client_of
from getmodules.cli.project import add_project, directory_as_json, manifest_of, prefix_of
from getmodules.cli.render import Console, harmless

if TYPE_CHECKING:
    from getmodules.project.reports import FormerDirectory

_EPILOG = """\
[modules.NAME] is taken out of getmodules.toml, and the module out of
getmodules.lock. Everything else in the file stays as it is, comments as well.
Its directory is removed if it is as it was installed (getmodules verify says
ok). If it was edited, or is a link, it stays, and is named; that is no error.

with --json: {"removed": NAME, "directory": {"dest", "state", "reason"}}, where
state is removed, kept or missing, and reason says why it was kept.

examples:
  getmodules remove vpc
  getmodules remove vpc --keep
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules remove NAME [OPTION...]",
        description="Take a module out of getmodules.toml and getmodules.lock.",
        epilog=_EPILOG,
    )
    made.add_argument("name", metavar="NAME", help="the module")
    made.completions["name"] = Completes.MODULES
    made.add_argument("--keep", action="store_true", help="leave the directory, whatever is in it")
    add_project(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli.progress import notices

    client = client_of(options, console)
    manifest = manifest_of(options, console)
    report = client.remove(options.name, manifest, keep=options.keep, progress=notices(console))
    if console.json:
        console.json_line({"removed": report.name, "directory": directory_as_json(report.directory)})
    elif not console.quiet:
        console.data(f"removed {report.name}{_of_directory(report.directory, manifest)}")
    return 0


def _of_directory(directory: FormerDirectory, manifest: str) -> str:
    place = f"{prefix_of(manifest)}{directory.dest}"
    if directory.state == "kept":
        return f"; {place} stays{'' if directory.reason is None else f': {harmless(directory.reason)}'}"
    return f" and {place}" if directory.state == "removed" else ""
