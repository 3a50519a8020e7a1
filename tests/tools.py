"""Programs of this machine that tests compare with: required in CI, optional on a laptop."""

from __future__ import annotations

import os
import shutil

import pytest


def need(tool: str) -> str:
    """The path of ``tool``. Without it a test is skipped, but fails where CI promised to have it."""
    path = shutil.which(tool)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"{tool} is not installed, and CI must not skip its tests")
        pytest.skip(f"{tool} is not installed")
    return path
