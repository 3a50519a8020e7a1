"""The parser of all commands, whose errors are ours, and the options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from getmodules.cli.render import Console
from getmodules.errors import ConfigError

if TYPE_CHECKING:
    from getmodules.api.limits import Limits
    from getmodules.client import Client
    from getmodules.getters.oci.login import OpenContext
    from getmodules.net.settings import NetSettings

PROGRAM = "getmodules"
_WIDEST, _NARROWEST = 100, 40
#: A mark before the arguments behind ``--``; arguments of a process cannot contain it.
_LITERAL = "\0"


class Parser(argparse.ArgumentParser):
    """An argument parser that raises :class:`ConfigError` and prints its help on the console."""

    def __init__(self, *, usage: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=PROGRAM,
            usage=usage,
            description=description,
            epilog=epilog,
            # Set here already, because argparse makes a formatter for each argument that is added.
            formatter_class=partial(_formatter, _NARROWEST),
            allow_abbrev=False,
            add_help=False,
        )
        self._usage = usage
        # What a command adds itself, arguments and options, says what is done; the rest has groups of its own.
        self._positionals.title = "what"
        self._optionals = self._positionals
        self.where = self.add_argument_group("where from")
        self.network = self.add_argument_group("network")
        self.output = self.add_argument_group("output")
        self.output.add_argument("-h", "--help", action=_ShowHelp, const=False, help="show this help and exit")
        self.output.add_argument(
            "--help-all", action=_ShowHelp, const=True, help="the same, with the network's options"
        )
        #: By destination, the words that are completed for an argument; of others its metavar tells what it is.
        self.completions: dict[str, Completes | tuple[str, ...]] = {}
        # From 3.14 on argparse paints its help whenever stdout is a terminal, wherever the help goes.
        self.color = False

    def parse(self, argv: Sequence[str], console: Console) -> argparse.Namespace:
        """Parse the arguments; options may stand anywhere among them, until ``--``."""
        self._console = console
        options, extras = self.parse_known_intermixed_args(_literal_after_dashes(argv))
        if extras:
            self._refuse(extras[0])
        for name, value in vars(options).items():
            setattr(options, name, _without_mark(value))
        return options

    def error(self, message: str) -> NoReturn:
        from getmodules.util.redact import redact

        raise ConfigError(redact(message), hint=self._usage_hint())

    def help_text(self, console: Console, *, full: bool) -> str:
        """Return the help, as wide as the terminal; if not ``full``, the network's options are only named."""
        width = max(min(console.width, _WIDEST), _NARROWEST)
        formatter = _formatter(width, PROGRAM)
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in self._action_groups:
            formatter.start_section(group.title)
            if group is self.network and group._group_actions and not full:
                formatter.add_text(_names_of(group, width))
            else:
                formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help().rstrip()

    def show_help(self, *, full: bool) -> None:
        self._console.data(self.help_text(self._console, full=full))

    def _refuse(self, extra: str) -> NoReturn:
        from getmodules.util.redact import redact

        name = extra.partition("=")[0]
        if not extra.startswith("-"):
            raise ConfigError(f"one argument too many: {redact(extra.lstrip(_LITERAL))!r}", hint=self._usage_hint())
        near = nearest(name, self._option_string_actions)
        raise ConfigError(
            f"there is no option {redact(name)!r} here", hint=f"did you mean {near}?" if near else self._usage_hint()
        )

    def _usage_hint(self) -> str:
        return f"usage: {self._usage}; with --help it says more"


class Completes(StrEnum):
    """The words that a shell completes for an argument."""

    COMMANDS = "commands"
    MODULES = "modules"
    FILES = "files"
    DIRECTORIES = "directories"


class _ShowHelp(argparse.Action):
    """Shows the help and exits; ``const`` is true for the full one."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, default=argparse.SUPPRESS, nargs=0, **more)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        assert isinstance(parser, Parser)
        parser.show_help(full=self.const)
        parser.exit()


def _names_of(group: argparse._ArgumentGroup, width: int) -> str:
    """Return the names of the options of a group."""
    import textwrap

    names = ", ".join(action.option_strings[-1] for action in group._group_actions)
    return textwrap.fill(f"{names}; --help-all says more", width - 4, break_on_hyphens=False)


def _literal_after_dashes(argv: Sequence[str]) -> list[str]:
    """Replace ``--`` by a mark on each argument behind it: argparse forgets it with intermixed arguments."""
    words = list(argv)
    if "--" in words:
        dashes = words.index("--")
        words[dashes:] = [f"{_LITERAL}{word}" for word in words[dashes + 1 :]]
    return words


def _without_mark(value: object) -> object:
    if isinstance(value, list):
        return [_without_mark(each) for each in value]
    return value.removeprefix(_LITERAL) if isinstance(value, str) else value


def _formatter(width: int, prog: str) -> argparse.HelpFormatter:
    # Without a width the formatter imports shutil to find one, which costs as much as argparse itself.
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=width)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, or None."""
    import difflib

    # Without the dashes, which would make any two options alike.
    words = {each.lstrip("-"): each for each in known}
    near = difflib.get_close_matches(name.lstrip("-"), list(words), n=1)
    return words[near[0]] if near else None


# ----------------------------------------------------------------------------------------- options that are shared


def add_output(parser: Parser, *, quiet: bool = True) -> None:
    """Add --json, --quiet and --verbose; commands that only show something do without ``quiet``."""
    parser.output.add_argument("--json", action="store_true", help="write JSON, one object a line; errors as well")
    group = parser.output.add_mutually_exclusive_group()
    if quiet:
        group.add_argument("-q", "--quiet", action="store_true", help="nothing for people but errors; JSON stays")
    group.add_argument("-v", "--verbose", action="store_true", help="tell on stderr what is going on in detail")


