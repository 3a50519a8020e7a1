"""``getmodules remove``."""

from __future__ import annotations

import pytest

from tests.support.commandline import call
from tests.support.projects import Project


def test_removing(project: Project) -> None:
    refused = call("remove", "net")
    assert (refused.code, "there is no" in refused.err) == (2, True)
    project.wants("# mine", net="./src//net", src="./src", zip="./pkg.zip")
    project.client.lock(project.directory)
    assert call("remove", "nett").code == 2
    assert call("remove", "net")[:] == (0, "removed net\n", "")
    project.client.install(project.directory)
    assert call("remove", "src", "--json").object == {
        "removed": "src",
        "directory": {"dest": "modules/src", "state": "removed", "reason": None},
    }
    assert call("remove", "zip", "-q")[:] == (0, "", "")
    assert not (project.directory / "modules").exists()
    assert project.read("getmodules.toml").strip() == "# mine"
    assert "[[" not in project.lock


def test_what_becomes_of_the_directory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.wants(gone="./src//net", kept="./src//net", edited="./src//net", below="./src//net")
    project.client.install(project.directory)
    project.write("modules/edited/net.tf", "mine")
    assert call("remove", "gone")[:] == (0, "removed gone and modules/gone\n", "")
    assert call("remove", "kept", "--keep")[:] == (0, "removed kept; modules/kept stays\n", "")
    assert call("remove", "edited")[:] == (
        0,
        "removed edited; modules/edited stays: it is not what was installed there: modified net.tf (content)\n",
        "",
    )
    monkeypatch.chdir(project.directory / "src")
    assert call("remove", "below").out == "removed below and ../modules/below\n"
    assert sorted(path.name for path in (project.directory / "modules").iterdir()) == ["edited", "kept"]
