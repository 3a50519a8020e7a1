"""Git repositories for tests, whatever the machine's own configuration says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

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
    write(directory, files)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "first")
    return directory


def write(directory: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)
