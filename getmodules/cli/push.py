"""``getmodules push``: publishes a directory as a module package."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli.options import Parser, add_progress, add_work, base_of, client_of
from getmodules.cli.render import Console, harmless
from getmodules.errors import ConfigError

if TYPE_CHECKING:
    from getmodules.getters.oci.results import Pushed

_EPILOG = """\
In a git work tree only what git tracks is published, as it is in the work tree.
Elsewhere it is everything but .terraform/, *.tfstate*, .env* and files that
begin with a private key. .getmodulesignore takes away from that, and !PATTERN
in it says that a file is meant. What is printed is the pinned address, which
brings exactly this package; with --dry-run or -v stderr lists the files.

with --json: {"address", "pinned", "id", "digests", "annotations", "files",
"size", "sent", "dry_run", "contents"}, where sent is the number of bytes that
were uploaded and contents are the paths of the files

examples:
  getmodules push modules/vpc "oci://ghcr.io/acme/vpc?tag=1.2.0"
  getmodules push . "oci-layout::./registry?tag=1.0.0" --dry-run
  getmodules push . "oci://ghcr.io/acme/vpc?tag=1.2.0" --json \\
      --annotation org.opencontainers.image.title=VPC
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules push DIR ADDRESS [OPTION...]",
        description="Publish a directory in a registry, or in an OCI layout on disk.",
        epilog=_EPILOG,
    )
    made.add_argument("directory", metavar="DIR", help="the directory to publish")
    made.add_argument("address", metavar="ADDRESS", help="where to, with ?tag=VERSION")
    made.add_argument(
        "--annotation",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="say this about the package; it beats what is found out from git and the tag; repeatable",
    )
    made.add_argument("--dry-run", action="store_true", help="say what would be published; write nothing")
    made.add_argument("--force", action="store_true", help="move the tag where it has another content already")
    add_progress(made)
    add_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli import progress

    if not options.directory:
        raise ConfigError("DIR is empty", hint="is a variable not set?")
    annotations = _annotations(options.annotation)
    client, base = client_of(options, console), base_of(options)
    with progress.open_progress(options.progress, client, console) as shown:
        pushed = client.push(
            options.directory,
            options.address,
            base=base,
            annotations=annotations,
            dry_run=options.dry_run,
            force=options.force,
            progress=shown,
        )
    if (pushed.dry_run or console.verbose) and not (console.quiet or console.json):
        console.message(_listing(pushed))
    if pushed.dry_run and not console.quiet:
        console.labelled("note", "a dry run: nothing was published")
    console.result(harmless(pushed.pinned), _as_json(pushed))
    return 0


def _annotations(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ConfigError("an --annotation has no value", hint="write --annotation KEY=VALUE")
        if key in found:
            raise ConfigError(f"the annotation {harmless(key)!r} is given twice")
        found[key] = value
    return found


def _listing(pushed: Pushed) -> str:
    count = "1 file" if pushed.files == 1 else f"{pushed.files:,} files"
    lines = (f"  {harmless(path)}" for path in pushed.contents)
    return "\n".join((f"in the package: {count}, {pushed.size:,} bytes as a zip", *lines))


def _as_json(pushed: Pushed) -> dict[str, object]:
    return {
        "address": pushed.address,
        "pinned": pushed.pinned,
        "id": pushed.id,
        "digests": dict(pushed.digests),
        "annotations": dict(pushed.annotations),
        "files": pushed.files,
        "size": pushed.size,
        "sent": pushed.sent,
        "dry_run": pushed.dry_run,
        "contents": list(pushed.contents),
    }
