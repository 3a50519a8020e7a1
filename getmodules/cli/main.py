"""The command line: the table of commands, and one call from parsing to its exit code.

Imports are late: a command's module is imported when it was chosen, and its dependencies when its arguments were
parsed. ``getmodules --help`` costs hardly more than Python itself.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType, ModuleType

from getmodules.cli import ending, interrupt
from getmodules.cli.options import PROGRAM, Parser, nearest
from getmodules.cli.render import Console
from getmodules.errors import ConfigError

#: Each is the module ``getmodules.cli.<name>``, with ``parser()`` and ``run(options, console)``.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "get": "install a module as a directory, verified",
        "add": "add a module to the project",
        "remove": "take a module out of the project",
        "lock": "write down what each module of the project is",
        "install": "install the modules of the project, as locked",
        "verify": "compare installed modules with the lock",
        "outdated": "show newer versions, and addresses that moved",
        "tree": "show which modules come from which packages",
        "detect": "show what addresses mean; offline",
        "resolve": "show what addresses mean today, pinned",
        "hash": "show the hash of a directory, a zip or a file",
        "push": "publish a directory in a registry or an OCI layout",
        "tags": "list the tags of a repository",
        "inspect": "show a manifest, its layers and what refers to it",
        "login": "check a login at its registry and keep it",
        "logout": "forget a login",
        "auth": "show which credential is used, and whether it works",
        "cache": "show, check, shrink or empty what is kept between runs",
        "plugins": "list the plugins and what they contribute",
        "completion": "print what makes bash, zsh or fish complete words",
        "help": "show the help of a command",
    }
)

#: Commands of other tools, and which of ours does the same.
_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "init": "getmodules add NAME SOURCE begins a project",
        "update": "getmodules lock --upgrade [NAME...]",
        "upgrade": "getmodules lock --upgrade [NAME...]",
        "list": "getmodules tree",
        "sync": "getmodules install",
    }
)

_EXAMPLES = """\
examples:
  getmodules get "oci://ghcr.io/acme/vpc//net?tag=1.2.0" modules/net
  getmodules get ./vpc.zip modules/vpc --expect sha256:9f86d081...
  getmodules detect --json "oci://ghcr.io/acme/vpc?tag=1.2.0"

exit codes:
    0  done
    1  the source, the destination or a plugin failed
    2  an address, an option or a setting is wrong
    3  what arrived must not be installed: unsafe, broken, or not what was demanded
    4  authentication is needed, or was refused
    5  the lock is stale
    6  not available offline
  130  interrupted; 143 by SIGTERM, 129 by SIGHUP
  141  whoever read the output went away

"getmodules COMMAND --help" says more about a command.
"""


def entry() -> int:
    """The console script."""
    # Most objects of a short run belong to modules, which stay: looking for cycles among them every 700 objects takes
    # a tenth of the time. Cycles of a long run are still found.
    gc.set_threshold(50_000, 20, 20)
    try:
        with interrupt.signals_as_exceptions():
            console = Console.of_process()
            # Prints of plugins are messages: only our data go to standard output.
            sys.stdout = sys.stderr
            return main(sys.argv[1:], console)
    except interrupt.Interrupted as late:  # the signal came after the end of the command
        return late.exit_code
    finally:
        # Skips the search for cycles at the end of the process, which takes a tenth of a short run.
        gc.freeze()


def main(argv: Sequence[str], console: Console) -> int:
    """Run one command; return the exit code."""
    console.json = _wants_json(argv)
    try:
        return _run(argv, console)
    except BaseException as error:  # noqa: BLE001 - every error is reported and becomes an exit code
        return ending.report_ending(error, console)


def _wants_json(argv: Sequence[str]) -> bool:
    """Return whether --json is given; found before parsing, because usage errors are JSON then, too."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options


def _run(argv: Sequence[str], console: Console) -> int:
    leading = next((i for i, word in enumerate(argv) if not word.startswith("-")), len(argv))
    top = top_parser()
    options = top.parse(argv[:leading], console)
    if options.version:
        from getmodules.version import VERSION

        console.data(f"{PROGRAM} {VERSION}")
        return 0
    if leading == len(argv):
        # An error, so that a script with an empty variable does not go on as if all were well.
        console.message(top.help_text(console, full=False))
        return ConfigError.exit_code
    name = argv[leading]
    command, parser = find_command(name)
    chosen = parser.parse(argv[leading + 1 :], console)
    from getmodules.cli import logs

    console.quiet, console.verbose = getattr(chosen, "quiet", False), getattr(chosen, "verbose", False)
    with logs.show_logs(console):
        code: int = command.run(chosen, console)
    return code


def find_command(name: str) -> tuple[ModuleType, Parser]:
    """Return the module of a command, and its parser."""
    if name not in COMMANDS:
        raise _unknown_command(name)
    command = importlib.import_module(f"getmodules.cli.{name}")
    return command, command.parser()


def top_parser() -> Parser:
    """Return the parser of what stands before the command."""
    width = max(map(len, COMMANDS))
    table = "\n".join(f"  {name:{width}}  {line}" for name, line in COMMANDS.items())
    parser = Parser(
        usage=f"{PROGRAM} COMMAND [OPTION...]",
        description="Turn any module address into a directory you can trust: an archive, a directory,\n"
        f"a repository, a registry, or whatever a plugin adds.\n\ncommands:\n{table}",
        epilog=_EXAMPLES,
    )
    parser.output.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    return parser


def _unknown_command(name: str) -> ConfigError:
    from getmodules.util.redact import redact

    near = nearest(name, COMMANDS)
    hint = f"did you mean {near}?" if near else f"the commands are: {', '.join(COMMANDS)}"
    hint = _ELSEWHERE.get(name, hint)
    return ConfigError(f"there is no command {redact(name)!r}", hint=hint)
