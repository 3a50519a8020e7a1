"""``getmodules logout``: forgets a login."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli.options import Parser, add_output, add_plugins, local_contexts_of
from getmodules.cli.render import Console, harmless

if TYPE_CHECKING:
    from getmodules.getters.oci.login import LoggedOut

_EPILOG = """\
Removes what login stored, from the credential file and from its helper, in all
spellings of the host. That there was nothing is no error. Nobody is asked over
the network.

with --json: {"registry", "removed_from", "still_in"}; removed_from is a list,
still_in is another place that has a credential for the registry, or null

examples:
  getmodules logout ghcr.io
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules logout HOST [OPTION...]",
        description="Forget a login; for docker, podman and oras as well.",
        epilog=_EPILOG,
    )
    made.add_argument("host", metavar="HOST", help="the registry, as it was given to login")
    add_plugins(made)
    add_output(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.getters.oci.login import log_out, parse_registry

    registry, contexts = parse_registry(options.host), local_contexts_of(options, console)
    done = log_out(registry, console.environ, contexts)
    if done.still_in is not None and not console.quiet:
        console.labelled("note", f"{done.still_in} still has a credential for {done.registry}")
    if console.json:
        console.json_line(_as_json(done))
    elif not console.quiet:
        console.data(harmless(_as_text(done)))
    return 0


def _as_text(done: LoggedOut) -> str:
    if not done.removed_from:
        return f"there was no login for {done.registry}"
    return f"logged out of {done.registry}; removed from {' and '.join(done.removed_from)}"


def _as_json(done: LoggedOut) -> dict[str, object]:
    return {"registry": done.registry, "removed_from": list(done.removed_from), "still_in": done.still_in}
