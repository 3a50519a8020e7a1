"""``getmodules verify``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from getmodules import hash_tree
from getmodules.testing import Registry
from tests.support.commandline import call
from tests.support.modeless import without_modes
from tests.support.projects import Project


@pytest.fixture
def project(project: Project) -> Project:
    project.wants(net="./src//net", packed="./pkg.zip", whole="./src")
    assert project.client.install(project.directory).failures == ()
    return project


def test_all_is_well(project: Project) -> None:
    done = call("verify")
    assert done[:] == (0, "ok        modules/net\nok        modules/packed\nok        modules/whole\n", "")


NEXT = "getmodules install brings what is missing; with --force it also replaces what was modified\n"


def test_a_lock_that_was_edited(project: Project) -> None:
    """The tree is what was locked; what the lock says now was never anywhere."""
    lock = project.directory / "getmodules.lock"
    h1 = call("verify", "net", "--json").object["modules"][0]["h1"]
    lock.write_text(lock.read_text().replace(h1, "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="))
    found = call("verify", "net")
    locked = "  locked    h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    assert (found.code, found.out) == (3, f"modified  modules/net\n{locked}  found     {h1}\n")


def test_what_is_wrong(project: Project) -> None:
    shutil.rmtree(project.directory / "modules/net")
    project.write("modules/packed/main.tf", "mine")
    project.write("modules/packed/new\x1b[2J.tf", "mine")
    (project.directory / "modules/packed/net/net.tf").unlink()
    found = call("verify")
    assert found.out == (
        "missing   modules/net\n"
        "modified  modules/packed\n"
        "  modified  main.tf (content)\n"
        "  missing   net/net.tf\n"
        "  extra     new\\x1b[2J.tf\n"
        "ok        modules/whole\n"
    )
    assert (found.code, found.err) == (3, NEXT)
    quiet = call("verify", "-q")
    assert "ok" not in quiet.out
    assert quiet.err == ""
    modules = call("verify", "--json").object["modules"]
    assert [(module["name"], module["state"], module["missing"]) for module in modules] == [
        ("net", "missing", None),
        ("packed", "modified", ["net/net.tf"]),
        ("whole", "ok", None),
    ]
    assert call("verify", "whole").code == 0


def test_what_h1_does_not_see(project: Project) -> None:
    h1, t1 = (hash_tree(project.directory / "modules/packed", scheme) for scheme in ("h1", "t1"))
    (project.directory / "modules/packed/main.tf").chmod(0o755)
    project.write("modules/packed/net/net.tf", "mine")
    (project.directory / "modules/packed/net/net.tf").chmod(0o755)
    found = call("verify", "packed")
    assert (found.code, found.err) == (3, NEXT)
    assert found.out == (
        "modified  modules/packed\n"
        "  modified  main.tf (executable bit)\n"
        "  modified  net/net.tf (content, executable bit)\n"
    )
    (module,) = call("verify", "packed", "--json").object["modules"]
    assert (module["h1"], module["t1"]) == (h1, t1)
    assert module["found"] == hash_tree(project.directory / "modules/packed")
    assert module["found_t1"] == hash_tree(project.directory / "modules/packed", "t1")
    assert module["modified"] == ["main.tf", "net/net.tf"]
    assert module["differences"] == {"main.tf": ["executable"], "net/net.tf": ["content", "executable"]}
    (whole,) = call("verify", "whole", "--json").object["modules"]
    assert (whole["t1"], whole["found_t1"], whole["differences"]) == (whole["found_t1"], whole["t1"], None)


def test_without_the_package_the_hash_that_differs_is_told(project: Project) -> None:
    t1 = hash_tree(project.directory / "modules/packed", "t1")
    (project.directory / "pkg.zip").unlink()
    (project.directory / "modules/packed/main.tf").chmod(0o755)
    now = hash_tree(project.directory / "modules/packed", "t1")
    found = call("verify", "packed")
    assert (found.code, found.out) == (3, f"modified  modules/packed\n  locked    {t1}\n  found     {now}\n")
    (module,) = call("verify", "packed", "--json").object["modules"]
    assert (module["state"], module["t1"], module["found_t1"]) == ("modified", t1, now)
    assert (module["found"], module["differences"]) == (module["h1"], None)
    h1 = module["h1"]
    project.write("modules/packed/main.tf", "mine")
    now = hash_tree(project.directory / "modules/packed")
    assert call("verify", "packed").out == f"modified  modules/packed\n  locked    {h1}\n  found     {now}\n"


def test_where_there_are_no_modes_a_note_says_so(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("packed", "whole"):
        (project.directory / f"modules/{name}/main.tf").chmod(0o755)
    without_modes(monkeypatch)
    done = call("verify")
    assert done[:2] == (0, "ok        modules/net\nok        modules/packed\nok        modules/whole\n")
    where = project.directory / "modules"
    assert done.err == f"note: {where} has no execute bits or links: h1 alone is judged there, and not t1\n"


def test_what_cannot_be_compared_is_a_finding_of_its_module(project: Project, tmp_path: Path) -> None:
    project.wants(text='[modules.net]\nsource = "./src//net"\ndest = "linked/net"\n', whole="./src")
    assert project.client.install(project.directory).failures == ()
    (project.directory / "linked").rename(tmp_path / "elsewhere")
    (project.directory / "linked").symlink_to(tmp_path / "elsewhere")
    found = call("verify")
    assert (found.code, found.out) == (3, "modified  linked/net\nok        modules/whole\n")
    assert "error: net: the destination linked/net lies behind a link" in found.err
    assert "hint: replace the link" in found.err
    told = call("verify", "--json")
    assert told.code == 3
    assert [module["error"] and module["error"]["code"] for module in told.object["modules"]] == [
        "install/protected",
        None,
    ]


def test_modules_that_one_cause_keeps_from_being_compared_share_an_error(project: Project, tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(5)]
    policy = tmp_path / "policy.toml"
    policy.write_text("[policy]\nallow = []\n")
    with Registry() as registry:
        registry.push_module("acme/vpc", "1", {"main.tf": "x"})
        project.wants(**dict.fromkeys(names, f"oci://{registry.host}/acme/vpc?tag=1"))
        assert project.client.install(project.directory).failures == ()
        found = call("verify", environ={"GETMODULES_POLICY": str(policy)})
    assert found.code == 3
    assert found.err.count("error: ") == 1
    assert "error: 5 modules: oci://127.0.0.1:" in found.err
    assert "m0, m1, m2, m3, m4" in found.err
    assert NEXT not in found.err, "it would be refused as well"
