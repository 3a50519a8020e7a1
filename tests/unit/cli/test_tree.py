"""``getmodules tree``."""

from __future__ import annotations

from tests.support.commandline import call
from tests.support.projects import Project


def test_packages_and_modules(project: Project) -> None:
    refused = call("tree")
    assert (refused.code, refused.out) == (5, "")
    project.wants(a="./pkg.zip", b="./pkg.zip//net", c="./src")
    project.client.lock(project.directory)
    lines = call("tree").out.splitlines()
    assert lines[0].startswith("./pkg.zip?checksum=sha256:")
    assert lines[1:] == ["|-- a in modules/a", "`-- b //net in modules/b", "./src", "`-- c in modules/c"]
    packages = call("tree", "--json").object["packages"]
    assert [package["getter"] for package in packages] == ["file", "file"]
    assert packages[0]["modules"][1] == {"name": "b", "subdir": "net", "dest": "modules/b", "selected": None}
