"""Modules of a registry on loopback, over TLS: by address and by shorthand, with tokens and without."""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, GetModulesError, Installed, Limits
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority
from tests.support.commandline import call
from tests.support.fakes import Notices
from tests.support.gitrepos import Repository
from tests.support.gitservers import git_http
from tests.support.moduleregistry import (
    DESCRIPTION,
    JSON,
    MODULE,
    PACKAGE,
    ModuleRegistry,
    a_registry,
    document,
    page,
    versions,
)
from tests.support.refusals import words_of
from tests.support.snapshots import snapshot

TOKEN = "hunter22-t0ken"
LIST = f"/v1/modules/{MODULE}/versions"
DOWNLOAD = f"/v1/modules/{MODULE}/1.2.0/download"
ARCHIVE = "/packages/vpc.zip"
DIGEST = f"sha256:{hashlib.sha256(PACKAGE).hexdigest()}"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory for temporary files of the test's own: what others leave in theirs is no business of ours."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.fixture
def registry(authority: Authority) -> Iterator[ModuleRegistry]:
    with a_registry(authority) as running:
        running.publish("1.0.0", "1.1.0", "v1.2.0", "0.9.0", "2.0.0-beta.1")
        yield running


def client(authority: Authority, **more: Any) -> Client:
    network = NetSettings(
        ca_file=str(authority.ca),
        connect_seconds=3,
        timeout=20,
        backoff_seconds=0.01,
        retries=more.pop("retries", 2),
        plain_http=more.pop("plain_http", frozenset()),
    )
    fixed = {"network": network, "environ": {}, "use_cache": False, "limits": Limits(seconds=60)}
    return Client(**{**fixed, **more})


def get(registry: ModuleRegistry, authority: Authority, dest: Path, what: str = MODULE, **more: Any) -> Installed:
    return client(authority, **more).get(f"tfr://{registry.host}/{what}", dest)


# ------------------------------------------------------------------------------------------------ what works


@pytest.mark.parametrize(
    ("query", "version"),
    [
        pytest.param("", "1.2.0", id="the newest release"),
        pytest.param("?version=~> 1.0, < 1.2", "1.1.0", id="a constraint"),
        pytest.param("?version=1.0.0", "1.0.0", id="exactly"),
        pytest.param("?version=%3C%201", "0.9.0", id="percent-encoded"),
        pytest.param("?version=2.0.0-beta.1", "2.0.0-beta.1", id="a pre-release"),
    ],
)
def test_the_newest_version_that_will_do(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path, query: str, version: str
) -> None:
    notices = Notices()
    installed = get(registry, authority, tmp_path / "vpc", MODULE + query, progress=notices)
    assert registry.paths == [DESCRIPTION, LIST, f"/v1/modules/{MODULE}/{version}/download", ARCHIVE]
    assert registry.tokens == [None] * 4
    assert snapshot(tmp_path / "vpc").keys() == {"main.tf", "net", "net/a.tf"}
    assert installed.pinned == f"https://{registry.host}{ARCHIVE}?checksum={DIGEST}"
    assert installed.id == DIGEST
    assert any(version in said for said in notices.said) == (query != f"?version={version}")


