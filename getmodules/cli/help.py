"""``getmodules help``: shows the help, of a command or of all."""

from __future__ import annotations

import argparse

from getmodules.cli.options import Completes, Parser
from getmodules.cli.render import Console

_EPILOG = """\
examples:
  getmodules help
  getmodules help install
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules help [COMMAND]",
        description="Show the help of a command, or the commands. It is what COMMAND --help shows.",
        epilog=_EPILOG,
    )
    made.add_argument(
        "command",
        metavar="COMMAND",
        nargs="?",
        help="the command whose help is shown; without one, all commands are listed",
    )
    made.completions["command"] = Completes.COMMANDS
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli.main import find_command, top_parser

    shown = top_parser() if options.command is None else find_command(options.command)[1]
    console.data(shown.help_text(console, full=False))
    return 0
