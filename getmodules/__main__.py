"""``python -m getmodules``: the command line, for where the console script is not on the path."""

from __future__ import annotations

import os
import sys


def leave_out_current_directory() -> None:
    """Take the current directory off ``sys.path``: it may be somebody else's, and is not where programs are looked for.

    Python has put it there for ``-m``, and would find plugins in it, and dependencies before the installed ones. It
    stays where the user asked for it (``PYTHONPATH``), or where it is the directory that this program came from.
    """
    if sys.flags.safe_path:  # it was not put there
        return
    try:
        current = os.getcwd()
    except FileNotFoundError:  # it was removed
        current = ""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path and sys.path[0] in ("", current) and ours != current:
        del sys.path[0]


if __name__ == "__main__":
    leave_out_current_directory()

    from getmodules.cli.main import entry

    sys.exit(entry())