def test_the_pin_brings_the_same_without_the_registry(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    installed = get(registry, authority, tmp_path / "one")
    registry.server.received.clear()
    again = client(authority).get(str(installed.pinned), tmp_path / "two")
    assert again.h1 == installed.h1
    assert registry.paths == [ARCHIVE]


@pytest.mark.parametrize(
    ("location", "path"),
    [
        pytest.param("/packages/vpc.zip", ARCHIVE, id="rooted"),
        pytest.param("./vpc.zip", f"/v1/modules/{MODULE}/1.2.0/vpc.zip", id="relative"),
        pytest.param("../vpc.zip?archive=zip", f"/v1/modules/{MODULE}/vpc.zip", id="one up"),
        pytest.param("/packages/vpc?archive=zip", "/packages/vpc", id="with an argument"),
        pytest.param("{url}/packages/vpc.zip", ARCHIVE, id="absolute"),
    ],
)
@pytest.mark.parametrize("subdir", ["", "//net"])
def test_where_the_package_is(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path, location: str, path: str, subdir: str
) -> None:
    before, question, query = location.partition("?")
    location = f"{before}{subdir}{question}{query}".replace("{url}", registry.server.url)
    registry.replies[DOWNLOAD] = ("204 No Content", b"", {"X_Terraform_Get": location})
    registry.replies[path] = registry.replies[ARCHIVE]
    get(registry, authority, tmp_path / "vpc")
    assert registry.paths[-1].partition("?")[0] == path
    assert ("a.tf" if subdir else "main.tf") in snapshot(tmp_path / "vpc")


def test_both_subdirectories_count(registry: ModuleRegistry, authority: Authority, tmp_path: Path) -> None:
    registry.publish("1.2.0", location="/packages/vpc.zip//net")
    error = error_of(lambda: get(registry, authority, tmp_path / "x", f"{MODULE}//deeper"))
    assert error.code == "subdirectory-not-found"
    assert "net/deeper" in error.message
    registry.publish("1.2.0")
    get(registry, authority, tmp_path / "vpc", f"{MODULE}//net")
    assert snapshot(tmp_path / "vpc").keys() == {"a.tf"}


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        pytest.param("200 OK", b'{"location": "/packages/vpc.zip"}', {"Content_Type": JSON}, id="JSON"),
        pytest.param("200 OK", b'{"location": "/packages/vpc.zip"}', {}, id="JSON that does not say so"),
        pytest.param("200 OK", b"<p>here</p>", {"X_Terraform_Get": ARCHIVE, "Content_Type": "text/html"}, id="header"),
        pytest.param("200 OK", b"{}", {"X_Terraform_Get": ARCHIVE, "Content_Type": JSON}, id="header and empty JSON"),
        pytest.param("200 OK", b'{"location": "/packages/vpc.zip"}', {"X_Terraform_Get": ARCHIVE, "Content_Type": JSON},
                     id="both, and the same"),
    ],
)  # fmt: skip
def test_how_the_location_is_said(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path, status: str, body: bytes, headers: dict[str, str]
) -> None:
    registry.replies[DOWNLOAD] = (status, body, headers)
    get(registry, authority, tmp_path / "vpc")
    assert registry.paths[-1] == ARCHIVE


def test_services_may_be_elsewhere(registry: ModuleRegistry, authority: Authority, tmp_path: Path) -> None:
    with a_registry(authority, "127.0.0.2") as other:
        other.replies[DESCRIPTION] = document({"modules.v1": f"{registry.server.url}/v1/modules"})
        get(other, authority, tmp_path / "vpc", environ={f"TF_TOKEN_127_0_0_2:{other.server.port}": TOKEN})
        assert other.tokens == [f"Bearer {TOKEN}"]
    assert registry.paths == [LIST, DOWNLOAD, ARCHIVE]
    assert registry.tokens == [None] * 3


def test_resolving(registry: ModuleRegistry, authority: Authority) -> None:
    registry.publish("1.2.0", location=f"{ARCHIVE}//net?checksum={DIGEST}")
    resolved = client(authority).resolve(f"tfr://{registry.host}/{MODULE}")
    assert resolved.pinned == f"https://{registry.host}{ARCHIVE}//net?checksum={DIGEST}"
    assert resolved.id == DIGEST
    registry.publish("1.2.0")
    error = error_of(lambda: client(authority).resolve(f"tfr://{registry.host}/{MODULE}"))
    assert error.code == "fetch/no-identity"
    assert ARCHIVE not in registry.paths


