"""What commands have in common: a parser that speaks the way our errors do, and options that several take."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from getmodules.cli.render import Console, terminal_width
from getmodules.errors import ConfigError
from getmodules.redact import redact

if TYPE_CHECKING:
    from getmodules.client import Client

PROGRAM = "getmodules"
_WIDEST = 100


class Parser(argparse.ArgumentParser):
    """argparse, with its mistakes as :class:`ConfigError` and its help on the console."""

    def __init__(self, *, usage: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=PROGRAM,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=_formatter,
            allow_abbrev=False,
        )
        self._usage = usage

    def parse(self, argv: Sequence[str], console: Console) -> argparse.Namespace:
        """Options may stand anywhere among the arguments."""
        self._console = console
        options, extras = self.parse_known_intermixed_args(argv)
        if extras:
            self._refuse(extras[0])
        return options

    def error(self, message: str) -> NoReturn:
        raise ConfigError(redact(message), hint=self._how())

    def print_help(self, file: object = None) -> None:
        self._console.data(self.format_help().rstrip())

    def _refuse(self, extra: str) -> NoReturn:
        name = extra.partition("=")[0]
        if not extra.startswith("-"):
            raise ConfigError(f"one argument too many: {redact(extra)!r}", hint=self._how())
        near = nearest(name, self._option_string_actions)
        raise ConfigError(
            f"there is no option {redact(name)!r} here", hint=f"did you mean {near}?" if near else self._how()
        )

    def _how(self) -> str:
        return f"usage: {self._usage}; with --help it says more"


def _formatter(prog: str) -> argparse.HelpFormatter:
    # With a width of its own the formatter need not import shutil, which costs as much as argparse itself.
    width = min(terminal_width(), _WIDEST) - 2
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=width)


def nearest(name: str, known: Iterable[str]) -> str | None:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return near[0] if near else None


# ----------------------------------------------------------------------------------------- options that are shared


def add_output(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="write JSON, one object a line; errors as well")


def add_verbose(parser: Parser) -> None:
    parser.add_argument("-v", "--verbose", action="store_true", help="tell on stderr what is going on in detail")


def add_quiet_and_verbose(parser: Parser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="nothing for people but errors; JSON stays")
    group.add_argument("-v", "--verbose", action="store_true", help="tell on stderr what is going on in detail")


def add_base(parser: Parser) -> None:
    parser.add_argument(
        "--base", metavar="DIR", help="where relative sources start (default: the current directory)"
    )


def add_plugins(parser: Parser) -> None:
    parser.add_argument(
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


# ------------------------------------------------------------------------------------------------ what they mean


def base_of(options: argparse.Namespace) -> str | None:
    """Absolute. ``None`` where there is no current directory any more: absolute sources work there, too."""
    if options.base == "":
        raise ConfigError("--base is empty", hint="is a variable not set?")
    try:
        return os.path.abspath(options.base or os.curdir)
    except FileNotFoundError:
        return None


def client_of(options: argparse.Namespace, console: Console) -> Client:
    from getmodules.client import Client
    from getmodules.config import limits_from

    limits = limits_from(console.environ)
    for assignment in getattr(options, "limit", ()):
        limits = limits.with_assignment(assignment)
    return Client(limits=limits, without_plugins=options.no_plugin, environ=console.environ)
