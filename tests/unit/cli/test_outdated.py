"""``getmodules outdated``."""

from __future__ import annotations

import re

from getmodules.testing import Registry
from tests.support.commandline import call, without_seconds
from tests.support.projects import Project


def test_what_is_told(project: Project) -> None:
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": "1"})
        repository = f"oci://{registry.host}/acme/vpc"
        project.wants(
            f'[modules.vpc]\nsource = "{repository}"\nversion = "~> 1.0"\n', tag=f"{repository}?tag=1.0.0", src="./src"
        )
        call("lock")
        assert without_seconds(call("outdated").out) == "everything is up to date\n3 up to date\n"
        for version in ("1.1.0", "2.0.0"):
            registry.push_module("acme/vpc", version, {"main.tf": version})
        told = call("outdated")
        assert (told.code, told.err) == (0, "")
        assert without_seconds(told.out) == (
            "tag 1.0.0           2.0.0 exists\nvpc 1.0.0 -> 1.1.0  2.0.0 exists\n2 outdated, 1 up to date\n"
        )
        modules = call("outdated", "--json").object["modules"]
        assert {module["name"]: (module["newest"], module["latest"]) for module in modules} == {
            "vpc": ("1.1.0", "2.0.0"),
            "tag": (None, "2.0.0"),
        }


def test_what_was_edited_is_not_said_to_be_up_to_date(project: Project) -> None:
    project.wants(src="./src")
    call("lock")
    project.wants(src="./pkg.zip")
    edited = call("outdated")
    assert edited.code == 0
    assert without_seconds(edited.out) == "everything else is up to date\n1 passed over\n"
    assert "src was edited" in edited.err


def test_what_moved(project: Project) -> None:
    project.wants(src="./src")
    call("lock")
    project.write("src/main.tf", "newer")
    moved = call("outdated")
    assert moved.code == 0
    assert re.fullmatch(r"src  moved from (\S{7}) to (?!\1)\S{7}\n1 outdated in \d+\.\d s\n", moved.out)
    ids = re.findall(r"^  (?:locked|now) +h1:\S{43}=$", call("outdated", "-v").out, re.MULTILINE)
    assert len(ids) == 2
    (project.directory / "src").rename(project.directory / "gone")
    failed = call("outdated")
    assert (failed.code, without_seconds(failed.out), "error: src: " in failed.err) == (1, "1 failed\n", True)


def test_names_and_the_exit_code(project: Project) -> None:
    with Registry() as registry:
        for name in ("a", "b", "c"):
            registry.push_module(f"acme/{name}", "1.0.0", {"main.tf": "1"})
        source = f"oci://{registry.host}/acme"
        project.wants(
            f'[modules.a]\nsource = "{source}/a"\nversion = "~> 1.0"\n',
            b=f"{source}/b?tag=1.0.0",
            c=f"{source}/c?tag=1.0.0",
            src="./src",
        )
        call("lock")
        assert call("outdated", "--exit-code").code == 0
        registry.push_module("acme/a", "1.1.0", {"main.tf": "2"})
        registry.push_module("acme/b", "2.0.0", {"main.tf": "2"})
        registry.push_module("acme/c", "1.0.0", {"main.tf": "2"})
        assert call("outdated").code == 0
        rows = {
            "a newer version is allowed": (("a",), 5),
            "one that no version allows is not": (("b",), 0),
            "an address moved": (("c",), 5),
            "nothing": (("src",), 0),
            "of two": (("src", "a"), 5),
        }
        for row, (names, code) in rows.items():
            found = call("outdated", *names, "--exit-code", "--json")
            assert (found.code, found.object["errors"]) == (code, []), row
            assert {module["name"] for module in found.object["modules"]} == set(names) - {"src"}, row
        (project.directory / "src").rename(project.directory / "gone")
        assert call("outdated", "--exit-code").code == 1  # the failure, not what is outdated
        assert call("outdated", "a", "--exit-code").code == 5


def test_names_that_are_not_there_or_not_locked(project: Project) -> None:
    project.wants(src="./src")
    call("lock")
    unknown = call("outdated", "scr")
    assert (unknown.code, "did you mean src?" in unknown.err) == (2, True)
    project.wants(src="./src", new="./pkg.zip")
    done = call("outdated")
    assert (done.code, without_seconds(done.out), done.err) == (0, "everything is up to date\n1 up to date\n", "")
    named = call("outdated", "new")
    assert (named.code, without_seconds(named.out)) == (0, "everything else is up to date\n1 passed over\n")
    assert "new was added and not locked yet" in named.err