def test_most_registries_name_a_repository_and_the_pin_is_its_commit(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "root" / "vpc.git")
    commit = repository.commit(repository.files({"main.tf": b"# main\n", "net/a.tf": b"# a\n"}))
    repository.tag(commit, "v1.2.0")
    (tmp_path / "home").mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    with git_http(tmp_path / "root", tls=authority) as server:
        registry.publish("1.2.0", location=f"git::{server.url}/vpc.git//net?ref=v1.2.0")
        ours = client(authority, environ=environ)
        installed = ours.get(f"tfr://{registry.host}/{MODULE}", tmp_path / "vpc")
        pinned = f"git::{server.url}/vpc.git//net?ref={commit}"
        assert (installed.pinned, installed.id) == (pinned, commit)
        assert ours.resolve(f"tfr://{registry.host}/{MODULE}").pinned == pinned
    assert snapshot(tmp_path / "vpc").keys() == {"a.tf"}


def test_versions_that_are_none_are_left_out_with_a_notice(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    registry.replies[LIST] = versions("1.2.0", "99", "latest\x1b[31m", "1.2.0", "1.0.0")
    notices = Notices()
    get(registry, authority, tmp_path / "vpc", progress=notices)
    (said,) = [each for each in notices.said if "no semantic versions" in each]
    assert "99, latest" in said
    assert said.isprintable()


def test_plain_http_is_somebodys_explicit_choice(authority: Authority, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as listening:
        first = listening.submit(_first_byte, listener)
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        error = error_of(lambda: client(authority, retries=0).get(f"tfr://{host}/{MODULE}", tmp_path / "vpc"))
        assert error.code.startswith("network")
        assert first.result() == b"\x16", "that is no TLS handshake"
    with a_registry(None) as registry:
        registry.publish("1.2.0")
        get(registry, authority, tmp_path / "vpc", plain_http=frozenset({registry.host}))


def _first_byte(listener: socket.socket) -> bytes:
    listener.settimeout(30)
    connection, _ = listener.accept()
    with connection:
        return connection.recv(1)


# -------------------------------------------------------------------------------------------- the command line


def test_shorthand_on_the_command_line(registry: ModuleRegistry, authority: Authority, tmp_path: Path) -> None:
    more = ("--ca-file", authority.ca, "--no-cache", "--json")
    got = call("get", "acme/vpc/aws//net?version=~> 1.0", tmp_path / "net", "--registry", registry.host, *more)
    assert got.code == 0, got.err
    assert got.object["address"] == f"tfr://{registry.host}/{MODULE}//net?version=~>%201.0"
    assert got.object["pinned"] == f"https://{registry.host}{ARCHIVE}//net?checksum={DIGEST}"
    assert "1.2.0" in got.err
    registry.publish("1.2.0", location=f"{ARCHIVE}?checksum={DIGEST}")
    resolved = call("resolve", MODULE, *more, environ={"GETMODULES_REGISTRY": registry.host})
    assert resolved.object["id"] == DIGEST
    refused = call("get", f"{MODULE}?version=~> 7.0", tmp_path / "x", "--registry", registry.host, *more)
    assert (refused.code, refused.object["error"]["code"]) == (1, "not-found")
    assert "1.2.0" in refused.object["error"]["hint"]


# -------------------------------------------------------------------------------------------------- tokens


def token_for(registry: ModuleRegistry, token: str = TOKEN) -> dict[str, str]:
    return {f"TF_TOKEN_127_0_0_1:{registry.server.port}": token}


def test_the_token_goes_with_every_question_to_the_registry_and_not_to_the_archive(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    with a_registry(authority, "127.0.0.2") as other:
        other.replies[ARCHIVE] = registry.replies[ARCHIVE]
        registry.publish("1.2.0", location=f"{other.server.url}{ARCHIVE}")
        registry.token = TOKEN
        get(registry, authority, tmp_path / "vpc", environ=token_for(registry, f"{TOKEN}\n"))
        assert registry.tokens == [f"Bearer {TOKEN}"] * 3
        assert other.tokens == [None]


def test_a_credential_of_our_own_variables_will_do(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    registry.token = TOKEN
    variable = f"GETMODULES_TOKEN_127_0_0_1_{registry.server.port}"
    get(registry, authority, tmp_path / "vpc", environ={variable: TOKEN})
    assert registry.tokens == [f"Bearer {TOKEN}"] * 4


@pytest.mark.parametrize(
    ("environ", "code", "words"),
    [
        pytest.param({}, "authentication", "GETMODULES_TOKEN_127_0_0_1_", id="none"),
        pytest.param(
            {"TF_TOKEN_127_0_0_1": TOKEN}, "authentication", "GETMODULES_TOKEN_127_0_0_1_", id="another port's"
        ),
        pytest.param({"right": "wrong-t0ken"}, "authentication", "were refused", id="a wrong one"),
        pytest.param({"right": f"{TOKEN}\nX-Evil: 1"}, "config", "copied along", id="with a line end in it"),
    ],
)
def test_without_the_right_token(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path, environ: dict[str, str], code: str, words: str
) -> None:
    registry.token = TOKEN
    if "right" in environ:
        environ = token_for(registry, environ["right"])
    error = refused(lambda: get(registry, authority, tmp_path / "vpc", environ=environ), tmp_path)
    assert error.code == code
    assert words in (error.hint or "")
    assert not {TOKEN, "wrong-t0ken"} & set(words_of(error).split())


def test_a_service_elsewhere_never_sees_the_token_and_the_hint_says_so(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    with a_registry(authority, "127.0.0.2", token=TOKEN) as other:
        other.publish("1.2.0")
        registry.replies[DESCRIPTION] = document({"modules.v1": f"{other.server.url}/v1/modules/"})
        environ = {**token_for(registry), f"TF_TOKEN_127_0_0_2:{other.server.port}": TOKEN}
        error = refused(lambda: get(registry, authority, tmp_path / "vpc", environ=environ), tmp_path)
        assert other.tokens == [None]
    assert error.code == "authentication"
    assert error.hint is not None
    assert f"goes to {registry.host} alone" in error.hint
    assert other.host in error.hint


@pytest.mark.parametrize("path", [DESCRIPTION, LIST, DOWNLOAD])
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_no_redirect_takes_the_token_along(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path, path: str, status: str
) -> None:
    with a_registry(authority, "127.0.0.2") as other:
        other.publish("1.2.0")
        registry.replies[path] = (status, b"", {"Location": f"{other.server.url}{path}"})
        get(registry, authority, tmp_path / "vpc", environ=token_for(registry))
        assert path in other.paths
        assert set(other.tokens) == {None}


def test_a_token_that_is_sent_back_is_not_shown(registry: ModuleRegistry, authority: Authority, tmp_path: Path) -> None:
    said = f"no, {TOKEN}".encode()
    replies = [
        ("403 Forbidden", said, {"Content_Type": "text/plain"}),
        ("418 Teapot", said, {"Content_Type": f"text/{TOKEN}"}),
        ("200 OK", said, {"Content_Type": f"text/{TOKEN}"}),
        ("302 Found", b"", {"Location": f"ftp://{TOKEN}/"}),
        document({f"modules.{TOKEN}": "/"}),
        document({"modules.v1": f"ftp://{TOKEN}/"}),
    ]
    for reply in replies:
        registry.replies[DESCRIPTION] = reply
        error = refused(lambda: get(registry, authority, tmp_path / "vpc", environ=token_for(registry)), tmp_path)
        assert TOKEN not in words_of(error)


# -------------------------------------------------------------------------------------------------- refusals


def error_of(function: Callable[[], object]) -> GetModulesError:
    with pytest.raises(GetModulesError) as caught:
        function()
    return caught.value


def refused(function: Callable[[], object], place: Path) -> GetModulesError:
    """The error; and nothing of it is left, neither in ``place`` nor among temporary files."""
    before = snapshot(place)
    error = error_of(function)
    assert snapshot(place) == before
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    return error


def gone(status: str = "404 Not Found") -> tuple[str, bytes, dict[str, str]]:
    return status, b"gone", {"Content_Type": "text/plain"}


def sent_to(location: str) -> tuple[str, bytes, dict[str, str]]:
    return "204 No Content", b"", {"X_Terraform_Get": location}


REFUSALS = [
    pytest.param(DESCRIPTION, gone(), "", "not-found", "is no registry", id="no registry"),
    pytest.param(DESCRIPTION, gone("410 Gone"), "", "not-found", "is no registry", id="no registry any more"),
    pytest.param(DESCRIPTION, page(), "", "unsupported-content/web-page", "web page", id="a web page"),
    pytest.param(DESCRIPTION, document([]), "", "corrupt-archive", "an object", id="a description that is a list"),
    pytest.param(DESCRIPTION, document({"providers.v1": "/p/"}), "", "not-found", "modules.v1", id="no such service"),
    pytest.param(DESCRIPTION, document({"modules.v1": 7}), "", "corrupt-archive", "a string", id="a service that is 7"),
    pytest.param(DESCRIPTION, document({"modules.v1": ""}), "", "not-found", "modules.v1", id="an empty service"),
    pytest.param(DESCRIPTION, document({"modules.v1": "http://127.0.0.1:1/"}), "", "unsafe-content/elsewhere",
                 "from https to http", id="a service without TLS"),
    pytest.param(DESCRIPTION, document({"modules.v1": "file:///etc/"}), "", "unsafe-content/elsewhere",
                 "cannot be followed", id="a service on this machine"),
    pytest.param(DESCRIPTION, document({"modules.v1": "https://u:p@h.example/"}), "", "unsafe-content/elsewhere",
                 "user name", id="a service with a password"),
    pytest.param(DESCRIPTION, ("200 OK", b'{"modules.v1": "/a/", "modules.v1": "/b/"}', {"Content_Type": JSON}), "",
                 "corrupt-archive", "twice", id="one service twice"),
    pytest.param(DESCRIPTION, ("200 OK", b"[" * 100_000, {"Content_Type": JSON}), "", "corrupt-archive", "deep",
                 id="deep nesting"),
    pytest.param(DESCRIPTION, ("302 Found", b"", {"Location": DESCRIPTION}), "", "fetch/too-many-hops", "redirects",
                 id="a circle"),
    pytest.param(LIST, gone(), "", "not-found", "has no module acme/vpc/aws", id="no such module"),
    pytest.param(LIST, gone("503 Busy"), "", "network", "503", id="busy for ever"),
    pytest.param(LIST, gone("429 Slowly"), "", "rate-limited", "429", id="asked too often"),
    pytest.param(LIST, gone("403 Forbidden"), "", "authentication/forbidden", "403", id="forbidden"),
    pytest.param(LIST, ("206 Partial Content", b"", {}), "", "network", "206", id="unasked 206 for the versions"),
    pytest.param(LIST, page(), "", "unsupported-content/web-page", "web page", id="a web page for the versions"),
    pytest.param(LIST, document({"modules": []}), "", "not-found", "has no module", id="a list without the module"),
    pytest.param(LIST, document({"modules": [{}]}), "", "not-found", "no version of", id="no version at all"),
    pytest.param(LIST, document({"modules": {}}), "", "corrupt-archive", "an array", id="modules that are no list"),
    pytest.param(LIST, document({"modules": [{"versions": [{}]}]}), "", "corrupt-archive", "'version'",
                 id="a version without a version"),
    pytest.param(LIST, versions("2.0.0-a"), "", "not-found", "no version of", id="only pre-releases"),
    pytest.param(LIST, versions("1.0.0", "1.1.0"), "?version=~> 2.0", "not-found", "~> 2.0", id="none that fits"),
    pytest.param(DOWNLOAD, gone(), "", "not-found", "in its list", id="a version that is not there"),
    pytest.param(DOWNLOAD, ("204 No Content", b"", {}), "", "corrupt-archive", "no location", id="no location"),
    pytest.param(DOWNLOAD, document({}), "", "corrupt-archive", "no location", id="no location in JSON"),
    pytest.param(DOWNLOAD, ("206 Partial Content", b"", {}), "", "network", "206", id="unasked 206"),
    pytest.param(DOWNLOAD, page(), "", "unsupported-content/web-page", "web page", id="a web page for the location"),
    pytest.param(DOWNLOAD, document({"location": "/a.zip"}, X_Terraform_Get="/b.zip"), "",
                 "unsafe-content/elsewhere", "two locations", id="two locations"),
    pytest.param(DOWNLOAD, sent_to("http://127.0.0.1:1/a.zip"), "", "unsafe-content/elsewhere", "to http",
                 id="a location without TLS"),
    pytest.param(DOWNLOAD, sent_to("git::http://127.0.0.1:1/a"), "", "unsafe-content/elsewhere", "to http",
                 id="a repository without TLS"),
    pytest.param(DOWNLOAD, sent_to("git::git://127.0.0.1:1/a"), "", "unsafe-content/elsewhere", "to git",
                 id="a repository of git's own protocol"),
    pytest.param(DOWNLOAD, sent_to("git::https://240.0.0.1:1/a"), "", "unsafe-content/elsewhere", "further in",
                 id="a repository further in"),
    pytest.param(DOWNLOAD, sent_to("file:///etc"), "", "unsafe-content/local-source", "this machine",
                 id="a location on this machine"),
    pytest.param(DOWNLOAD, sent_to("git::file:///etc"), "", "unsafe-content/local-source", "this machine",
                 id="a repository on this machine"),
    pytest.param(DOWNLOAD, sent_to("acme/vpc/aws"), "", "unsafe-content/elsewhere", "cannot be used",
                 id="the name of a module"),
    pytest.param(DOWNLOAD, sent_to("/a.zip//../../x"), "", "unsafe-content/elsewhere", "'..'",
                 id="a subdirectory that leads out"),
    pytest.param(DOWNLOAD, sent_to("git::ext::sh -c id"), "", "unsafe-content/elsewhere", "cannot be used", id="ext"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "reply", "query", "code", "words"), REFUSALS)
def test_refusals(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path, path: str, reply: Any, query: str, code: str,
    words: str,
) -> None:  # fmt: skip
    registry.replies[path] = reply
    environ = token_for(registry)
    error = refused(lambda: get(registry, authority, tmp_path / "vpc", MODULE + query, environ=environ), tmp_path)
    assert error.code == code, error
    assert words in error.message
    assert TOKEN not in words_of(error)
    assert ARCHIVE not in registry.paths
    assert len(registry.paths) <= 12


def test_what_a_server_says_is_no_shorthand_of_the_users(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    registry.replies[DOWNLOAD] = sent_to("acme/other/aws")
    error = refused(lambda: client(authority, registry=registry.host).get(MODULE, tmp_path / "vpc"), tmp_path)
    assert error.code == "unsafe-content/elsewhere"
    assert not [path for path in registry.paths if "other" in path]


def test_offline_it_is_what_it_was_when_it_was_last_asked(
    registry: ModuleRegistry, authority: Authority, tmp_path: Path
) -> None:
    cache: dict[str, Any] = {"use_cache": True, "cache_dir": tmp_path / "cache"}
    online = get(registry, authority, tmp_path / "one", **cache)
    registry.server.received.clear()
    offline = get(registry, authority, tmp_path / "two", offline=True, **cache)
    assert (offline.h1, offline.pinned) == (online.h1, online.pinned)
    what = f"{MODULE}?version=1.0.0"
    error = error_of(lambda: get(registry, authority, tmp_path / "three", what, offline=True, **cache))
    assert error.code == "offline"
    assert registry.paths == []


def test_what_is_next_is_in_the_hint(registry: ModuleRegistry, authority: Authority, tmp_path: Path) -> None:
    def hint(what: str) -> str:
        return error_of(lambda: get(registry, authority, tmp_path / "x", what)).hint or ""

    assert "acme/vpc/aws" in hint("acme/terraform-aws-vpc/aws")
    assert "1.2.0, 1.1.0, 1.0.0, 0.9.0" in hint(f"{MODULE}?version=3.0.0")
    assert "version=2.0.0-beta.1" in hint(f"{MODULE}?version=>= 2.0.0-alpha")
    registry.replies[DESCRIPTION] = document({"providers.v1": "/p/", "login.v1": {}})
    assert "login.v1, providers.v1" in hint(MODULE)
