"""``getmodules remove``: removes a module from a project."""

from __future__ import annotations

import argparse

from getmodules.cli.options import Completes, Parser, client_of
from getmodules.cli.project import add_project, manifest_of
from getmodules.cli.render import Console

_EPILOG = """\
[modules.NAME] is taken out of getmodules.toml, and the module out of
getmodules.lock. Everything else in the file stays as it is, comments as well.
What was installed stays, too: remove the directory yourself.

with --json: {"removed": NAME}

examples:
  getmodules remove vpc
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules remove NAME [OPTION...]",
        description="Take a module out of getmodules.toml and getmodules.lock.",
        epilog=_EPILOG,
    )
    made.add_argument("name", metavar="NAME", help="the module")
    made.completions["name"] = Completes.MODULES
    add_project(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli.progress import notices

    client = client_of(options, console)
    client.remove(options.name, manifest_of(options), progress=notices(console))
    if console.json:
        console.json_line({"removed": options.name})
    elif not console.quiet:
        console.data(f"removed {options.name}; what was installed of it stays")
    return 0
