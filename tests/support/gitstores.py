"""A store with the objects of a hand-made repository in it, as though git had fetched them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from getmodules.getters.git.process import Git
from getmodules.getters.git.store import Extent, Store
from tests.support.contexts import a_context
from tests.support.gitrepos import Repository
from tests.support.tools import need


def a_git(tmp_path: Path | None = None, **more: Any) -> Git:
    need("git")
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    return Git(a_context(tmp_path, **{"environ": environ, **more}))


def a_store_of(repository: Repository, workshop: Path, kind: Extent = Extent.TIP) -> Store:
    store = Store(workshop, kind, 64 if repository.algorithm == "sha256" else 40)
    store.prepare()
    shutil.copytree(repository.path / "objects", store.path / "objects", dirs_exist_ok=True)
    return store


def settings(found: dict[str, str]) -> dict[str, str]:
    """The settings that git is told by these variables."""
    count = int(found["GIT_CONFIG_COUNT"])
    pairs = [(found[f"GIT_CONFIG_KEY_{number}"], found[f"GIT_CONFIG_VALUE_{number}"]) for number in range(count)]
    assert f"GIT_CONFIG_KEY_{count}" not in found
    return dict(pairs)
