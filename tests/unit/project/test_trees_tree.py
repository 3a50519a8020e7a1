"""The lock from the side of the packages."""

from __future__ import annotations

from getmodules import LockStaleError
from getmodules.project import trees as subject
from getmodules.project.manifest import ProjectFiles
from tests.support.projects import Project
from tests.support.refusals import refusal


def test_packages_and_their_modules(project: Project) -> None:
    project.wants(b="./pkg.zip//net", a="./pkg.zip", c="./src")
    project.client.lock(project.directory)
    found = subject.read_tree(ProjectFiles.from_path(project.directory))
    shown = [(package.address.partition("?")[0], [module.name for module in modules]) for package, modules in found]
    assert shown == [("./pkg.zip", ["a", "b"]), ("./src", ["c"])]


def test_without_a_lock(project: Project) -> None:
    assert refusal(LockStaleError, "lock-stale", subject.read_tree, ProjectFiles.from_path(project.directory)).hint
