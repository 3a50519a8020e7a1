"""Programs of this machine that tests compare with: required in CI, optional on a laptop."""

from __future__ import annotations

import os
import shutil

import pytest

#: Where servers are, which is not on everybody's PATH.
_SERVERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def need(tool: str) -> str:
    """The path of ``tool``. Without it a test is skipped, but fails where CI promised to have it."""
    path = shutil.which(tool) or shutil.which(tool, path=os.pathsep.join(_SERVERS))
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"{tool} is not installed, and CI must not skip its tests")
        pytest.skip(f"{tool} is not installed")
    return path
