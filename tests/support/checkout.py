"""Paths of this checkout, whatever folder a test lies in."""

from __future__ import annotations

from pathlib import Path

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "setup.cfg").is_file())
PACKAGE = ROOT / "getmodules"
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
#: Vectors of the peers' own code.
CASES = TESTS / "cases"
