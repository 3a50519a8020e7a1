"""``getmodules resolve``: shows the pinned addresses that addresses mean today."""

from __future__ import annotations

import argparse

from getmodules.cli.options import Parser, add_cache, add_headers, add_registry, add_work, base_of, client_of
from getmodules.cli.render import Console, harmless
from getmodules.cli.sources import SourceResult, add_sources, for_each

_EPILOG = """\
Each source is answered with its pinned address on a line of its own, which
brings exactly what is there today. Where only fetching would tell, that is an
error (code fetch/no-identity); the other sources go on.

with --json: {"source", "pinned", "id"}, or {"source", "error"}

examples:
  getmodules resolve "oci://ghcr.io/acme/vpc?tag=1.2.0"
  getmodules resolve "tfr://registry.example/acme/vpc/aws?version=~> 1.2"
  getmodules resolve --json "oci://ghcr.io/acme/vpc?tag=1.2.0" -
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules resolve SOURCE... [OPTION...]",
        description="Show what addresses mean today, as pinned addresses. Nothing is fetched for it.",
        epilog=_EPILOG,
    )
    add_sources(made)
    add_cache(made)
    add_registry(made)
    add_headers(made)
    add_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli.progress import notices

    client, base = client_of(options, console), base_of(options)
    progress = notices(console)

    def ask(source: str) -> SourceResult:
        resolved = client.resolve(source, base=base, progress=progress)
        fields = {"source": resolved.source, "pinned": resolved.pinned, "id": resolved.id}
        return SourceResult(harmless(resolved.pinned), fields)

    return for_each(options, console, ask)
