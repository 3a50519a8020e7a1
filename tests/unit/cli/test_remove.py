"""``getmodules remove``."""

from __future__ import annotations

from tests.support.commandline import call
from tests.support.projects import Project


def test_removing(project: Project) -> None:
    refused = call("remove", "net")
    assert (refused.code, "there is no" in refused.err) == (2, True)
    project.wants("# mine", net="./src//net", src="./src", zip="./pkg.zip")
    project.client.lock(project.directory)
    assert call("remove", "nett").code == 2
    assert call("remove", "net")[:] == (0, "removed net; what was installed of it stays\n", "")
    assert call("remove", "src", "--json").object == {"removed": "src"}
    assert call("remove", "zip", "-q")[:] == (0, "", "")
    assert project.read("getmodules.toml").strip() == "# mine"
    assert "[[" not in project.lock
