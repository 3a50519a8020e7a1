"""``getmodules detect``: shows the canonical form of addresses; offline."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli.options import Parser, add_base, add_output, add_plugins, add_registry, base_of, client_of
from getmodules.cli.render import Console, harmless
from getmodules.cli.sources import SourceResult, add_sources, for_each
from getmodules.util.redact import MASK, is_secret_argument, redact_address

if TYPE_CHECKING:
    from getmodules.addresses.types import Arguments
    from getmodules.pipeline.detect import Detected

_EPILOG = """\
Each source is answered with its canonical address on a line of its own.
Passwords and keys are shown as ****.

with --json: {"source", "address", "getter", "url", "subdir", "arguments"}, with
--explain also "steps"; or {"source", "error"}

examples:
  getmodules detect "github.com/acme/vpc//net?ref=v1"
  getmodules detect "acme/vpc/aws?version=~> 1.2" --registry registry.example
  getmodules detect ./modules/vpc --base /srv/infrastructure
  getmodules detect --json - < addresses.txt
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules detect SOURCE... [OPTION...]",
        description="Show what addresses mean, as canonical addresses. Offline: nobody is asked.",
        epilog=_EPILOG,
    )
    add_sources(made)
    add_base(made)
    made.add_argument("--explain", action="store_true", help="show each step of the detectors as well")
    add_registry(made)
    add_plugins(made)
    add_output(made, quiet=False)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    client, base = client_of(options, console), base_of(options)

    def ask(source: str) -> SourceResult:
        detected = client.explain(source, base=base)
        return SourceResult(
            _as_text(detected, explain=options.explain), _as_json(source, detected, explain=options.explain)
        )

    return for_each(options, console, ask)


def _as_text(detected: Detected, *, explain: bool) -> str:
    lines = [harmless(detected.address.display())]
    if explain:
        lines += (f"  {step.detector}: {harmless(redact_address(step.address))}" for step in detected.steps)
    return "\n".join(lines)


def _as_json(source: str, detected: Detected, *, explain: bool) -> dict[str, object]:
    package = detected.address.package
    shown: dict[str, object] = {
        "source": redact_address(source),
        "address": detected.address.display(),
        "getter": package.getter,
        "url": redact_address(package.url),
        "subdir": detected.address.subdir,
        "arguments": _arguments(package.arguments),
    }
    if explain:
        shown["steps"] = [
            {"detector": step.detector, "address": redact_address(step.address)} for step in detected.steps
        ]
    return shown


def _arguments(arguments: Arguments) -> dict[str, str]:
    """Return the arguments without their secrets, which may also be in an address (``checksum=file:…``)."""
    return {
        name: MASK if value and is_secret_argument(name) else redact_address(value) for name, value in arguments.items()
    }
