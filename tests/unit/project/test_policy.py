"""Policies as they are written: in files of their own, and in manifests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, ConfigError, NotFoundError, VerificationError
from getmodules.project import policy as subject
from getmodules.util.values import replace
from tests.support.commandline import call
from tests.support.fakes import ZIP
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.servers import Server, replying, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(replying("200 OK", ZIP, Content_Type="application/zip")) as running:
        yield running


@pytest.fixture
def other() -> Iterator[Server]:
    with serving(replying("200 OK", ZIP, Content_Type="application/zip")) as running:
        yield running


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def allowing(path: Path, *patterns: str) -> Path:
    return written(path, f"[policy]\nallow = [{', '.join(map(repr, patterns))}]\n")


def test_a_policy_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "p.toml", '[policy]\nallow = ["oci://h.example/*"]\ndeny = ["*/x"]\n')
    found = subject.read_policy(path)
    assert found.file == str(path)
    assert [pattern.text for pattern in found.allow or ()] == ["oci://h.example/*"]
    assert [pattern.text for pattern in found.deny] == ["*/x"]
    assert subject.read_policy(written(path, "[policy]\nallow = []")).allow == ()
    assert subject.read_policy(written(path, "[policy]\n")).allow is None


WRONG = [
    pytest.param(None, "there is no", id="missing"),
    pytest.param("", "has no table [policy]", id="empty"),
    pytest.param("[policy]\nallow = '*'", "list of strings", id="no list"),
    pytest.param("[policy]\nallow = [1]", "list of strings", id="a number"),
    pytest.param("[policy]\ndeny = ['']", "list of strings", id="an empty string"),
    pytest.param("[policy]\nallow = ['ghcr.io/*']", "no scheme", id="no scheme"),
    pytest.param("[policy]\nalow = []", "no key 'alow'", id="misspelt"),
    pytest.param("[policy]\n[modules]", "no key 'modules'", id="another table"),
    pytest.param("[policy.providers]", "no key 'providers'", id="a table of later"),
    pytest.param("policy = 1", "a table", id="no table"),
    pytest.param("[policy", "p.toml", id="no TOML"),
    pytest.param("\udcff", "not UTF-8", id="no text"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_a_wrong_file_is_an_error_and_nothing_is_contacted(
    text: str | None, words: str, server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "p.toml"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    environ = {"GETMODULES_PLUGINS": "", "GETMODULES_POLICY": str(path)}
    with Client(environ=environ, use_cache=False) as client:
        error = refusal(ConfigError, "config", client.get, f"{server.url}/p.zip", tmp_path / "d")
    assert words in error.message
    assert "p.toml" in error.message
    assert error.exit_code == 2
    (tmp_path / "getmodules.toml").write_text(f'[modules.a]\nsource = "{server.url}/p.zip"\n')
    for command in (["lock"], ["install"], ["login", "h.example", "-u", "ada", "--password-stdin"]):
        where = [] if command[0] == "login" else ["--manifest", str(tmp_path)]
        assert call(*command, *where, environ=environ, stdin="x").code == 2
    assert call("detect", f"{server.url}/p.zip", environ=environ).code == 0
    assert call("logout", "h.example", environ={**environ, "HOME": str(tmp_path)}).code == 0
    assert server.connections == 0
    assert not (tmp_path / "d").exists()


def test_a_directory_is_no_policy(tmp_path: Path) -> None:
    refusal(ConfigError, "config", subject.read_policy, tmp_path)


def test_all_policies_hold_at_once(server: Server, tmp_path: Path) -> None:
    """The machine's, the user's and the project's: none loosens another one."""
    everything, nothing = f"{server.url}/*", "oci://elsewhere.example/*"
    for number, (machine, mine, project, passes) in enumerate(
        [
            (everything, everything, everything, True),
            (nothing, everything, everything, False),
            (everything, nothing, everything, False),
            (everything, everything, nothing, False),
            (None, None, nothing, False),
            (nothing, None, None, False),
            (None, nothing, None, False),
            (None, None, None, True),
        ]
    ):
        place = tmp_path / str(number)
        environ = {"GETMODULES_PLUGINS": ""}
        files = Project(place / "project", environ=environ)
        if mine:
            environ["GETMODULES_POLICY"] = str(allowing(place / "mine.toml", mine))
        client: Any = Client(environ=environ, use_cache=False)
        settings = client._services.settings
        path = allowing(place / "machine.toml", machine) if machine else place / "absent.toml"
        client._services.settings = replace(settings, machine_policy=path)
        files.wants(f'[policy]\nallow = ["{project}"]\n' if project else "", a=f"{server.url}/p.zip")
        report = client.install(files.directory)
        if passes:
            report.check()
        else:
            error = refusal(VerificationError, "verification/policy", report.check)
            assert error.exit_code == 3
            assert not (files.directory / "modules").exists()
            assert not files.leftovers()


