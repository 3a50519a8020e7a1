"""The commands of a project, as the installed command in a child, against a registry on loopback."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules.testing import Access, Registry, User, tls_context
from tests.support.certificates import Authority
from tests.support.commandline import Result, make_slow_plugin, run, run_on_terminal, without_seconds
from tests.support.projects import Project
from tests.support.snapshots import snapshot

pytestmark = pytest.mark.slow

TOKEN = "s3cr3t-t0ken"


class Place(Project):
    """A project with a home and a cache of its own; no secret comes out of any command."""

    def run(self, *argv: str | Path, **env: str) -> Result:
        environment = {"HOME": str(self.directory.parent / "home"), "GETMODULES_CACHE_DIR": "", **env}
        result = run(*argv, cwd=self.directory, **environment)
        assert TOKEN not in result.out + result.err
        return result


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "project")
    yield made
    assert made.leftovers() == set()


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        for version in ("1.0.0", "1.1.0"):
            running.push_module("acme/vpc", version, {"main.tf": version, "net/net.tf": version})
        yield running


def test_the_life_of_a_project(place: Place, registry: Registry) -> None:
    repository = f"oci://{registry.host}/acme/vpc"
    added = place.run("add", "vpc", f"{repository}//net", "--version", "~> 1.0")
    assert (added.code, added.err) == (0, "")
    row, summary = added.out.splitlines()
    assert row == "vpc 1.1.0  installed  modules/vpc"
    assert re.fullmatch(r"1 new, 1 installed in \S+ s, \S+ k?B from 1 host", summary)
    assert place.run("add", "src", "./src", "--no-install").out.startswith("src  new  ./src\n1 new, 1 unchanged in ")

    installed = place.run("install", "--locked")
    assert (installed.code, installed.err) == (0, "")
    assert without_seconds(installed.out).splitlines() == [
        "src        installed  modules/src",
        "vpc 1.1.0  unchanged  modules/vpc",
        "1 installed, 1 unchanged",
    ]
    assert place.tree("modules/vpc") == {"net.tf": b"1.1.0"}
    assert without_seconds(place.run("install").out).endswith("\n2 unchanged\n")
    assert place.run("verify").out == "ok        modules/src\nok        modules/vpc\n"
    assert "`-- vpc 1.1.0 //net in modules/vpc\n" in place.run("tree").out
    assert without_seconds(place.run("outdated").out) == "everything is up to date\n2 up to date\n"
    assert place.run("lock", "--check").out == "the lock is up to date\n"

    registry.push_module("acme/vpc", "1.2.0", {"net/net.tf": "1.2.0"})
    outdated = place.run("outdated")
    assert outdated.code == 0
    assert without_seconds(outdated.out) == "vpc 1.1.0 -> 1.2.0\n1 outdated, 1 up to date\n"
    assert place.run("lock").out.startswith("nothing to change: the lock is up to date\n")
    upgraded = place.run("lock", "--upgrade", "vpc")
    assert upgraded.code == 0
    assert upgraded.out.startswith(f"vpc 1.1.0 -> 1.2.0  changed  {repository}//net\n1 changed, 1 unchanged in ")
    assert place.run("install").code == 0
    assert place.tree("modules/vpc") == {"net.tf": b"1.2.0"}

    removed = place.run("remove", "src")
    assert (removed.code, removed.out) == (0, "removed src and modules/src\n")
    assert place.run("install", "--locked").out.startswith("vpc 1.2.0  unchanged  modules/vpc\n")


def test_the_lock_does_not_depend_on_how_it_came_about(place: Place, registry: Registry) -> None:
    package = f"oci://{registry.host}/acme/vpc"
    assert place.run("add", "part", f"{package}//net?tag=1.0.0").code == 0
    before = (place.directory / "getmodules.lock").read_text()
    added = place.run("add", "whole", f"{package}?tag=1.0.0")
    assert added.out.startswith("whole 1.0.0  installed  modules/whole\n")
    assert "part" not in added.out
    assert "package_h1" in (place.directory / "getmodules.lock").read_text()
    assert place.run("remove", "whole").code == 0
    assert (place.directory / "getmodules.lock").read_text() == before


def test_everything_as_json(place: Place, registry: Registry) -> None:
    added = place.run("add", "vpc", f"oci://{registry.host}/acme/vpc?tag=1.0.0", "--json").object
    assert (added["written"], added["errors"]) == (True, [])
    (locked,) = added["modules"]
    versions = {"id", "version", "previous_version", "previous_id"}
    assert set(locked) == {"name", "change", "package", "subdir", "dest", "h1", "t1", "selected"} | versions
    (module,) = added["installed"]
    assert set(module) == {"name", "action", "package", "subdir", "dest", "h1", "t1"} | versions
    assert (module["name"], module["action"], module["version"]) == ("vpc", "installed", "1.0.0")
    installed = place.run("install", "--json").object
    assert set(installed) == {"modules", "lock_written", "errors", "pruned", "seconds"}
    (module,) = installed["modules"]
    assert (module["name"], module["action"]) == ("vpc", "unchanged")
    assert (module["h1"], module["t1"]) == (locked["h1"], locked["t1"])
    place.write("modules/vpc/main.tf", "mine")
    verified = place.run("verify", "--json")
    assert verified.code == 3
    (module,) = verified.object["modules"]
    assert (module["state"], module["modified"]) == ("modified", None)
    registry.push_module("acme/vpc", "1.0.0", {"main.tf": "moved"})
    checked = place.run("lock", "--check", "--json")
    assert (checked.code, checked.object["stale"], checked.object["moved"][0]["name"]) == (5, [], "vpc")
    outdated = place.run("outdated", "--json").object
    assert (outdated["modules"][0]["version"], outdated["modules"][0]["latest"]) == ("1.0.0", "1.1.0")
    assert outdated["modules"][0]["moved"] == checked.object["moved"][0]["now"]
    tree = place.run("tree", "--json").object
    assert [each["name"] for each in tree["packages"][0]["modules"]] == ["vpc"]
    assert place.run("remove", "vpc", "--json").object == {
        "removed": "vpc",
        "directory": {"dest": "modules/vpc", "state": "kept", "reason": "it is not what was installed there"},
    }


def test_all_failures_are_listed(place: Place, registry: Registry) -> None:
    place.wants(
        good="./src",
        none="./none",
        tag=f"oci://{registry.host}/acme/vpc?tag=9.9.9",
        repository=f"oci://{registry.host}/acme/none?tag=1.0.0",
        deep="./pkg.zip//deep",
    )
    failed = place.run("install", "--json")
    assert [(each["module"], each["code"]) for each in failed.object["errors"]] == [
        ("none", "not-found"),
        ("tag", "not-found"),
        ("repository", "not-found"),
        ("deep", "subdirectory-not-found"),
    ]
    assert set(failed.object["errors"][0]) == {"module", "code", "message", "hint", "address"}
    assert failed.code == 1
    assert [each["name"] for each in failed.object["modules"]] == ["good"]
    assert not place.has_lock
    told = place.run("install")
    assert told.err.count("error: ") == 4
    assert "error: deep: the package has no directory 'deep'" in told.err


def test_modules_of_one_package_fail_together(place: Place, registry: Registry) -> None:
    place.wants(a=f"oci://{registry.host}/acme/none//a?tag=1", b=f"oci://{registry.host}/acme/none//b?tag=1")
    failed = place.run("install")
    assert failed.code == 1
    assert failed.err.count("error: ") == 1
    assert "error: a, b: " in failed.err
    assert len(place.run("install", "--json").object["errors"]) == 2


# ------------------------------------------------------------------------------------------------- exit codes


def test_a_stale_lock(place: Place) -> None:
    place.wants(src="./src")
    for argv in (("install", "--locked"), ("install", "--frozen"), ("verify",), ("tree",), ("outdated",)):
        refused = place.run(*argv, "--json")
        assert (refused.code, refused.object["error"]["code"]) == (5, "lock-stale"), argv
    assert place.run("lock", "--check").code == 5
    place.run("lock")
    place.wants(src="./src//net")
    refused = place.run("install", "--locked", "--json")
    assert (refused.code, refused.object["error"]["code"]) == (5, "lock-stale")
    checked = place.run("lock", "--check")
    assert (checked.code, checked.out) == (5, "stale  src has another source\n")


def test_a_lock_that_names_the_package_of_somebody_else(place: Place, registry: Registry) -> None:
    """Consistent in itself, down to the h1: only the source in the manifest gives it away."""
    registry.push_module("evil/vpc", "1.0.0", {"main.tf": "evil"})
    source, evil = (f"oci://{registry.host}/{name}/vpc?tag=1.0.0" for name in ("acme", "evil"))
    place.wants(vpc=evil)
    assert place.run("lock").code == 0
    place.write("getmodules.lock", place.lock.replace(f'source = "{evil}"', f'source = "{source}"'))
    place.wants(vpc=source)
    refused = place.run("install", "--locked")
    assert refused.code == 5
    assert "vpc has another source" in refused.err
    assert not (place.directory / "modules").exists()
    checked = place.run("lock", "--check", "--json")
    assert (checked.code, checked.object["stale"]) == (5, ["vpc has another source"])
    assert place.run("install").code == 0
    assert place.tree("modules/vpc")["main.tf"] == b"1.0.0"
    assert "evil" not in place.lock


def test_a_project_with_a_link_into_its_repository(place: Place) -> None:
    """git keeps such a link, and whoever clones that would get a hook that runs at the next commit."""
    (place.directory / ".git").mkdir()
    (place.directory / "modules").symlink_to(".git")
    place.wants(hooks="./src")
    for options in ((), ("--force",)):
        refused = place.run("install", *options)
        assert (refused.code, "install/protected" in refused.err) == (1, True)
    assert list((place.directory / ".git").iterdir()) == []
    assert not place.has_lock


def test_content_that_differs_from_the_lock(place: Place) -> None:
    place.wants(packed="./pkg.zip")
    place.run("lock")
    place.repack(**{"main.tf": "evil"})
    for option in ("--locked", "--frozen", "--force"):
        refused = place.run("install", option, "--json")
        assert (refused.code, refused.object["errors"][0]["code"]) == (3, "lock-mismatch")
    assert not (place.directory / "modules").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("getmodules.toml", "[modules.a\n", "getmodules.toml, line 1, column 11", id="syntax"),
        pytest.param("getmodules.toml", "[module.a]\n", "did you mean modules?", id="an unknown key"),
        pytest.param("getmodules.toml", "<<<<<<< HEAD\n", "line 1: there is a conflict of a merge", id="a merge"),
        pytest.param(
            "getmodules.lock", "<<<<<<< HEAD\n", "getmodules.lock, line 1: there is", id="a merge of the lock"
        ),
        pytest.param("getmodules.lock", "version = 2\n", "a newer getmodules wrote this file", id="a newer lock"),
        pytest.param("getmodules.lock", "x = 1\nversion = 1\n", "there is no key 'x' here", id="a key in the lock"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: str, message: str, place: Place) -> None:
    place.wants(src="./src")
    place.write(name, content)
    before = snapshot(place.directory)
    for argv in (("install",), ("install", "--locked"), ("lock",), ("lock", "--check"), ("outdated",)):
        refused = place.run(*argv)
        assert (refused.code, refused.out) == (2, ""), argv
        assert message in refused.err
    assert snapshot(place.directory) == before


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(("install", "x"), "there is no module 'x'", id="a name"),
        pytest.param(("install", "--locked", "--frozen"), "not allowed with", id="locked and frozen"),
        pytest.param(("install", "-j", "0"), "--jobs takes a number from 1", id="no jobs"),
        pytest.param(("install", "-j", "many"), "--jobs takes a number from 1", id="jobs that are no number"),
        pytest.param(("install", "--manifest", ""), "--manifest is empty", id="no manifest"),
        pytest.param(("install", "--manifest", "none.toml"), "there is no", id="a manifest that is not there"),
        pytest.param(("lock", "src"), "names are for --upgrade", id="a name without --upgrade"),
        pytest.param(("lock", "--upgrade", "x"), "there is no module 'x'", id="an upgrade of nothing"),
        pytest.param(("lock", "--upgrade", "--check"), "not allowed with", id="upgrade and check"),
        pytest.param(("verify", "x"), "there is no module 'x'", id="verify a name"),
        pytest.param(("remove", "x"), "no module of this name", id="remove a name"),
        pytest.param(("add", "src", "./src"), "has a module src already", id="add what is there"),
        pytest.param(("add", "x", "https://u:s3cr3t-t0ken@h/x"), "there is a secret", id="add a secret"),
        pytest.param(("add", "x", "./src", "--version", "x"), "version", id="add a version"),
        pytest.param(("install", "--mirror", "x"), "--mirror 'x' is not URL=URL", id="a mirror"),
    ],
)
def test_what_is_wrong_with_a_call(argv: tuple[str, ...], message: str, place: Place) -> None:
    place.wants(src="./src")
    place.run("lock")
    before = snapshot(place.directory)
    refused = place.run(*argv)
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err
    assert snapshot(place.directory) == before


# ---------------------------------------------------------------------------------- offline, frozen, elsewhere


def test_offline_lists_everything_that_is_missing(place: Place, registry: Registry, tmp_path: Path) -> None:
    cache = {"GETMODULES_CACHE_DIR": str(tmp_path / "cache")}
    place.wants(a=f"oci://{registry.host}/acme/vpc?tag=1.0.0", b=f"oci://{registry.host}/acme/vpc?tag=1.1.0", c="./src")
    assert place.run("install", **cache).code == 0
    shutil.rmtree(place.directory / "modules")
    registry.forget_requests()
    assert place.run("install", "--offline", "--frozen", **cache).code == 0
    shutil.rmtree(place.directory / "modules")
    shutil.rmtree(tmp_path / "cache")
    missing = place.run("install", "--offline", "--json", **cache)
    assert missing.code == 6
    assert [(each["module"], each["code"]) for each in missing.object["errors"]] == [("a", "offline"), ("b", "offline")]
    assert [each["name"] for each in missing.object["modules"]] == ["c"]
    assert not registry.requests


def test_a_manifest_elsewhere(place: Place, tmp_path: Path) -> None:
    place.wants(net="./src//net")
    for manifest in (place.directory, place.manifest):
        assert run("install", "--manifest", manifest, cwd=tmp_path).code == 0
    assert place.tree("modules/net") == {"net.tf": b"# net\n"}
    assert not (tmp_path / "modules").exists()
    refused = run("install", cwd=tmp_path)
    assert (refused.code, "there is no" in refused.err) == (2, True)


def test_the_directory_can_be_moved(place: Place, registry: Registry, tmp_path: Path) -> None:
    place.wants(net="./src//net", vpc=f"oci://{registry.host}/acme/vpc?tag=1.0.0")
    assert place.run("install").code == 0
    moved = Place(tmp_path / "moved")
    shutil.rmtree(moved.directory)
    place.directory.rename(moved.directory)
    place.directory.mkdir()
    assert moved.run("install", "--locked").out.count("unchanged  modules/") == 2
    shutil.rmtree(moved.directory / "modules")
    assert moved.run("install", "--locked").out.count("installed  modules/") == 2
    assert moved.run("verify").code == 0
    moved.directory.rename(tmp_path / "again")


# ------------------------------------------------------------------------------------------- hosts and mirrors


def test_what_the_manifest_says_about_hosts(place: Place, authority: Authority) -> None:
    tls = tls_context(authority.certificate, authority.key)
    access = Access(scheme="basic", users={"ada": User(TOKEN)})
    with Registry(tls=tls, access=access) as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": "one"})
        source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
        shutil.copy(authority.ca, place.directory / "ca.pem")
        variable = f"GETMODULES_USERNAME_{registry.host.replace('.', '_').replace(':', '_')}"
        named = variable.replace("USERNAME", "ACME_TOKEN")
        secret = {named: TOKEN, variable: "ada"}
        place.wants(vpc=source)
        assert place.run("install", **secret).code == 1  # nobody trusts that certificate
        place.wants(f'[hosts."{registry.host}"]\nca_file = "ca.pem"', vpc=source)
        assert place.run("install", **secret).code == 4
        place.wants(f'[hosts."{registry.host}"]\nca_file = "ca.pem"\ntoken_variable = "{named}"', vpc=source)
        done = place.run("install", **secret)
        assert (done.code, f"{named} is the token for" in done.err) == (0, True)
        shutil.rmtree(place.directory / "modules")
        assert place.run("install", "--frozen", **secret).code == 1  # the manifest is not read
        own = variable.replace("USERNAME", "TOKEN")
        frozen = place.run("install", "--frozen", "--ca-file", "ca.pem", **{own: TOKEN, variable: "ada"})
        assert frozen.code == 0


@pytest.mark.parametrize("how", ["manifest", "option", "environment"])
def test_a_mirror(how: str, place: Place, registry: Registry) -> None:
    """The lock names what was written; what is asked is the mirror."""
    mirror = f"oci://{registry.host}/acme"
    table = f'[mirrors]\n"oci://registry.invalid/acme" = "{mirror}"\n' if how == "manifest" else ""
    place.wants(table, vpc="oci://registry.invalid/acme/vpc?tag=1.0.0")
    words = ["--mirror", f"oci://registry.invalid/acme={mirror}"] if how == "option" else []
    env = {"GETMODULES_MIRRORS": f"oci://registry.invalid/acme={mirror}"} if how == "environment" else {}
    done = place.run("install", *words, **env)
    assert (done.code, done.err) == (0, "note: getmodules.lock was written\n")
    assert registry.host not in place.lock
    assert 'address = "oci://registry.invalid/acme/vpc?digest=sha256:' in place.lock
    shutil.rmtree(place.directory / "modules")
    assert place.run("install", "--locked", *words, **env).code == 0
    assert place.run("lock", "--check", *words, **env).code == 0


def test_a_mirror_with_other_content_fails_at_the_gates(place: Place, registry: Registry) -> None:
    place.wants(vpc=f"oci://{registry.host}/acme/vpc?tag=1.0.0")
    assert place.run("install").code == 0
    shutil.rmtree(place.directory / "modules")
    with Registry() as evil:
        evil.push_module("acme/vpc", "1.0.0", {"main.tf": "evil"})
        refused = place.run("install", "--mirror", f"oci://{registry.host}=oci://{evil.host}", "--json")
    assert (refused.code, refused.object["errors"][0]["code"]) == (1, "not-found")
    assert not (place.directory / "modules").exists()


# ------------------------------------------------------------------------------------------------- what is shown


def test_quiet(place: Place) -> None:
    place.wants(src="./src")
    for argv in (("lock",), ("install",), ("install",), ("verify",), ("lock", "--check"), ("outdated",)):
        assert place.run(*argv, "-q") == Result(0, "", ""), argv
    place.write("modules/src/main.tf", "mine")
    assert place.run("verify", "-q").out == "modified  modules/src\n  modified  main.tf (content)\n"


def test_plain_progress_is_lines(place: Place, registry: Registry) -> None:
    place.wants(vpc=f"oci://{registry.host}/acme/vpc?tag=1.0.0", src="./src")
    err = place.run("install", "--progress", "plain").err
    assert re.fullmatch(
        r"installed src\ninstalled vpc \(\d+ B\)\nnote: getmodules.lock was written\n",
        "".join(sorted(err.splitlines(keepends=True))),
    )


def test_a_terminal_shows_a_line_for_each_package_and_a_total(place: Place, tmp_path: Path) -> None:
    make_slow_plugin(tmp_path / "site", seconds=1.5)
    place.wants(**{f"m{number}": f"slow://host/m{number}" for number in range(4)})
    shown = run_on_terminal(
        "install", cwd=place.directory, COLUMNS="120", GETMODULES_CACHE_DIR="", PYTHONPATH=str(tmp_path / "site")
    ).err
    drawn = shown.partition("0 of 4 packages, 4 running")[0].rpartition("\x1b[J")[2].split("\r\n")
    lines = sorted(line.split()[:2] for line in drawn[:4])
    assert lines == [["unpacking", f"m{number}"] for number in range(4)]
    assert "error" not in shown


def test_the_lock_is_for_machines_too(place: Place, registry: Registry) -> None:
    import tomllib

    place.wants(vpc=f"oci://{registry.host}/acme/vpc//net?tag=1.0.0")
    place.run("lock")
    found: dict[str, Any] = tomllib.loads(place.lock)
    assert found["version"] == 1
    assert found["module"][0]["package"] == found["package"][0]["address"]
    assert json.dumps(found)
