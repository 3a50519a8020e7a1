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
or of what is in a zip. t1: sees execute bits and links of a directory as well.
zh: is the sha256 of a file's own bytes. A directory has h1 and t1, a zip h1 and
zh, each on a line of its own.

with --json: {"path", "h1", "t1", "zh"}, with null for what does not apply

examples:
  getmodules hash modules/vpc
  getmodules hash --json terraform-provider-null_3.2.0_linux_amd64.zip
"""

#: The first bytes of a zip: of its first member, or of its end if it is empty.
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


def parser() -> Parser:
    made = Parser(
        usage="getmodules hash PATH [OPTION...]",
        description="Show the hashes of a directory (h1, t1), a zip (h1, zh) or another file (zh).",
        epilog=_EPILOG,
    )
    made.add_argument("path", metavar="PATH", help="a directory or a file")
    add_output(made, quiet=False)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    hashes = _hashes(options.path)
    console.result("\n".join(hashes.values()), {"path": options.path, "h1": None, "t1": None, "zh": None, **hashes})
    return 0


def _hashes(path: str) -> dict[str, str]:
    from getmodules.archive.hashing import hash_file, hash_zip, tree_entries
    from getmodules.archive.tree_hash import h1_of_entries, t1
    from getmodules.files.local import unreadable

    # The reader refuses links, as inside of packages; here the user has named one.
    real = Path(os.path.realpath(path))
    try:
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as error:
        raise unreadable(Path(path), error) from error
    if is_directory:
        entries = tuple(tree_entries(real))  # both from one reading of the files
        return {"h1": h1_of_entries(entries), "t1": t1(entries)}
    return ({"h1": hash_zip(real)} if _is_zip(real) else {}) | {"zh": hash_file(real)}


def _is_zip(path: Path) -> bool:
    from getmodules.files.local import read_file

    return next(read_file(path), b"").startswith(_ZIP_STARTS)
