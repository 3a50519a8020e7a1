"""``getmodules add``."""

from __future__ import annotations

import re

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


def test_one_row_for_each_module(project: Project) -> None:
    project.wants(other="./src")
    project.write("vendor/net/net.tf", "# net\n")
    done = call("add", "net", "./src//net", "--dest", "vendor/net")  # and it locks what is not locked yet
    assert without_seconds(done.out) == "net    unchanged  vendor/net\nother  new        ./src\n2 new\n"
    shown = call("add", "zip", "./pkg.zip", "-v")
    row, package, h1, summary = without_seconds(shown.out).splitlines()
    assert (row, summary) == ("zip  installed  modules/zip", "1 new, 1 installed, 2 unchanged")
    assert (package.partition("?")[0], h1[:5]) == ("  ./pkg.zip", "  h1:")


@pytest.mark.parametrize("options", [(), ("--no-install",)], ids=["installed", "only locked"])
def test_latest_of_a_layout_from_below(
    options: tuple[str, ...], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What moves is told, also where the source is not written as it was typed."""
    project.wants("# mine\n")
    for tag in ("latest", "1.0.0"):
        project.client.push(project.directory / "src", f"oci-layout::{project.directory}/layout?tag={tag}")
    monkeypatch.chdir(project.directory / "src")
    added = call("add", "vpc", "oci-layout::../layout", *options)
    assert added.code == 0
    assert "that is latest, which moves; for a version: getmodules remove vpc, then getmodules add vpc '" in added.err
    (proposed,) = re.findall(r"add vpc '(.+)'", added.err)
    assert call("remove", "vpc").code == 0
    again = call("add", "vpc", proposed, *options)
    assert (again.code, again.err) == (0, "")


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
