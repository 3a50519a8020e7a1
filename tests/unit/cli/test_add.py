"""``getmodules add``."""

from __future__ import annotations

import pytest

from tests.support.commandline import call, without_seconds
from tests.support.projects import Project
from tests.support.snapshots import snapshot


def test_adding(project: Project) -> None:
    done = call("add", "net", "./src//net", "--dest", "vendor/net")
    assert (done.code, done.err) == (0, "")
    assert without_seconds(done.out) == "net  installed  vendor/net\n1 new, 1 installed\n"
    assert project.tree("vendor/net") == {"net.tf": b"# net\n"}
    assert project.read("getmodules.toml") == '[modules.net]\nsource = "./src//net"\ndest = "vendor/net"\n'
    more = call("add", "zip", "./pkg.zip", "--json").object
    assert [(module["name"], module["change"]) for module in more["modules"]] == [("net", "unchanged"), ("zip", "new")]
    assert [(each["name"], each["action"], each["dest"]) for each in more["installed"]] == [
        ("zip", "installed", "modules/zip")
    ]


def test_without_installing(project: Project) -> None:
    done = call("add", "net", "./src//net", "--no-install")
    assert (done.code, without_seconds(done.out), done.err) == (0, "net  new  ./src//net\n1 new\n", "")
    assert call("add", "zip", "./pkg.zip", "--no-install", "--json").object["installed"] == []
    assert not (project.directory / "modules").exists()
    assert call("install", "--locked").code == 0


def test_from_below(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """SOURCE is what the shell would complete, --dest what stands in the manifest."""
    project.wants("# mine\n")
    monkeypatch.chdir(project.directory / "src")
    done = call("add", "net", "./net", "--dest", "vendor/net")
    assert (done.code, done.err) == (0, "")
    assert without_seconds(done.out) == "net  installed  ../vendor/net\n1 new, 1 installed\n"
    assert project.read("getmodules.toml") == '# mine\n\n[modules.net]\nsource = "./src/net"\ndest = "vendor/net"\n'
    assert project.tree("vendor/net") == {"net.tf": b"# net\n"}
    assert call("add", "new", "./net", "--manifest", ".", "--dest", "../x").code == 2
    assert call("add", "new", "../pkg.zip", "--manifest", ".").code == 0
    assert (project.directory / "src/getmodules.toml").read_text() == '[modules.new]\nsource = "../pkg.zip"\n'


def test_what_is_in_the_way(project: Project) -> None:
    project.write("modules/net/net.tf", "mine")
    before = snapshot(project.directory)
    failed = call("add", "net", "./src//net", "--json")
    assert (failed.code, failed.object["errors"][0]["code"], failed.object["installed"]) == (
        1,
        "destination-exists",
        [],
    )
    assert snapshot(project.directory) == before


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        pytest.param(("x", "./none"), 1, "error: x: there is nothing at", id="nothing there"),
        pytest.param(("a b", "./src"), 2, "is no name for a module", id="a name"),
        pytest.param(("x", "./src", "--version", "~> 1"), 2, "file addresses have none", id="a version"),
        pytest.param(("x", "./src", "--expect", f"h1:{'A' * 43}="), 3, "error: x: ", id="an expectation"),
        pytest.param(("x", "./src", "--dest", "/x"), 2, "does not lie below", id="a place"),
    ],
)
def test_what_cannot_be_added(argv: tuple[str, ...], code: int, message: str, project: Project) -> None:
    failed = call("add", *argv)
    assert (failed.code, failed.out) == (code, "")
    assert message in failed.err
    assert not project.manifest.exists()
    assert not project.has_lock
