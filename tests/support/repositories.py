"""Git repositories for tests, whatever the machine's own configuration says."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from getmodules.api.ports import Context
from getmodules.getters.oci.worktree import select
from tests.support.contexts import a_context
from tests.support.fakes import Notices
from tests.support.snapshots import write_tree

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
FILES = {"main.tf": "# main\n", "sub/a.tf": "# a\n", ".gitignore": "*.log\n"}

ENVIRON = {
    "PATH": os.environ.get("PATH", ""),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
}  # fmt: skip


def git(directory: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=directory, env=ENVIRON, check=True, capture_output=True, stdin=subprocess.DEVNULL
    ).stdout


def repository(directory: Path, files: dict[str, str]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q", "-b", "main")
    write_tree(directory, files)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "first")
    return directory


def context_with(tmp_path: Path, **more: Any) -> tuple[Context, list[str]]:
    """A context, and what is said in it."""
    notices = Notices()
    return a_context(tmp_path, progress=notices, **{"environ": ENVIRON, **more}), notices.said


def names(directory: Path, context: Context) -> set[str]:
    """What of ``directory`` would be published."""
    return {member.name for member in select(directory, context).members}
