"""``getmodules add``: adds a module to a project."""

from __future__ import annotations

import argparse

from getmodules.cli import lock
from getmodules.cli.options import Parser
from getmodules.cli.project import ERRORS_HELP, add_project_work, manifest_of, open_client, pace_of
from getmodules.cli.render import Console

_EPILOG = f"""\
The module is looked up, fetched and locked; then [modules.NAME] is put at the
end of getmodules.toml, which is made where there is none. Everything else in
the file stays as it is. Where something fails, both files stay as they were.
What was added is installed by getmodules install.

with --json: as for getmodules lock: {{"modules", "written", "errors"}}.
{ERRORS_HELP}

examples:
  getmodules add vpc "oci://ghcr.io/acme/vpc//net?tag=1.2.0"
  getmodules add vpc oci://ghcr.io/acme/vpc --version "~> 1.2"
  getmodules add net ./modules-src/net --dest vendor/net
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules add NAME SOURCE [OPTION...]",
        description="Add a module to getmodules.toml and getmodules.lock.",
        epilog=_EPILOG,
    )
    made.add_argument("name", metavar="NAME", help="what it is called in this project")
    made.add_argument("source", metavar="SOURCE", help="its address; relative ones start beside the manifest")
    made.add_argument("--version", metavar="CONSTRAINT", help='which versions will do, as in "~> 1.2"')
    made.add_argument("--dest", metavar="DIR", help="where it goes, below the manifest (default: modules/NAME)")
    made.add_argument("--expect", metavar="HASH", help="sha256:... of the archive, h1:... or t1:... of the directory")
    add_project_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    with open_client(options, console) as (client, shown):
        report = client.add(
            options.name,
            options.source,
            manifest_of(options),
            version=options.version,
            dest=options.dest,
            expect=options.expect,
            pace=pace_of(options),
            progress=shown,
        )
    return lock.report_lock(report, shown, console)
