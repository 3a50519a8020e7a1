"""A directory to be in, with a source to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import FILES, zip_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: ``tree`` is a module, ``tree.zip`` the same packed."""
    for name, content in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "tree.zip").write_bytes(zip_of())
    monkeypatch.chdir(tmp_path)
    return tmp_path
