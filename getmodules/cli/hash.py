"""``getmodules hash``: shows the hashes of a local directory, zip or file."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path

from getmodules.cli.options import Parser, add_output
from getmodules.cli.render import Console

_EPILOG = """\
h1: is over names and contents, as Go and Terraform compute it: of a directory,
or of what is in a zip. zh: is the sha256 of a file's own bytes. A zip has both,
each on a line of its own.

with --json: {"path", "h1", "zh"}, with null for what does not apply

examples:
  getmodules hash modules/vpc
  getmodules hash --json terraform-provider-null_3.2.0_linux_amd64.zip
"""

#: The first bytes of a zip: of its first member, or of its end if it is empty.
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


def parser() -> Parser:
    made = Parser(
        usage="getmodules hash PATH [OPTION...]",
        description="Show the hash of a directory (h1), a zip (h1 and zh) or another file (zh).",
        epilog=_EPILOG,
    )
    made.add_argument("path", metavar="PATH", help="a directory or a file")
    add_output(made, quiet=False)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    h1, zh = _hashes(options.path)
    fields = {"path": options.path, "h1": h1, "zh": zh}
    console.result("\n".join(value for value in (h1, zh) if value is not None), fields)
    return 0


def _hashes(path: str) -> tuple[str | None, str | None]:
    from getmodules.archive.hashing import hash_file, hash_tree, hash_zip
    from getmodules.files.local import unreadable

    # The reader refuses links, as inside of packages; here the user has named one.
    real = Path(os.path.realpath(path))
    try:
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as error:
        raise unreadable(Path(path), error) from error
    if is_directory:
        return hash_tree(real), None
    return (hash_zip(real) if _is_zip(real) else None), hash_file(real)


def _is_zip(path: Path) -> bool:
    from getmodules.files.local import read_file

    return next(read_file(path), b"").startswith(_ZIP_STARTS)
