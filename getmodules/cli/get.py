"""``getmodules get``: installs one module as a directory."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from getmodules.cli.options import (
    Parser,
    add_cache,
    add_headers,
    add_progress,
    add_registry,
    add_work,
    base_of,
    client_of,
)
from getmodules.cli.render import Console, harmless
from getmodules.errors import ConfigError

if TYPE_CHECKING:
    from getmodules.api.model import Installed

_EPILOG = """\
DEST must be absent, an empty directory, or exactly what SOURCE is: then it is
left alone. Whatever goes wrong, it stays as it was, and nothing else is left.

with --json: {"path", "source", "address", "pinned", "id", "h1", "t1",
"package_h1", "digests", "files", "bytes", "evidence", "action", "seconds"},
where evidence is a list of {"check", "subject", "value", "by"}, and action is
installed or unchanged; or {"error": {"code", "message", "hint", "address"}}

examples:
  getmodules get "oci://ghcr.io/acme/vpc//net?tag=1.2.0" modules/net
  getmodules get "acme/vpc/aws?version=~> 1.2" vpc --registry registry.example
  getmodules get ./vpc.zip modules/vpc --expect sha256:9f86d081...
  getmodules get ./vpc.zip modules/vpc --force --limit total_bytes=8GiB --json
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules get SOURCE DEST [OPTION...]",
        description="Install a module as a directory: verified, unpacked safely, published at once.",
        epilog=_EPILOG,
    )
    made.add_argument("source", metavar="SOURCE", help="the address of a module")
    made.add_argument("dest", metavar="DEST", help="the directory that it becomes")
    made.add_argument(
        "--expect",
        metavar="HASH",
        help="sha256:... of the archive's bytes, h1:... or t1:... of the installed directory",
    )
    made.add_argument("--force", action="store_true", help="replace the directory DEST, whatever is in it")
    add_progress(made)
    add_cache(made)
    add_registry(made)
    add_headers(made)
    add_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli import progress

    if not options.dest:
        raise ConfigError("DEST is empty", hint="is a variable not set?")
    client, base = client_of(options, console), base_of(options)
    began = time.monotonic()
    with progress.open_progress(options.progress, client, console) as shown:
        installed = client.get(
            options.source, options.dest, base=base, expect=options.expect, force=options.force, progress=shown
        )
    seconds = time.monotonic() - began
    if console.json:
        console.json_line(_as_json(options.dest, installed, seconds))
    elif not console.quiet:
        console.data(_as_text(options.dest, installed))
    return 0


def _as_json(dest: str, installed: Installed, seconds: float) -> dict[str, object]:
    return {
        "path": dest,
        "source": installed.source,
        "address": installed.address,
        "pinned": installed.pinned,
        "id": installed.id,
        "h1": installed.h1,
        "t1": installed.t1,
        "package_h1": installed.package_h1,
        "digests": dict(installed.digests),
        "files": installed.files,
        "bytes": installed.bytes,
        "evidence": [
            {"check": each.check, "subject": each.subject, "value": each.value, "by": each.by}
            for each in installed.evidence
        ],
        "action": installed.action,
        "seconds": round(seconds, 3),
    }


def _as_text(dest: str, installed: Installed) -> str:
    pinned = installed.pinned or "nothing pins a directory; --expect with its t1 verifies it"
    rows = [
        (installed.action, dest),
        ("pinned", pinned),
        ("h1", installed.h1),
        ("t1", installed.t1),
        ("content", f"{_counted(installed.files, 'file')}, {_counted(installed.bytes, 'byte')}"),
    ]
    rows += [("verified", f"{evidence.check} {evidence.value}, by {evidence.by}") for evidence in installed.evidence]
    return "\n".join(f"{label:9}  {harmless(text)}" for label, text in rows)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
