"""``getmodules add``."""

from __future__ import annotations

import pytest

from tests.support.commandline import call, without_seconds
from tests.support.projects import Project


def test_adding(project: Project) -> None:
    done = call("add", "net", "./src//net", "--dest", "vendor/net")
    assert (done.code, done.err) == (0, "")
    assert without_seconds(done.out) == "net  new  ./src//net\n1 new\n"
    assert project.read("getmodules.toml") == '[modules.net]\nsource = "./src//net"\ndest = "vendor/net"\n'
    more = call("add", "zip", "./pkg.zip", "--json").object
    assert [(module["name"], module["change"]) for module in more["modules"]] == [("net", "unchanged"), ("zip", "new")]


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
