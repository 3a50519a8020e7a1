"""A directory to be in, with a source to install."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fakes import FILES, zip_of
from tests.support.projects import Project
from tests.support.snapshots import write_tree


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: ``tree`` is a module, ``tree.zip`` the same packed."""
    write_tree(tmp_path / "tree", FILES)
    (tmp_path / "tree.zip").write_bytes(zip_of())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that is the current directory."""
    made = Project(tmp_path / "project")
    monkeypatch.chdir(made.directory)
    return made


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of distributions; what was imported from it is forgotten."""
    directory = tmp_path / "site"
    directory.mkdir()
    monkeypatch.syspath_prepend(str(directory))
    before = set(sys.modules)
    yield directory
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(directory)):
            del sys.modules[name]
