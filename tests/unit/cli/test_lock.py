"""``getmodules lock``."""

from __future__ import annotations

import re

import pytest

from getmodules.testing import Registry
from tests.support.commandline import call, without_seconds
from tests.support.projects import Project


@pytest.fixture
def project(project: Project) -> Project:
    project.wants(net="./src//net")
    return project


def test_what_changed(project: Project) -> None:
    done = call("lock")
    assert (done.code, without_seconds(done.out), done.err) == (0, "net  new  ./src//net\n1 new\n", "")
    assert without_seconds(call("lock").out) == "nothing to change: the lock is up to date\n1 unchanged\n"
    project.wants(other="./src")
    assert without_seconds(call("lock").out) == (
        "net    removed  ./src//net\nother  new      ./src\n1 new, 1 removed\n"
    )


def test_a_manifest_without_modules(project: Project) -> None:
    project.wants("# none yet\n")
    said = "nothing to lock: the manifest has no modules"
    first = call("lock")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith(f"{said}; getmodules.lock says so")
    assert project.has_lock
    assert call("lock")[:] == (0, f"{said}\n", "")
    for option, what in (("--locked", "manifest"), ("--frozen", "lock")):
        told = call("install", option)
        assert told[:] == (0, f"nothing to install: the {what} has no modules\n", "")
    assert call("verify")[:] == (0, "nothing to verify: the lock has no modules\n", "")
    for command in ("lock", "install", "verify"):
        assert call(command, "-q")[:] == (0, "", "")


def test_a_lock_that_only_looks_different_is_brought_into_its_form(project: Project) -> None:
    call("lock")
    lock = project.lock
    project.write("getmodules.lock", lock + "\n# mine\n")
    told = call("lock")
    said = "no module has changed; getmodules.lock was brought into its usual form\n1 unchanged\n"
    assert (told.code, without_seconds(told.out), told.err) == (0, said, "")
    assert project.lock == lock


def test_as_json(project: Project) -> None:
    done = call("lock", "--json").object
    assert (done["written"], done["errors"]) == (True, [])
    assert [(module["name"], module["change"], module["selected"]) for module in done["modules"]] == [
        ("net", "new", None)
    ]


def test_nothing_is_said_to_be_done_where_something_failed(project: Project) -> None:
    project.wants(net="./src//net", none="./none")
    failed = call("lock")
    assert (failed.code, failed.out) == (1, "")
    assert "error: none: " in failed.err
    assert not project.has_lock


def test_upgrade(project: Project) -> None:
    call("lock")
    project.write("src/net/net.tf", "newer")
    assert call("lock").out.startswith("nothing")
    assert re.fullmatch(
        r"net  changed  (\S{7}) -> (?!\1)\S{7}\n1 changed in \d+\.\d s\n", call("lock", "--upgrade", "net").out
    )
    assert call("lock", "--upgrade").out.startswith("nothing")
    wrong = call("lock", "net")
    assert (wrong.code, "names are for --upgrade" in wrong.err) == (2, True)


def test_check(project: Project) -> None:
    stale = "stale  there is no getmodules.lock\nstale  net is new\n"
    assert call("lock", "--check")[:] == (5, stale, "getmodules lock brings the lock up to date\n")
    call("lock")
    assert call("lock", "--check")[:] == (0, "the lock is up to date\n", "")
    project.write("src/net/net.tf", "newer")
    moved = call("lock", "--check")
    assert (moved.code, moved.out.startswith("moved  net: locked h1:")) == (5, True)
    assert moved.err == "getmodules lock --upgrade net locks what there is now\n"
    assert call("lock", "--check", "-q").err == ""
    (found,) = call("lock", "--check", "--json").object["moved"]
    assert found["source"] == "./src//net"
    assert found["locked"] != found["now"]


def test_a_check_that_failed(project: Project) -> None:
    call("lock")
    (project.directory / "src").rename(project.directory / "gone")
    failed = call("lock", "--check")
    assert (failed.code, failed.out, "error: net: " in failed.err) == (1, "", True)


def test_versions_come_first_then_what_was_downloaded(project: Project) -> None:
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.2.0", {"main.tf": "1"})
        entry = f'[modules.vpc]\nsource = "oci://{registry.host}/acme/vpc"\nversion = '
        project.wants(f'{entry}"~> 1.0"\n', net="./src//net")
        assert re.fullmatch(
            rf"net        new  ./src//net\nvpc 1.2.0  new  oci://{registry.host}/acme/vpc\n"
            r"2 new in \d+\.\d s, \d+ B from 1 host\n",
            call("lock").out,
        )
        registry.push_module("acme/vpc", "1.3.0", {"main.tf": "2"})
        told = call("lock", "--upgrade", "-v").out.splitlines()
        assert told[0] == f"vpc 1.2.0 -> 1.3.0  changed  oci://{registry.host}/acme/vpc"
        assert told[1].startswith(f"  oci://{registry.host}/acme/vpc?digest=sha256:")
        assert told[2].startswith("  h1:")
        assert re.fullmatch(r"1 changed, 1 unchanged in \d+\.\d s, \d+ B from 1 host", told[3])

        project.wants(f'{entry}"1.2.0"\n', net="./src//net")
        assert call("install").out.splitlines()[1].startswith("vpc 1.3.0 -> 1.2.0  installed  modules/vpc")
        project.wants(f'{entry}"1.3.0"\n', net="./src//net")
        (vpc, _) = call("install", "--json").object["modules"]
        assert (vpc["version"], vpc["previous_version"]) == ("1.3.0", "1.2.0")
        assert vpc["id"] != vpc["previous_id"]
        (net, vpc) = call("lock", "--json").object["modules"]
        assert (vpc["version"], vpc["previous_version"], vpc["previous_id"]) == ("1.3.0", None, None)
        assert (net["version"], net["id"][:3]) == (None, "h1:")
