"""Commands over several sources: each has a result or an error, and the gravest error decides the exit code."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from getmodules.cli import interrupt
from getmodules.cli.options import Parser
from getmodules.cli.render import Console
from getmodules.errors import GetModulesError, exit_code
from getmodules.util.redact import redact_address

STANDARD_INPUT = "-"


def add_sources(parser: Parser) -> None:
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+", help="an address; - reads addresses from stdin, one a line"
    )


class SourceResult(NamedTuple):
    """The result for one source, as text and as fields of JSON."""

    text: str
    fields: Mapping[str, object]


def for_each(options: argparse.Namespace, console: Console, ask: Callable[[str], SourceResult]) -> int:
    """Print the result of ``ask`` for each source; return the exit code of all of them."""
    errors = []
    for source in _sources(options.sources, console):
        interrupt.check()
        try:
            answer = ask(source)
        except GetModulesError as error:
            errors.append(error)
            console.error(error)
            if console.json:
                console.json_line({"source": redact_address(source), "error": error.as_json()})
        else:
            console.result(answer.text, answer.fields)
    return exit_code(errors)


def _sources(words: Iterable[str], console: Console) -> Iterator[str]:
    for word in words:
        if word == STANDARD_INPUT:
            yield from console.lines_of_stdin()
        else:
            yield word
