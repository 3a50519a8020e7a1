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
