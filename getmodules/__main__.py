"""``python -m getmodules``: the command line, for where the console script is not on the path."""

from __future__ import annotations

import sys

from getmodules.cli.main import entry

if __name__ == "__main__":
    sys.exit(entry())