def add_base(parser: Parser) -> None:
    parser.where.add_argument(
        "--base", metavar="DIR", help="where relative sources start (default: the current directory)"
    )


def add_registry(parser: Parser) -> None:
    parser.where.add_argument(
        "--registry",
        metavar="HOST",
        help="the registry in which NAMESPACE/NAME/SYSTEM is a module (default: GETMODULES_REGISTRY, else none)",
    )


def add_plugins(parser: Parser) -> None:
    parser.where.add_argument(
        "--no-plugin",
        metavar="NAME",
        action="append",
        default=[],
        help="do without this plugin, or without those of this distribution; repeatable",
    )


def add_limit(parser: Parser) -> None:
    parser.add_argument(
        "--limit",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help="move a limit, as in total_bytes=4GiB; repeatable. Fields: total_bytes, file_bytes, entries, ratio, "
        "path_bytes, depth, download_bytes, seconds",
    )


def add_progress(parser: Parser) -> None:
    parser.completions["progress"] = ("auto", "plain", "none")
    parser.output.add_argument(
        "--progress",
        metavar="HOW",
        default="auto",
        help="auto (lines on a terminal, else nothing), plain (a line when a module is there), none, or a plugin's",
    )


def add_network(parser: Parser) -> None:
    """Add the options that :mod:`getmodules.cli.network_options` reads."""
    parser.network.add_argument(
        "--ca-file",
        metavar="[HOST=]FILE",
        action="append",
        default=[],
        help="trust these certificate authorities (PEM), for all hosts or for one; repeatable",
    )
    parser.network.add_argument(
        "--client-cert",
        metavar="HOST=FILE[,KEY]",
        action="append",
        default=[],
        help="show this certificate to a host, its key in the same file or in KEY; repeatable",
    )
    parser.network.add_argument(
        "--plain-http",
        metavar="HOST",
        action="append",
        default=[],
        help="speak to this registry without TLS: anybody on the way can read along; repeatable",
    )
    parser.network.add_argument(
        "--mirror",
        metavar="URL=URL",
        action="append",
        default=[],
        help="ask the second where an address begins with the first, as in oci://ghcr.io=oci://mirror.example/ghcr; "
        "repeatable",
    )
    parser.network.add_argument(
        "--timeout",
        metavar="SECONDS",
        help="how long a server may send nothing before the request counts as failed "
        "(default: GETMODULES_TIMEOUT, else 30)",
    )
    parser.network.add_argument(
        "--retries",
        metavar="N",
        help="how often a failed request is sent again; 0 is once only (default: GETMODULES_RETRIES, else 3)",
    )


def add_headers(parser: Parser) -> None:
    """Add --header, for commands that fetch: registries use logins instead."""
    parser.network.add_argument(
        "--header",
        metavar=("HOST", "NAME=env:VARIABLE"),
        nargs=2,
        action="append",
        default=[],
        help="send this header to a web server, and to no other, with the value of a variable; repeatable",
    )


def add_cache(parser: Parser) -> None:
    group = parser.where.add_mutually_exclusive_group()
    group.add_argument("--offline", action="store_true", help="connect to nobody: what is needed must be in the cache")
    group.add_argument("--no-cache", action="store_true", help="fetch everything again, and keep nothing")


# ------------------------------------------------------------------------------------------------ what they mean


def add_work(parser: Parser) -> None:
    """Add the options of commands that fetch or ask for the package at an address."""
    for add in (add_base, add_limit, add_network, add_plugins, add_output):
        add(parser)


def base_of(options: argparse.Namespace) -> str | None:
    """Return --base as an absolute path, or None if the current directory is gone: absolute sources still work."""
    if options.base == "":
        raise ConfigError("--base is empty", hint="is a variable not set?")
    return working_directory(options.base or os.curdir)


def working_directory(relative: str = os.curdir) -> str | None:
    """Return the current directory, or what is ``relative`` to it, as an absolute path; None if it is gone."""
    try:
        return os.path.abspath(relative)
    except FileNotFoundError:
        return None


def client_of(options: argparse.Namespace, console: Console) -> Client:
    """Return a client with the settings of the options and the environment."""
    from getmodules.cli.network_options import network_of

    return _client(options, console, network_of(options, console.environ))


def contexts_of(options: argparse.Namespace, console: Console) -> OpenContext:
    """Return what opens contexts for work on credentials."""
    from getmodules.cli.network_options import network_of
    from getmodules.cli.progress import notices
    from getmodules.client import contexts_for

    return contexts_for(_client(options, console, network_of(options, console.environ)), notices(console))


def local_contexts_of(options: argparse.Namespace, console: Console) -> OpenContext:
    """Return the same for work that contacts nobody, which needs no policy and no plugin that was named."""
    from getmodules.cli.network_options import network_of
    from getmodules.cli.progress import notices
    from getmodules.pipeline.operation import Operation

    operation = Operation(
        catalog=_client(options, console, network_of(options, console.environ)).catalog,
        limits=_limits_of(options, console),
        progress=notices(console),
        environ=console.environ,
    )
    return operation.open_context


def _client(options: argparse.Namespace, console: Console, network: NetSettings) -> Client:
    from getmodules.client import Client

    return Client(
        limits=_limits_of(options, console),
        without_plugins=options.no_plugin,
        network=network,
        registry=getattr(options, "registry", None),
        environ=console.environ,
        use_cache=not getattr(options, "no_cache", False),
        offline=getattr(options, "offline", False),
    )


def _limits_of(options: argparse.Namespace, console: Console) -> Limits:
    from getmodules.pipeline.settings import limits_from

    limits = limits_from(console.environ)
    for assignment in getattr(options, "limit", ()):
        limits = limits.with_assignment(assignment)
    return limits
