"""The Go programs that ``scripts/install-tools`` builds: found in the directory of their own, or on PATH."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.tools import need

# Read when the module is loaded: the tests' own environment has none of these variables.
DIRECTORY = Path(os.environ.get("GETMODULES_TOOLS") or Path.home() / ".cache" / "getmodules-tools")


def need_go(tool: str) -> str:
    """The path of a Go program; missing, it is what :func:`tests.support.tools.need` says."""
    own = DIRECTORY / tool
    return str(own) if os.access(own, os.X_OK) else need(tool)
