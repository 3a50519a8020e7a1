"""Without TLS by a manifest's word alone: no credential is sent, wherever it is from. All hosts are one proxy here."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.commandline import run
from tests.support.projects import Project
from tests.support.servers import Connection, Received, Server, replying, serving
from tests.support.tools import need

HOST = "h.example"
SECRET = "s3cr3t-t0ken"
PLAIN = f'[hosts."{HOST}"]\nplain_http = true'


def _asks_for_a_login(connection: Connection, request: Received) -> bool:
    if "Authorization" in request.headers or "Private-Token" in request.headers:
        return connection.reply("404 Not Found", b"")
    return connection.reply("401 Unauthorized", b"", WWW_Authenticate='Basic realm="x"')


@pytest.fixture
def proxy() -> Iterator[Server]:
    with serving(_asks_for_a_login) as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "home").mkdir()
    return Project(tmp_path / "project")


def _secrets_seen(server: Server) -> list[str]:
    names = ("Authorization", "Private-Token", "Cookie")
    return [request.headers[name] for request in server.received for name in names if name in request.headers]


# ------------------------------------------------------------------------------------------ where a credential may be


def _variable(home: Path) -> dict[str, str]:
    return {"GETMODULES_TOKEN_h_example": SECRET, "GETMODULES_USERNAME_h_example": "ada"}


def _upper_case(home: Path) -> dict[str, str]:
    return {"GETMODULES_TOKEN_H_EXAMPLE": SECRET, "GETMODULES_USERNAME_H_EXAMPLE": "ada"}


def _docker_config(home: Path) -> dict[str, str]:
    (home / ".docker").mkdir()
    entry = {"username": "ada", "password": SECRET}
    (home / ".docker" / "config.json").write_text(json.dumps({"auths": {HOST: entry}}))
    return {}


def _helper(home: Path) -> dict[str, str]:
    (home / "bin").mkdir()
    program = home / "bin" / "docker-credential-x"
    program.write_text(f"#!/bin/sh\necho '{json.dumps({'Username': 'ada', 'Secret': SECRET})}'\n")
    program.chmod(0o755)
    (home / ".docker").mkdir()
    (home / ".docker" / "config.json").write_text(json.dumps({"credHelpers": {HOST: "x"}}))
    return {"PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def _netrc(home: Path) -> dict[str, str]:
    (home / ".netrc").write_text(f"machine {HOST} login ada password {SECRET}\n")
    (home / ".netrc").chmod(0o600)
    return {}


def _default_of_netrc(home: Path) -> dict[str, str]:
    (home / ".netrc").write_text(f"default login ada password {SECRET}\n")
    (home / ".netrc").chmod(0o600)
    return {}


def _git_helper(home: Path) -> dict[str, str]:
    helper = home / "helper"
    helper.write_text(f"#!/bin/sh\n[ \"$1\" = get ] && printf 'username=ada\\npassword={SECRET}\\n'\n")
    helper.chmod(0o755)
    (home / ".gitconfig").write_text(f'[credential "http://{HOST}"]\n\thelper = {shlex.quote(str(helper))}\n')
    return {}


def _git_header(home: Path) -> dict[str, str]:
    (home / ".gitconfig").write_text(
        f'[http "http://{HOST}/a.git"]\n\textraHeader = Authorization: Basic {SECRET}\n'
        f"[http]\n\textraHeader = Cookie: {SECRET}\n"
    )
    return {}


def _git_cookies(home: Path) -> dict[str, str]:
    (home / "cookies").write_text(f"{HOST}\tFALSE\t/\tFALSE\t2147483647\to\t{SECRET}\n")
    (home / ".gitconfig").write_text(f"[http]\n\tcookieFile = {home / 'cookies'}\n")
    return {}


def _git_rule(home: Path) -> dict[str, str]:
    (home / ".gitconfig").write_text(f'[url "http://ada:{SECRET}@{HOST}/"]\n\tinsteadOf = http://{HOST}/\n')
    return {}


OCI = f"oci://{HOST}/acme/vpc?tag=1"
MODULE = f"tfr://{HOST}/acme/vpc/aws?version=1.0.0"
WEB = f"http://{HOST}/a.zip"
GIT = f"git::http://{HOST}/a.git?ref=v1"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param(OCI, _variable, id="registry-variable"),
        pytest.param(OCI, _upper_case, id="registry-upper-case"),
        pytest.param(OCI, _docker_config, id="registry-file"),
        pytest.param(OCI, _helper, id="registry-helper"),
        pytest.param(MODULE, _variable, id="module-registry-variable"),
        pytest.param(WEB, _variable, id="web-variable"),
        pytest.param(WEB, _netrc, id="web-netrc"),
        pytest.param(GIT, _variable, id="git-variable"),
        pytest.param(GIT, _netrc, id="git-netrc"),
        pytest.param(GIT, _default_of_netrc, id="git-netrc-default"),
        pytest.param(GIT, _git_helper, id="git-helper"),
        pytest.param(GIT, _git_header, id="git-header"),
        pytest.param(GIT, _git_cookies, id="git-cookies"),
        pytest.param(GIT, _git_rule, id="git-rule"),
    ],
)
@pytest.mark.parametrize("command", ["install", "lock"])
def test_no_credential_is_sent_where_only_the_manifest_wants_no_tls(
    command: str, source: str, found: Callable[[Path], dict[str, str]], project: Project, proxy: Server
) -> None:
    if source is GIT:
        need("git")
    home = project.directory.parent / "home"
    environ = {"HOME": str(home), "http_proxy": proxy.url, "https_proxy": "http://127.0.0.1:9", **found(home)}
    project.wants(PLAIN, vpc=source)
    refused = run(command, "--json", cwd=project.directory, **environ)
    assert refused.code == 4, refused.err
    (error,) = refused.object["errors"]
    assert (error["code"], error["credential"]) == ("authentication", None)
    assert f"--plain-http {HOST}" in error["hint"]
    assert f"--plain-http {HOST}" in refused.err
    assert SECRET not in refused.out + refused.err
    assert _secrets_seen(proxy) == []
    assert (project.has_lock, project.leftovers()) == (False, set())
    run(command, "--plain-http", HOST, cwd=project.directory, **environ)
    assert _secrets_seen(proxy) != [], "the option allows it"


@pytest.mark.parametrize("source", [OCI, MODULE, WEB])
def test_a_header_of_the_command_line(source: str, project: Project, proxy: Server) -> None:
    environ = {"http_proxy": proxy.url, "HOME": str(project.directory.parent / "home"), "T": SECRET}
    project.wants(PLAIN, vpc=source)
    words = ("install", "--header", HOST, "Private-Token=env:T")
    refused = run(*words, cwd=project.directory, **environ)
    if source is not OCI:  # no header of ours goes to these
        assert (refused.code, f"--plain-http {HOST}" in refused.err) == (4, True)
    assert _secrets_seen(proxy) == []


def test_a_public_registry_needs_no_option(project: Project) -> None:
    with serving(replying("404 Not Found")) as proxy:
        home = project.directory.parent / "home"
        environ = {"http_proxy": proxy.url, "HOME": str(home), **_docker_config(home)}
        project.wants(PLAIN, vpc=OCI)
        assert run("install", cwd=project.directory, **environ).code == 1
        assert [received.line.split()[1] for received in proxy.received] == [
            "http://h.example/v2/acme/vpc/manifests/1",
            "http://h.example/v2/acme/vpc/tags/list?n=1000",
        ]


@pytest.mark.parametrize("realm", ["http://tokens.example/t", "http://127.0.0.1:9/t", "http://h.example/t"])
def test_the_token_service_gets_nothing_either(realm: str, project: Project) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        if request.target.endswith("/t") or "/t?" in request.target:
            return connection.reply("200 OK", b'{"token": "granted-t0ken"}')
        return connection.reply("401 No", b"", WWW_Authenticate=f'Bearer realm="{realm}",service="s"')

    home = project.directory.parent / "home"
    with serving(answer) as proxy:
        environ = {"http_proxy": proxy.url, "HOME": str(home), **_docker_config(home)}
        project.wants(PLAIN, vpc=OCI)
        refused = run("install", cwd=project.directory, **environ)
        assert (refused.code, f"--plain-http {HOST}" in refused.err) == (4, True)
        assert (_secrets_seen(proxy), len(proxy.received)) == ([], 1)
        if "127.0.0.1" not in realm:  # with the registry, its token service was chosen
            run("install", "--plain-http", HOST, cwd=project.directory, **environ)
            sent = [request for request in proxy.received if "Authorization" in request.headers]
            assert "/t?" in sent[0].target


def test_a_mirror_of_the_manifest(project: Project, proxy: Server) -> None:
    environ = {"http_proxy": proxy.url, "HOME": str(project.directory.parent / "home"), **_variable(project.directory)}
    project.wants(f'[mirrors]\n"oci://ghcr.io" = "oci://{HOST}"\n{PLAIN}', vpc="oci://ghcr.io/acme/vpc?tag=1")
    refused = run("install", cwd=project.directory, **environ)
    assert (refused.code, f"--plain-http {HOST}" in refused.err) == (4, True)
    assert _secrets_seen(proxy) == []


@pytest.mark.parametrize("kind", ["", "git::"])
def test_loopback_by_way_of_a_proxy_is_another_machine(kind: str, project: Project, proxy: Server) -> None:
    environ = {"http_proxy": proxy.url, "HOME": str(project.directory.parent / "home")}
    environ["GETMODULES_TOKEN_localhost_8099"] = SECRET
    project.wants("", vpc=f"{kind}http://localhost:8099/a.git")
    refused = run("install", cwd=project.directory, **environ)
    assert (refused.code, "--plain-http localhost:8099" in refused.err) == (4, True)
    assert _secrets_seen(proxy) == []


def test_the_users_own_address_is_not_a_manifests(project: Project, proxy: Server) -> None:
    environ = {"http_proxy": proxy.url, "HOME": str(project.directory.parent / "home"), **_variable(project.directory)}
    run("get", WEB, "dest", cwd=project.directory, **environ)
    assert _secrets_seen(proxy) != []
