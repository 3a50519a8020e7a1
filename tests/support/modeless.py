"""A file system that keeps no execute bits, as far as the calls that try it can tell."""

from __future__ import annotations

import os

import pytest


def without_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let modes be set to no effect from here on, as on FAT or Windows."""
    monkeypatch.setattr(os, "chmod", lambda *_, **__: None)