def test_an_empty_variable_counts_as_not_set(server: Server, tmp_path: Path) -> None:
    with Client(environ={"GETMODULES_PLUGINS": "", "GETMODULES_POLICY": ""}, use_cache=False) as client:
        client.get(f"{server.url}/p.zip", tmp_path / "d")


def test_a_relative_file_is_where_the_client_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowing(tmp_path / "p.toml")
    monkeypatch.chdir(tmp_path)
    client = Client(environ={"GETMODULES_PLUGINS": "", "GETMODULES_POLICY": "p.toml"}, use_cache=False)
    monkeypatch.chdir("/")
    refusal(VerificationError, "verification/policy", client.resolve, "https://h.example/p.zip")


def test_paths_and_git_in_files_are_not_judged(tmp_path: Path) -> None:
    environ = {"GETMODULES_PLUGINS": "", "GETMODULES_POLICY": str(allowing(tmp_path / "p.toml"))}
    (tmp_path / "src").mkdir()
    client = Client(environ=environ, use_cache=False)
    client.get(str(tmp_path / "src"), tmp_path / "d")
    refusal(NotFoundError, "not-found", client.resolve, f"git::file://{tmp_path}/nothing.git")


# --------------------------------------------------------------------------------------------- in a project


def test_a_refusal_is_that_modules_alone(server: Server, other: Server, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants(a=f"{server.url}/p.zip", b=f"{other.url}/p.zip")
    project.client.lock(project.directory).check()
    project.wants(f'[policy]\nallow = ["{server.url}/*"]\n', a=f"{server.url}/p.zip", b=f"{other.url}/p.zip")
    asked = other.connections

    for _ in range(2):  # fetched, then unchanged
        report = project.client.install(project.directory)
        assert [module.name for module in report.modules] == ["a"]
        assert [(each.module, each.error.code) for each in report.failures] == [("b", "verification/policy")]
    assert (project.directory / "modules/a").is_dir()
    assert not (project.directory / "modules/b").exists()

    for command in ("lock", "lock --check", "outdated", "verify", "install"):
        result = call(*command.split(), "--manifest", project.directory, "--json", environ=_quiet())
        assert result.code == 3, command
        assert "verification/policy" in result.out + result.err, command
    assert other.connections == asked

    # A manifest that is not read keeps nobody from anything.
    assert call("install", "--frozen", "--manifest", project.directory, environ=_quiet()).code == 0
    assert other.connections > asked
    refused = project.client.install(project.directory)
    assert [(each.module, each.error.code) for each in refused.failures] == [("b", "verification/policy")]
    found = {module.name: module for module in project.client.verify(project.directory).modules}
    assert (found["b"].state, found["b"].error and found["b"].error.code) == ("ok", "verification/policy")
    assert found["a"].error is None


def _quiet(**more: str) -> dict[str, str]:
    return {"GETMODULES_PLUGINS": "", "GETMODULES_CACHE_DIR": "", **more}


def test_add_is_refused_and_changes_nothing(server: Server, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants("[policy]\nallow = []\n")
    before = project.manifest.read_text()
    result = call("add", "a", f"{server.url}/p.zip", "--manifest", project.directory, environ=_quiet())
    assert result.code == 3
    assert "verification/policy" in result.err or "is not allowed by the policy" in result.err
    assert project.manifest.read_text() == before
    assert not project.has_lock
    assert server.connections == 0


def test_frozen_obeys_the_variable(server: Server, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants(a=f"{server.url}/p.zip")
    project.client.install(project.directory).check()
    project.manifest.unlink()
    environ = _quiet(GETMODULES_POLICY=str(allowing(tmp_path / "p.toml")))
    result = call("install", "--frozen", "--manifest", project.directory, environ=environ)
    assert result.code == 3
    assert call("verify", "--manifest", project.directory, environ=environ).code == 3
    assert call("verify", "--manifest", project.directory, environ=_quiet()).code == 0
    assert len(server.received) == 1


def test_removing_asks_nobody(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants("[policy]\nallow = []\n", a="https://h.example/p.zip")
    assert call("remove", "a", "--manifest", project.directory, environ=_quiet()).code == 0
