"""Several sources, one after the other: each has its line or its error, and the gravest error decides."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator

from getmodules.cli.options import Parser
from getmodules.cli.render import Console
from getmodules.errors import GetModulesError, exit_code
from getmodules.redact import redact

STANDARD_INPUT = "-"


def add_sources(parser: Parser) -> None:
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+", help="an address; - reads addresses from stdin, one a line"
    )


def for_each(options: argparse.Namespace, console: Console, show: Callable[[str], None]) -> int:
    """``show`` prints what a source comes to; the exit code of all of them."""
    errors = []
    for source in _sources(options.sources, console):
        try:
            show(source)
        except GetModulesError as error:
            if error is a_failure_of_output(error):
                raise
            errors.append(error)
            console.error(error, redact(source))
    return exit_code(errors)


def _sources(words: Iterable[str], console: Console) -> Iterator[str]:
    for word in words:
        if word == STANDARD_INPUT:
            yield from console.lines_of_stdin()
        else:
            yield word
