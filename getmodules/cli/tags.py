"""``getmodules tags``: lists the tags of a repository."""

from __future__ import annotations

import argparse

from getmodules.cli.options import Parser, add_work, base_of, client_of
from getmodules.cli.render import Console, harmless

_EPILOG = """\
Each tag has a line of its own, in the repository's order. Those that hold
signatures and the like are left out.

with --json: {"tags": [...]}

examples:
  getmodules tags oci://ghcr.io/acme/vpc
  getmodules tags oci-layout::./registry --json
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules tags ADDRESS [OPTION...]",
        description="List the tags of a repository in a registry, or of an OCI layout on disk.",
        epilog=_EPILOG,
    )
    made.add_argument("address", metavar="ADDRESS", help="the repository, without tag= and digest=")
    add_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli.progress import notices

    client, base = client_of(options, console), base_of(options)
    tags = client.tags(options.address, base=base, progress=notices(console))
    if tags or console.json:
        console.result("\n".join(map(harmless, tags)), {"tags": list(tags)})
    elif not console.quiet:
        console.labelled("note", "the repository has no tags")
    return 0
