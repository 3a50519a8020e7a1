"""What lies at a destination."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules import InstallError, UnsafeContentError, hash_tree
from getmodules.archive.tree_hash import TreeHashes
from getmodules.project import trees as subject
from getmodules.project.lockfile import parse_lock
from getmodules.project.reports import Differences
from tests.support.projects import Project
from tests.support.refusals import refusal


def test_vacant(tmp_path: Path) -> None:
    assert subject.is_vacant(tmp_path / "none")
    assert subject.is_vacant(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for taken in (tmp_path, tmp_path / "file", tmp_path / "link"):
        assert not subject.is_vacant(taken)
    refusal(InstallError, "install", subject.is_vacant, tmp_path / "file" / "below")


def test_hashes(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a").write_text("a")
    found = subject.hashes_of(tmp_path / "tree")
    assert found == TreeHashes(hash_tree(tmp_path / "tree"), hash_tree(tmp_path / "tree", "t1"))
    (tmp_path / "link").symlink_to("tree")
    (tmp_path / "tree" / "out").symlink_to("../..")
    for none in ("none", "link", "tree", "tree/a"):
        assert subject.hashes_of(tmp_path / none) is None


@pytest.mark.parametrize(
    ("there", "kind", "code", "word"),
    [
        pytest.param("link", InstallError, "install/protected", "is a link", id="a link"),
        pytest.param("file", InstallError, "install/protected", "is no directory", id="a file"),
        pytest.param("file/below", InstallError, "install", "cannot look at", id="below a file"),
        pytest.param("tree", UnsafeContentError, "unsafe-content/link-escapes", "out", id="a link that leaves it"),
    ],
)
def test_why_there_is_no_hash(there: str, kind: type, code: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "out").symlink_to("../..")
    (tmp_path / "link").symlink_to("tree")
    (tmp_path / "file").write_text("")
    assert word in refusal(kind, code, subject.hash_directory, tmp_path / there).message


@pytest.fixture
def installed(project: Project) -> Project:
    project.wants(m="./pkg.zip")
    project.client.install(project.directory)
    return project


def test_differences(installed: Project) -> None:
    workspace = installed.workspace()
    module, package = parse_lock(installed.lock, "x").entry("m")
    dest = installed.directory / "modules/m"
    assert subject.differences(module, package, dest, workspace) == Differences()
    assert subject.describe(module, package, dest, workspace) == ""
    for number in range(7):
        installed.write(f"modules/m/{number}.tf", "")
    (dest / "main.tf").unlink()
    said = subject.describe(module, package, dest, workspace)
    assert said == ": missing main.tf; added 0.tf, 1.tf, 2.tf, 3.tf, 4.tf, …"


def test_what_is_locked_cannot_be_had(installed: Project) -> None:
    module, package = parse_lock(installed.lock, "x").entry("m")
    dest = installed.directory / "modules/m"
    installed.repack(**{"main.tf": "# other"})
    assert subject.differences(module, package, dest, installed.workspace()) is None
    assert subject.describe(module, package, dest, installed.workspace()) == ""


def test_a_name_is_made_harmless(installed: Project) -> None:
    module, package = parse_lock(installed.lock, "x").entry("m")
    installed.write("modules/m/\x1b[2J", "")
    said = subject.describe(module, package, installed.directory / "modules/m", installed.workspace())
    assert "\x1b" not in said
    assert said
