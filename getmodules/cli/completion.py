"""``getmodules completion``: prints the script that makes a shell complete the words of a command line.

It is made from the parsers. The scripts start no program: the shell itself reads the names of modules from
``getmodules.toml``.
"""

from __future__ import annotations

import argparse

from getmodules.cli.options import Parser
from getmodules.cli.render import Console, harmless
from getmodules.errors import ConfigError

_SHELLS = ("bash", "zsh", "fish")
_EPILOG = """\
The script completes commands, options, fixed values, files, and the names of
the modules of the project. It needs nothing but the shell.

  bash   in ~/.bashrc: source <(getmodules completion bash)
         or as a file: ~/.local/share/bash-completion/completions/getmodules
  zsh    in ~/.zshrc, behind compinit: source <(getmodules completion zsh)
         or as a file: DIR/_getmodules, with DIR in fpath
  fish   as a file: ~/.config/fish/completions/getmodules.fish

examples:
  getmodules completion bash
  getmodules completion fish > ~/.config/fish/completions/getmodules.fish
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules completion bash|zsh|fish",
        description="Print what makes a shell complete the words of a command line.",
        epilog=_EPILOG,
    )
    made.add_argument("shell", metavar="SHELL", help="the shell that the script is for: bash, zsh or fish")
    made.completions["shell"] = _SHELLS
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli import shells
    from getmodules.cli.main import COMMANDS, find_command, top_parser

    if options.shell not in _SHELLS:
        raise ConfigError(
            f"there is no completion for {harmless(options.shell)!r}", hint=f"one of: {', '.join(_SHELLS)}"
        )
    commands = [shells.command_of(name, line, find_command(name)[1]) for name, line in COMMANDS.items()]
    script = {"bash": shells.bash, "zsh": shells.zsh, "fish": shells.fish}[options.shell]
    console.data(script(shells.command_of("", "", top_parser()), commands))
    return 0
